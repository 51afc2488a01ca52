"""A run by stage: construct, consolidate, retrieve, answer, judge; each is cached, resumable and accounted for."""
