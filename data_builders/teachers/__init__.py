"""Teacher annotation: rubric, requests, validation of answers, consensus, human audit (SLICE-Mem A.1, A.5, C.2)."""
