"""Figures of a run: FAMA, accuracy, evidence recall, costs, and intervals between systems."""
