"""Vectors in memory: exact cosine by brute force while they are few, an inverted file of clusters when they are many.

Beyond `EXACT_BELOW` vectors, rows are kept in the order of their clusters (spherical k-means, sqrt-many of them); a
query reads the clusters nearest to it and everything newer than the last clustering. How many clusters are read is
measured on the vectors themselves each time they are clustered: the fewest that find `RECALL` of the exact first 20.
Scores are exact; only which rows are looked at is approximate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.retrieval.candidates import Candidates, FloatArray, IntArray, MaskArray, best_of

EXACT_BELOW = 20_000
"""Vectors that are always read whole."""
RECALL = 0.99
"""Of the exact first 20, on sampled queries, that the clusters read must hold."""
CLUSTERS_PER_ROOT = 2.0
"""Clusters for N vectors: this times the square root of N."""
_FIRST_CAPACITY = 64
_TRAINING_ROWS = 24
"""Rows a cluster in the sample that centres are learned from."""
_ROUNDS = 5
_SAMPLED_QUERIES = 384
_SAMPLED_DEPTH = 20
_LEAST_CLUSTERS_READ = 8
_FRESH_SHARE = 4
"""Newer rows are taken into the clusters beyond this part of all."""
_SEED = 20_261_130
_CHUNK = 4_096


class VectorIndex:
    """L2-normalised rows by slot: 0, 1, 2, ... in the order they were added. Callers lock."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._rows = np.empty((_FIRST_CAPACITY, dimension), np.float32)
        self._slots = np.empty(_FIRST_CAPACITY, np.int32)
        self._places = np.empty(_FIRST_CAPACITY, np.int32)
        self._used = 0
        self._centres = np.empty((0, dimension), np.float32)
        self._starts = np.zeros(1, np.int64)
        self._read = 0
        self._clustered = 0

    def __len__(self) -> int:
        """Rows, removed ones too."""
        return self._used

    @property
    def clusters_read(self) -> tuple[int, int]:
        """Clusters that a query reads, and how many there are; zeros while everything is read."""
        return self._read, len(self._centres)

    def add(self, vector: FloatArray) -> int:
        """Append a row of D entries and return its slot."""
        self.extend(vector[None, :])
        return self._used - 1

    def extend(self, vectors: FloatArray) -> None:
        """Append rows, N x D."""
        self._make_room(self._used + len(vectors))
        new = slice(self._used, self._used + len(vectors))
        self._rows[new] = vectors
        self._slots[new] = self._places[new] = np.arange(new.start, new.stop)
        self._used = new.stop

    def best(self, query: FloatArray, allowed: MaskArray, depth: int) -> Candidates:
        """The `depth` best allowed slots by cosine with a normalised query of D entries; equal scores by slot."""
        query = query.astype(np.float32)
        self._settle()
        if not len(self._centres):
            scores = self._rows[: self._used] @ query
            slots = np.flatnonzero(allowed[: self._used]).astype(np.int32)
            return best_of(slots, scores[slots], depth)
        wanted = int(np.count_nonzero(allowed))
        if wanted <= EXACT_BELOW // 2:
            slots = np.flatnonzero(allowed).astype(np.int32)
            return best_of(slots, self.scores_of(query, slots), depth)
        places, scores = self._near(query, self._used / wanted)
        slots = self._slots[places]
        kept = allowed[slots]
        return best_of(slots[kept], scores[kept], depth)

    def scores_of(self, query: FloatArray, slots: IntArray) -> FloatArray:
        """Cosine of some slots with a normalised query."""
        query = query.astype(np.float32)
        places = self._places[slots]
        # One product with all rows is quicker than gathering many of them first.
        if 2 * len(slots) >= self._used:
            every: FloatArray = (self._rows[: self._used] @ query)[places]
            return every
        scores: FloatArray = self._rows[places] @ query
        return scores

    def rows_of(self, slots: IntArray) -> FloatArray:
        """Copies of some rows, N x D."""
        rows: FloatArray = self._rows[self._places[slots]]
        return rows

    def _near(self, query: FloatArray, rarity: float) -> tuple[IntArray, FloatArray]:
        """Places and scores of the rows in the nearest clusters and of those outside clusters.

        `rarity` is how many rows there are for one that is allowed: so many times more clusters are read.
        """
        nearness = self._centres @ query
        count = min(len(nearness), int(np.ceil(self._read * rarity)))
        nearest = np.sort(np.argpartition(-nearness, count - 1)[:count])
        spans = [(int(self._starts[cluster]), int(self._starts[cluster + 1])) for cluster in nearest]
        spans.append((int(self._starts[-1]), self._used))
        scores = np.concatenate([self._rows[start:end] @ query for start, end in spans])
        places = np.concatenate([np.arange(start, end, dtype=np.int32) for start, end in spans])
        return places, scores

    def _settle(self) -> None:
        """Take newer rows into the clusters when they have become many."""
        fresh = self._used - int(self._starts[-1])
        if fresh <= max(EXACT_BELOW, (self._used - fresh) // _FRESH_SHARE):
            return
        if self._used > 2 * self._clustered:
            self._centres = _learned_centres(self._rows[: self._used])
            self._clustered = self._used
            members = _nearest_centre(self._rows[: self._used], self._centres)
            self._arrange(members)
            self._read = self._measured()
        else:
            newest = _nearest_centre(self._rows[int(self._starts[-1]) : self._used], self._centres)
            older = np.repeat(np.arange(len(self._centres), dtype=np.int32), np.diff(self._starts))
            self._arrange(np.concatenate((older, newest)))

    def _arrange(self, members: IntArray) -> None:
        """Put rows into the order of their clusters; `members` names the cluster of each place."""
        order = np.argsort(members, kind="stable")
        rows = np.empty_like(self._rows)
        np.take(self._rows[: self._used], order, axis=0, out=rows[: self._used])
        self._rows = rows
        self._slots[: self._used] = self._slots[: self._used][order]
        self._places[self._slots[: self._used]] = np.arange(self._used, dtype=np.int32)
        self._starts = np.append(0, np.cumsum(np.bincount(members, minlength=len(self._centres))))

    def _measured(self) -> int:
        """The fewest clusters that hold `RECALL` of the exact first rows, over queries halfway between two stored rows.

        Such a query is about as far from its nearest rows as a question is from the turns that answer it; a stored row
        asks for too few clusters. With 384 of them the number hardly depends on the seed, with 96 it varied twofold. On
        100,000 vectors of real turns and their copies 0.98 of real questions' first rows need 28 clusters, on 1,000,000
        they need 16; at 0.99 of these queries 61 and 21 are read.
        """
        generator = np.random.default_rng(_SEED)
        first, second = generator.integers(self._used, size=(2, _SAMPLED_QUERIES))
        queries = _normalised(self._rows[first] + self._rows[second])
        found = _exact_first(self._rows[: self._used], queries, _SAMPLED_DEPTH)
        clusters = np.searchsorted(self._starts, found, side="right") - 1
        order = np.argsort(-(queries @ self._centres.T), axis=1)
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(order.shape[1])[None, :], axis=1)
        reached = np.sort(np.take_along_axis(ranks, clusters, axis=1).ravel())
        needed = int(reached[int(np.ceil(RECALL * len(reached))) - 1]) + 1
        return min(len(self._centres), max(_LEAST_CLUSTERS_READ, needed))

    def _make_room(self, rows: int) -> None:
        if rows <= len(self._rows):
            return
        capacity = max(rows, len(self._rows) + len(self._rows) // 2)
        grown = np.empty((capacity, self.dimension), np.float32)
        grown[: self._used] = self._rows[: self._used]
        self._rows = grown
        self._slots, self._places = (np.resize(numbers, capacity) for numbers in (self._slots, self._places))


def _learned_centres(rows: FloatArray) -> FloatArray:
    """Spherical k-means on a sample: C x D centres of length 1."""
    generator = np.random.default_rng(_SEED)
    count = int(CLUSTERS_PER_ROOT * np.sqrt(len(rows)))
    sample = rows[np.sort(generator.choice(len(rows), min(len(rows), count * _TRAINING_ROWS), replace=False))]
    centres = sample[np.sort(generator.choice(len(sample), count, replace=False))].copy()
    for _ in range(_ROUNDS):
        members = _nearest_centre(sample, centres)
        order = np.argsort(members, kind="stable")
        present, first = np.unique(members[order], return_index=True)
        centres[present] = np.add.reduceat(sample[order], first, axis=0)
        centres = _normalised(centres)
    return centres


def _nearest_centre(rows: FloatArray, centres: FloatArray) -> IntArray:
    parts = [
        np.argmax(rows[start : start + _CHUNK] @ centres.T, axis=1).astype(np.int32)
        for start in range(0, len(rows), _CHUNK)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.int32)


def _exact_first(rows: FloatArray, queries: FloatArray, depth: int) -> NDArray[np.int64]:
    """Places of the `depth` best rows of each query, Q x depth, in no order."""
    best = np.full((len(queries), depth), -np.inf, np.float32)
    places = np.zeros((len(queries), depth), np.int64)
    for start in range(0, len(rows), _CHUNK):
        scores = np.concatenate((best, queries @ rows[start : start + _CHUNK].T), axis=1)
        chosen = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
        old = np.take_along_axis(places, np.minimum(chosen, depth - 1), axis=1)
        places = np.where(chosen < depth, old, chosen - depth + start)
        best = np.take_along_axis(scores, chosen, axis=1)
    return places


def _normalised(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    normalised: FloatArray = (rows / np.maximum(lengths, 1e-12)).astype(np.float32)
    return normalised
