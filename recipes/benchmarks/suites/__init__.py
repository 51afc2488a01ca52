"""Benchmarks as they are published: their dialogues, their questions, and what counts as an answer."""
