"""Which earlier records a target is compared with, by vectors (SLICE-Mem A.4) or by dimensions (DimMem 3.4)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from engrain.runtime.consolidation.settings import CandidateSettings, FilterSettings
from engrain.runtime.schema import MemoryRecord
from engrain.runtime.storage.protocol import Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Neighbours:
    """Nearest earlier records by cosine. `vectors` is N x D, one row a record, each of length 1."""

    def __init__(self, records: Sequence[MemoryRecord], vectors: Vectors, settings: CandidateSettings) -> None:
        self._records, self._vectors, self._settings = records, vectors, settings
        self._moments: NDArray[np.float64] = np.array([record.source_time.timestamp() for record in records])
        self._places = {record.id: place for place, record in enumerate(records)}
        self._taken: set[frozenset[str]] = set()

    def of(self, target: MemoryRecord, hidden: frozenset[str] | set[str]) -> list[MemoryRecord]:
        """Candidates of a target, nearest first. Every unordered pair is given out once."""
        place = self._places[target.id]
        scores = self._vectors @ self._vectors[place]
        scores[self._moments > self._moments[place]] = -2.0
        scores[place] = -2.0
        hits = np.argsort(-scores, kind="stable")[: self._settings.hits]
        kept: list[MemoryRecord] = []
        for hit in hits:
            record = self._records[int(hit)]
            pair = frozenset((record.id, target.id))
            if scores[hit] < self._settings.min_cosine or record.id in hidden or pair in self._taken:
                continue
            self._taken.add(pair)
            kept.append(record)
            if len(kept) == self._settings.kept:
                break
        return kept


def filtered_pairs(records: Sequence[MemoryRecord], settings: FilterSettings) -> Iterator[tuple[int, int]]:
    """Places of pairs (earlier, later in `records`) of one type whose keywords overlap enough, each once.

    An inverted index with size-aware prefixes: two sets of a and b keywords reach a Jaccard of t only if they share
    ceil(t (a + b) / (1 + t)); among the rarest a - that + 1 of the one there must then be one of the other.
    """
    sets = [frozenset(keyword.lower() for keyword in record.keywords) for record in records]
    counts = Counter(keyword for words in sets for keyword in words)
    postings: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
    sizes: defaultdict[str, set[int]] = defaultdict(set)
    for place, (record, words) in enumerate(zip(records, sets, strict=True)):
        if record.memory_type is None or not words:
            continue
        kind = record.memory_type.value
        ordered = sorted(words, key=lambda word: (counts[word], word))
        for earlier in _sharing(ordered, kind, sizes[kind], postings, settings):
            if _jaccard(words, sets[earlier]) >= settings.min_jaccard:
                yield earlier, place
        for word in ordered:
            postings[kind, word, len(words)].append(place)
        sizes[kind].add(len(words))


def _sharing(
    ordered: Sequence[str],
    kind: str,
    sizes: set[int],
    postings: defaultdict[tuple[str, str, int], list[int]],
    settings: FilterSettings,
) -> list[int]:
    found: set[int] = set()
    for size in sizes:
        needed = math.ceil(settings.min_jaccard * (len(ordered) + size) / (1 + settings.min_jaccard) - 1e-9)
        if needed > min(size, len(ordered)):
            continue
        for word in ordered[: len(ordered) - max(needed, 1) + 1]:
            if (kind, word, size) in postings:
                found.update(postings[kind, word, size][-settings.scan :])
    return sorted(found)


def _jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second)
