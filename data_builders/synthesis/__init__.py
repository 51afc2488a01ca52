"""Supervision for the extractor without annotators: dialogues and records by a teacher, weak records by rules."""
