"""Readers of published dialogue corpora, one file a corpus."""
