"""BM25 in memory: an inverted index with NumPy postings, incremental, with deletes and an optional context field.

score(q, d) = sum over the query's terms t of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avg|d|)), with
idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)). k1 = 1.2 and b = 0.75 are DimMem's (section 3.3, lexical route).

With a context, tf and |d| of a document count its neighbouring turns too, each occurrence at `weight`. That is BM25
over the document joined with its neighbours, computed when asked: a neighbour that arrives later needs no re-indexing.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]
MaskArray = NDArray[np.bool_]

K1 = 1.2
B = 0.75


class LexicalIndex:
    """Documents by slot (0, 1, 2, ...). A removed document leaves a dead slot behind. Callers lock."""

    def __init__(self, k1: float = K1, b: float = B) -> None:
        self.k1 = k1
        self.b = b
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._lengths = array("i")
        self._alive = bytearray()
        self._live = 0

    def __len__(self) -> int:
        """Live documents."""
        return self._live

    @property
    def slots(self) -> int:
        """Slots ever given, dead ones too: the length of `scores`."""
        return len(self._alive)

    @property
    def alive(self) -> MaskArray:
        """Which slots hold a document."""
        return np.frombuffer(bytes(self._alive), dtype=np.bool_)

    @property
    def lengths(self) -> FloatArray:
        """Terms of every document; 0 in dead slots."""
        return np.array(self._lengths, dtype=np.float32)

    def add(self, terms: Iterable[str]) -> int:
        """Index one document and return its slot. A document without terms is kept and never matches."""
        counts = Counter(terms)
        slot = len(self._alive)
        for term, count in counts.items():
            documents, frequencies = self._postings.setdefault(term, (array("i"), array("i")))
            documents.append(slot)
            frequencies.append(count)
        self._lengths.append(sum(counts.values()))
        self._alive.append(1)
        self._live += 1
        return slot

    def remove(self, slot: int) -> None:
        """Take one document out of every later score and statistic."""
        if self._alive[slot]:
            self._alive[slot] = 0
            self._lengths[slot] = 0
            self._live -= 1

    def frequencies(self, term: str) -> tuple[IntArray, FloatArray]:
        """Slots of the live documents that hold `term`, ascending, and how often each does."""
        posting = self._postings.get(term)
        if posting is None:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        # Copies: a view would forbid the arrays to grow.
        documents = np.array(posting[0], dtype=np.int32)
        counts = np.array(posting[1], dtype=np.float32)
        if self._live == len(self._alive):
            return documents, counts
        living = self.alive[documents]
        return documents[living], counts[living]

    def scores(self, terms: Sequence[str], context: Context | None = None) -> FloatArray:
        """BM25 of every slot for the unique `terms`; 0 where nothing matches or the slot is dead."""
        total = np.zeros(self.slots, dtype=np.float32)
        if not self._live:
            return total
        norms = self._length_norms(context)
        for term in dict.fromkeys(terms):
            documents, counts = self._counted(term, context)
            df = len(documents)
            if df:
                idf = np.log1p((self._live - df + 0.5) / (df + 0.5))
                gain = np.float32(idf * (self.k1 + 1.0))
                total[documents] += gain * counts / (counts + norms[documents])
        return total

    def _counted(self, term: str, context: Context | None) -> tuple[IntArray, FloatArray]:
        documents, counts = self.frequencies(term)
        if context is None:
            return documents, counts
        joined = np.zeros(self.slots, dtype=np.float32)
        joined[documents] = counts
        context.add_counts(joined, term)
        if self._live < self.slots:
            joined *= self.alive
        places = np.flatnonzero(joined).astype(np.int32)
        return places, joined[places]

    def _length_norms(self, context: Context | None) -> FloatArray:
        lengths = self.lengths
        if context is not None:
            lengths = lengths + context.lengths
        average = max(float(lengths[self.alive].mean()), 1.0)
        return (self.k1 * (1.0 - self.b + self.b * lengths / average)).astype(np.float32)


class Context:
    """The turns around every document, as they stand now; make a new one when either index changes.

    Each of `sides` holds slots in `turns`, one entry a document slot, -1 where there is none: the previous turn, the
    following one, the document's own source. `weight` is what one of their words counts.
    """

    def __init__(self, turns: LexicalIndex, sides: Sequence[IntArray], weight: float) -> None:
        self.weight = np.float32(weight)
        self._turns = turns
        self._sides = [_Side(side, turns.slots) for side in sides]
        by_turn = np.append(turns.lengths * self.weight, np.float32(0))
        self.lengths: FloatArray = np.sum([by_turn[side] for side in sides], axis=0, dtype=np.float32)
        """Weighted number of terms in the turns around every document."""

    def add_counts(self, by_document: FloatArray, term: str) -> None:
        """Add the weighted occurrences of `term` in the neighbours of every document, in place."""
        turns, counts = self._turns.frequencies(term)
        for side in self._sides:
            documents, sizes = side.documents(turns)
            # A document has one neighbour on a side, so no slot occurs twice in one addition.
            by_document[documents] += np.repeat(counts * self.weight, sizes)


class _Side:
    """From a turn to the documents that have it on one side: slots sorted by turn, and where each turn's begin."""

    def __init__(self, neighbours: IntArray, turns: int) -> None:
        self._order = np.argsort(neighbours, kind="stable").astype(np.int32)
        self._starts = np.searchsorted(neighbours[self._order], np.arange(turns + 1)).astype(np.int32)

    def documents(self, turns: IntArray) -> tuple[IntArray, IntArray]:
        """Slots of the documents beside `turns`, turn by turn, and how many each turn has."""
        first, sizes = self._starts[turns], self._starts[turns + 1] - self._starts[turns]
        shift = np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
        return self._order[shift + np.arange(len(shift), dtype=np.int32)], sizes
