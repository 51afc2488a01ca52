"""SLICE-Mem's extractor: statements by deterministic rules over semantic dependencies (3.2, A.3, B.1)."""
