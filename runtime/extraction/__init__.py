"""Turns to memory records: windows, prompts, parsing, extractors."""
