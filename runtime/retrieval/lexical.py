"""BM25 in memory: an inverted index in NumPy that grows, forgets, and finds the best documents without scoring all.

score(q, d) = sum over the query's terms t of idf(t) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / avg|d|)), with
idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)). k1 = 1.2 and b = 0.75 are DimMem's (section 3.3, lexical route).

Counts may be fractions: a word of a neighbouring turn counts as part of one (see `scope_index`). Documents live in a
sorted base of postings; what is new or changed since waits in a small table, and the two are merged when it is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.retrieval.bags import Bags
from engrain.runtime.retrieval.candidates import Candidates, MaskArray, best_of

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]

Entry = TypeVar("Entry", np.bool_, np.float32, np.int32, np.int64)

K1 = 1.2
B = 0.75
_SMALLEST_FRESH = 64
_FRESH_SHARE = 16
"""The table of new documents is merged into the base beyond this many, or beyond this part of all."""


@dataclass(frozen=True, slots=True)
class _Query:
    """One term of a query that some document holds. `gain` is idf * (k1 + 1): no document can score more by it."""

    term: int
    gain: float
    size: int


class LexicalIndex:
    """Documents by slot, each a bag of term numbers. Callers lock."""

    def __init__(self, k1: float = K1, b: float = B) -> None:
        self.k1, self.b = k1, b
        self._bags = Bags()
        self._alive = np.zeros(0, np.bool_)
        self._lengths = np.zeros(0, np.float32)
        self._df = np.zeros(0, np.int64)
        self._live, self._total = 0, 0.0
        self._asked: tuple[tuple[int, ...], list[_Query]] | None = None
        self._starts = np.zeros(1, np.int64)
        self._documents, self._counts = np.empty(0, np.int32), np.empty(0, np.float32)
        self._in_base = np.zeros(0, np.bool_)
        self._stale = 0
        self._fresh: dict[int, dict[int, float]] = {}
        self._fresh_slots: set[int] = set()
        # Working space of `best`, as long as the slots: sums are 0 between calls, marks are anything.
        self._sum, self._marks = np.zeros(0, np.float32), np.zeros(0, np.int32)

    def __len__(self) -> int:
        """Live documents."""
        return self._live

    def put(self, slots: IntArray, sizes: IntArray, terms: IntArray, counts: FloatArray) -> None:
        """Index documents, or index them anew: `sizes[i]` entries each, one after another, no term twice in one."""
        if not len(slots):
            return
        self._asked = None
        self._make_room(int(slots.max()) + 1, int(terms.max(initial=-1)) + 1)
        for slot in slots[self._alive[slots]]:
            self.remove(int(slot))
        self._bags.put(slots, sizes, terms, counts)
        ends = np.cumsum(sizes)
        lengths = np.add.reduceat(np.append(counts, np.float32(0)), ends - sizes) * (sizes > 0)
        self._lengths[slots], self._alive[slots] = lengths, True
        self._df += np.bincount(terms, minlength=len(self._df))
        self._live += len(slots)
        self._total += float(lengths.sum(dtype=np.float64))
        if len(slots) + len(self._fresh_slots) > self._fresh_limit:
            self._merge()
        else:
            self._keep_fresh(slots, ends, sizes, terms, counts)

    def remove(self, slot: int) -> None:
        """Take one document out of every later score and statistic."""
        if slot >= len(self._alive) or not self._alive[slot]:
            return
        self._asked = None
        _, terms, _ = self._bags.gather(np.array([slot], np.int32))
        self._df[terms] -= 1
        self._live -= 1
        self._total -= float(self._lengths[slot])
        self._alive[slot] = False
        if slot in self._fresh_slots:
            self._fresh_slots.discard(slot)
            for term in terms.tolist():
                self._fresh[term].pop(slot, None)
        if self._in_base[slot]:
            self._in_base[slot] = False
            self._stale += 1
        self._bags.clear(slot)

    def stand_for(self, documents: int, frequencies: Mapping[int, int]) -> None:
        """Score as a part of a larger collection: its number of documents, and how many hold each term.

        For an index that is searched and never changed again. The mean length stays that of the documents here.
        """
        self._asked = None
        self._total *= documents / max(self._live, 1)
        self._live = documents
        for term, count in frequencies.items():
            self._df[term] = max(count, 1)

    def best(self, terms: Sequence[int], allowed: MaskArray, depth: int) -> Candidates:
        """The `depth` best allowed documents with a score above 0, best first; equal scores by slot.

        Terms are taken rarest first. Once the rest together could not lift a document that holds none of the terms so
        far among the best, only the documents found by then are scored on (the MaxScore rule of Turtle and Flood 1995).
        """
        queries = self._queries(terms)
        found = np.empty(0, np.int32)
        for number, query in enumerate(queries):
            rest = sum(later.gain for later in queries[number:])
            if query.size > 4 * len(found) and len(found) >= depth:
                chances = self._hopeful(found, allowed, rest, depth)
                if chances is not None:
                    scores = self._sum[chances] + self.scores_of([later.term for later in queries[number:]], chances)
                    self._sum[found] = 0.0
                    return best_of(chances, scores, depth)
            documents, scores = self._scored(query)
            self._sum[documents] += scores
            found = np.concatenate((found, documents)) if len(found) else documents
        found = self._distinct(found)
        scores = self._sum[found]
        self._sum[found] = 0.0
        kept = allowed[found] & (scores > 0)
        return best_of(found[kept], scores[kept], depth)

    def scores_of(self, terms: Sequence[int], slots: IntArray) -> FloatArray:
        """BM25 of some slots; 0 where nothing matches or the slot is dead."""
        total = np.zeros(len(slots), np.float32)
        norms = self._norms(slots)
        for query in self._queries(terms):
            counts = self._counts_in(query.term, slots)
            total += np.float32(query.gain) * counts / (counts + norms)
        return total

    def bound(self, terms: Sequence[int]) -> float:
        """What no document can score for these terms: idf * (k1 + 1), summed over those that some document holds."""
        return sum(query.gain for query in self._queries(terms))

    def _queries(self, terms: Sequence[int]) -> list[_Query]:
        """Distinct known terms, the most telling first."""
        asked = tuple(terms)
        if self._asked is None or self._asked[0] != asked:
            self._asked = asked, self._weighed(asked)
        return self._asked[1]

    def _weighed(self, terms: Sequence[int]) -> list[_Query]:
        known = [term for term in dict.fromkeys(terms) if 0 <= term < len(self._df) and self._df[term] > 0]
        sizes = [int(self._df[term]) for term in known]
        gains = [float(np.log1p((self._live - df + 0.5) / (df + 0.5))) * (self.k1 + 1.0) for df in sizes]
        return sorted(map(_Query, known, gains, sizes), key=lambda query: -query.gain)

    def _hopeful(self, found: IntArray, allowed: MaskArray, rest: float, depth: int) -> IntArray | None:
        """Those found that can still be among the best; None when one that is not found yet can be, too."""
        slots = self._distinct(found)
        slots = slots[allowed[slots]]
        if len(slots) < depth:
            return None
        scores = self._sum[slots]
        edge = float(np.partition(scores, len(slots) - depth)[len(slots) - depth])
        return slots[scores + rest >= edge] if rest < edge else None

    def _distinct(self, slots: IntArray) -> IntArray:
        """Each slot once: the one whose place was written last. Much faster than sorting or hashing."""
        places = np.arange(len(slots), dtype=np.int32)
        self._marks[slots] = places
        distinct: IntArray = slots[self._marks[slots] == places]
        return distinct

    def _scored(self, query: _Query) -> tuple[IntArray, FloatArray]:
        """Live documents with a term, none twice, and what the term adds to each."""
        documents, counts = self._base(query.term)
        if self._stale:
            kept = self._in_base[documents]
            documents, counts = documents[kept], counts[kept]
        fresh = self._fresh.get(query.term)
        if fresh:
            documents = np.concatenate((documents, np.fromiter(fresh.keys(), np.int32, len(fresh))))
            counts = np.concatenate((counts, np.fromiter(fresh.values(), np.float32, len(fresh))))
        return documents, np.float32(query.gain) * counts / (counts + self._norms(documents))

    def _counts_in(self, term: int, slots: IntArray) -> FloatArray:
        counts = np.zeros(len(slots), np.float32)
        documents, held = self._base(term)
        if len(documents):
            places = np.minimum(np.searchsorted(documents, slots), len(documents) - 1)
            counts = np.where((documents[places] == slots) & self._in_base[slots], held[places], np.float32(0))
        fresh = self._fresh.get(term)
        if fresh:
            for place in [place for place, slot in enumerate(slots.tolist()) if slot in fresh]:
                counts[place] = fresh[int(slots[place])]
        return counts

    def _base(self, term: int) -> tuple[IntArray, FloatArray]:
        if term + 1 >= len(self._starts):
            return self._documents[:0], self._counts[:0]
        span = slice(int(self._starts[term]), int(self._starts[term + 1]))
        return self._documents[span], self._counts[span]

    def _norms(self, slots: IntArray) -> FloatArray:
        average = max(self._total / max(self._live, 1), 1.0)
        scale = np.float32(self.k1 * self.b / average)
        norms: FloatArray = self._lengths[slots] * scale + np.float32(self.k1 * (1.0 - self.b))
        return norms

    @property
    def _fresh_limit(self) -> int:
        return max(_SMALLEST_FRESH, self._live // _FRESH_SHARE)

    def _keep_fresh(
        self, slots: IntArray, ends: IntArray, sizes: IntArray, terms: IntArray, counts: FloatArray
    ) -> None:
        names, values = terms.tolist(), counts.tolist()
        for slot, end, size in zip(slots.tolist(), ends.tolist(), sizes.tolist(), strict=True):
            self._fresh_slots.add(slot)
            for place in range(end - size, end):
                self._fresh.setdefault(names[place], {})[slot] = values[place]

    def _merge(self) -> None:
        """Build the base again from the bags of all live documents."""
        slots = np.flatnonzero(self._alive).astype(np.int32)
        sizes, terms, counts = self._bags.gather(slots)
        order = np.argsort(terms, kind="stable")
        self._documents, self._counts = np.repeat(slots, sizes)[order], counts[order]
        self._starts = np.append(0, np.cumsum(np.bincount(terms, minlength=len(self._df))))
        self._bags = Bags()
        self._bags.put(slots, sizes, terms, counts)
        self._in_base = self._alive.copy()
        self._stale = 0
        self._fresh, self._fresh_slots = {}, set()

    def _make_room(self, slots: int, terms: int) -> None:
        self._alive, self._lengths = _grown(self._alive, slots), _grown(self._lengths, slots)
        self._in_base, self._sum = _grown(self._in_base, slots), _grown(self._sum, slots)
        self._marks = _grown(self._marks, slots)
        self._df = _grown(self._df, terms)


class Vocabulary:
    """Numbers for terms, given as they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def bag(self, counts: Mapping[str, int]) -> tuple[list[int], list[int]]:
        """Term numbers and counts of a document; new terms get numbers."""
        numbers = self._numbers
        return [numbers.setdefault(term, len(numbers)) for term in counts], list(counts.values())

    def known(self, terms: Sequence[str]) -> list[int]:
        """Numbers of the distinct terms that some document holds, in order."""
        return list(self._found(terms))

    def _found(self, terms: Sequence[str]) -> Iterator[int]:
        for term in dict.fromkeys(terms):
            number = self._numbers.get(term)
            if number is not None:
                yield number


def _grown(entries: NDArray[Entry], size: int) -> NDArray[Entry]:
    """At least `size` long, by doubling; new entries are 0."""
    if size <= len(entries):
        return entries
    grown = np.zeros(max(size, 2 * len(entries)), entries.dtype)
    grown[: len(entries)] = entries
    return grown
