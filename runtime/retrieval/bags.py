"""Bags of terms by slot in pooled arrays: what an inverted index is built from, and taken back from."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]


class Bags:
    """Term numbers and their counts of every slot. A slot whose bag is replaced leaves its old one behind."""

    def __init__(self) -> None:
        self._terms, self._counts = array("i"), array("f")
        self._starts, self._sizes = array("q"), array("i")

    def __len__(self) -> int:
        """Slots."""
        return len(self._starts)

    def append(self, terms: Sequence[int], counts: Sequence[float]) -> int:
        """Give the next slot a bag and return the slot."""
        self._starts.append(len(self._terms))
        self._sizes.append(len(terms))
        self._terms.extend(terms)
        self._counts.extend(counts)
        return len(self._starts) - 1

    def put(self, slots: IntArray, sizes: IntArray, terms: IntArray, counts: FloatArray) -> None:
        """Replace the bags of `slots`: `sizes[i]` entries each, one after another. New slots are made as needed."""
        missing = int(slots.max(initial=-1)) + 1 - len(self)
        if missing > 0:
            self._starts.frombytes(bytes(8 * missing))
            self._sizes.frombytes(bytes(4 * missing))
        ends = len(self._terms) + np.cumsum(sizes, dtype=np.int64)
        np.frombuffer(self._starts, np.int64)[slots] = ends - sizes
        np.frombuffer(self._sizes, np.int32)[slots] = sizes
        self._terms.frombytes(terms.astype(np.int32).tobytes())
        self._counts.frombytes(counts.astype(np.float32).tobytes())

    def clear(self, slot: int) -> None:
        """Empty one slot's bag."""
        self._sizes[slot] = 0

    def gather(self, slots: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """The bags of `slots`, one after another: sizes, terms, counts. A slot of -1 has an empty bag."""
        if not len(self) or not len(slots):
            return np.zeros(len(slots), np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
        sizes = np.where(slots < 0, 0, np.frombuffer(self._sizes, np.int32)[slots]).astype(np.int32)
        first = np.frombuffer(self._starts, np.int64)[slots]
        shift = np.repeat(first - (np.cumsum(sizes, dtype=np.int64) - sizes), sizes)
        places = shift + np.arange(len(shift))
        if not len(places):
            return sizes, np.empty(0, np.int32), np.empty(0, np.float32)
        return sizes, np.frombuffer(self._terms, np.int32)[places], np.frombuffer(self._counts, np.float32)[places]


def summed(
    owners: IntArray, terms: IntArray, counts: FloatArray, owner_count: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Entries joined by owner and term, counts added: sizes by owner, terms, counts, ordered by owner and term."""
    if not len(terms):
        return np.zeros(owner_count, np.int32), terms, counts
    width = int(terms.max()) + 1
    keys = owners.astype(np.int64) * width + terms
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    totals = np.add.reduceat(counts[order], first).astype(np.float32)
    owner, term = np.divmod(keys[first], width)
    return np.bincount(owner, minlength=owner_count).astype(np.int32), term.astype(np.int32), totals
