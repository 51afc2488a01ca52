"""The vector matrix in memory: exact cosine similarity by brute force, rows by slot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]

_FIRST_CAPACITY = 64


class VectorMatrix:
    """L2-normalised rows that grow by doubling. Row numbers are the slots of the lexical index beside it."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._rows = np.empty((_FIRST_CAPACITY, dimension), dtype=np.float32)
        self._used = 0

    def __len__(self) -> int:
        """Rows, removed ones too."""
        return self._used

    def add(self, vector: FloatArray) -> int:
        """Append a row of D entries and return its slot."""
        if self._used == len(self._rows):
            grown = np.empty((2 * len(self._rows), self.dimension), dtype=np.float32)
            grown[: self._used] = self._rows
            self._rows = grown
        self._rows[self._used] = vector
        self._used += 1
        return self._used - 1

    def scores(self, query: FloatArray) -> FloatArray:
        """Cosine of every row with a normalised query of D entries."""
        scores: FloatArray = self._rows[: self._used] @ query.astype(np.float32)
        return scores
