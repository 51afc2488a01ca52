"""Benchmarks: each prints a ratio against a stated baseline."""
