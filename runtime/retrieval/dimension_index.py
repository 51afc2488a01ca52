"""The dimension route over many records: the scores of `dimension`, computed by column.

Rows are only ever appended: a record that changes gets another slot, and slots that may not be found are masked. Types
and times are columns, words have postings, and phrases and places are looked for in every text.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.retrieval.candidates import Candidates, MaskArray, best_of
from engrain.runtime.retrieval.dimension import Asked, Component, Dimensioned, DimensionScorer, Readable, limits
from engrain.runtime.schema import MemoryType, TimeConstraint

Scores = NDArray[np.float64]

_CODES = {kind: code for code, kind in enumerate(MemoryType)}


class DimensionIndex:
    """Records with dimensions, by slot. Callers lock."""

    def __init__(self) -> None:
        self._readable: dict[int, Readable] = {}
        self._slots, self._types = array("i"), array("b")
        self._said, self._start, self._end = array("d"), array("d"), array("d")
        self._postings: dict[str, array[int]] = {}
        self._texts: list[str] = []

    def __len__(self) -> int:
        """Records that may be found."""
        return len(self._readable)

    def add(self, slot: int, record: Dimensioned) -> None:
        """Take in a record under a slot that is new."""
        readable = self._readable[slot] = Readable(record)
        row = len(self._slots)
        self._slots.append(slot)
        self._types.append(-1 if record.memory_type is None else _CODES[record.memory_type])
        self._said.append(record.source_time.timestamp())
        self._start.append(_seconds(record.event_start if record.event_end else None))
        self._end.append(_seconds(record.event_end if record.event_start else None))
        for token in readable.tokens:
            self._postings.setdefault(token, array("i")).append(row)
        self._texts.append(readable.text)

    def remove(self, slot: int) -> None:
        """The slot can no longer be found."""
        self._readable.pop(slot, None)

    def record(self, slot: int) -> Readable | None:
        """A record that may be found, for the components of its score."""
        return self._readable.get(slot)

    def best(self, scorer: DimensionScorer, allowed: MaskArray, depth: int) -> Candidates:
        """The `depth` best allowed records with a score above 0, best first; equal scores by slot."""
        slots = np.array(self._slots, np.int32)
        scores = self._scores(scorer)
        kept = (scores > 0) & allowed[slots]
        return best_of(slots[kept], scores[kept].astype(np.float32), depth)

    def _scores(self, scorer: DimensionScorer) -> Scores:
        scores = np.zeros(len(self._slots))
        for component, weight in scorer.weights.items():
            scores += weight / scorer.total * self._shares(component, scorer.asked)
        return scores

    def _shares(self, component: Component, asked: Asked) -> Scores:
        if component == "memory_type":
            wanted = [_CODES[kind] for kind in asked.query.target_types]
            return np.isin(np.array(self._types, np.int8), wanted).astype(np.float64)
        if component == "time":
            constraints = asked.query.time_constraints
            return _mean([self._meeting(constraint).astype(np.float64) for constraint in constraints])
        if component == "location":
            return self._holding(asked.place)
        if component == "keyword_phrase":
            return _mean([self._holding(phrase) for phrase in asked.phrases])
        shares = np.zeros(len(self._slots))
        wanted_tokens = asked.keyword_tokens if component == "keyword_token" else asked.anchor_tokens
        for token in wanted_tokens:
            # A token stands in a row's postings once.
            shares[np.array(self._postings.get(token, ()), np.int32)] += 1.0 / len(wanted_tokens)
        return shares

    def _meeting(self, constraint: TimeConstraint) -> MaskArray:
        said, start, end = (np.array(column) for column in (self._said, self._start, self._end))
        first, last = (moment.timestamp() for moment in limits(constraint))
        if constraint.relation == "before":
            return (said + 1.0 <= first) | (end <= first)
        if constraint.relation == "after":
            return (said >= last) | (start >= last)
        return ((said < last) & (said + 1.0 > first)) | ((start < last) & (end > first))

    def _holding(self, phrase: str) -> Scores:
        """1 for the rows whose text holds a phrase."""
        return np.fromiter((phrase in text for text in self._texts), np.float64, len(self._texts))


def _mean(columns: Sequence[Scores]) -> Scores:
    mean: Scores = np.mean(columns, axis=0)
    return mean


def _seconds(moment: datetime | None) -> float:
    """Seconds since 1970; NaN, which meets no condition, where there is none."""
    return float("nan") if moment is None else (moment - _EPOCH) / timedelta(seconds=1)


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
