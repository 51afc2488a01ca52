"""The dimension route: how far a record's fields meet the conditions of a parsed question (DimMem section 3.3).

score = sum over components c of weight(c) * share(c) / sum of the weights of the active components. A component is
active when the question says something about it; with none active the score is 0. Weights are DimMem's LongMemEval
path: type 0.15, time 0.30, location 0.20, keyword phrases 0.15, keyword tokens 0.15. Its LoCoMo path has other, fixed
weights (no renormalising) and adds the overlap with the anchor's own tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal, Protocol

from engrain.runtime.schema import MemoryType, ParsedQuery, TimeConstraint

Component = Literal["memory_type", "time", "location", "keyword_phrase", "keyword_token", "anchor_token"]
Variant = Literal["longmemeval", "locomo"]

WEIGHTS: dict[Variant, dict[Component, float]] = {
    "longmemeval": {
        "memory_type": 0.15, "time": 0.30, "location": 0.20, "keyword_phrase": 0.15, "keyword_token": 0.15,
    },
    "locomo": {
        "memory_type": 0.15, "time": 0.20, "location": 0.10, "keyword_phrase": 0.20, "keyword_token": 0.15,
        "anchor_token": 0.20,
    },
}  # fmt: skip
"""The weights of DimMem's two code paths (papers/dimmem-facts.md)."""

_AROUND = ((timedelta(days=1), timedelta(days=3)), (timedelta(days=31), timedelta(days=31)))
_AROUND_YEAR = timedelta(days=366)
_TOKEN = re.compile(r"[^\W_]+")


class Dimensioned(Protocol):
    """The fields that the route reads; `IndexedRecord` and `MemoryRecord` have them."""

    @property
    def content(self) -> str: ...
    @property
    def memory_type(self) -> MemoryType | None: ...
    @property
    def location(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def purpose(self) -> str: ...
    @property
    def keywords(self) -> tuple[str, ...]: ...
    @property
    def event_start(self) -> datetime | None: ...
    @property
    def event_end(self) -> datetime | None: ...
    @property
    def source_time(self) -> datetime: ...


@dataclass(frozen=True)
class Readable:
    """A record with its text folded once: content, location, reason, purpose and keywords."""

    record: Dimensioned

    @cached_property
    def text(self) -> str:
        """The searchable text, case folded."""
        record = self.record
        parts = (record.content, record.location, record.reason, record.purpose, *record.keywords)
        return "\n".join(part for part in parts if part).casefold()

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Its words; DimMem's `[a-z0-9]+`, widened to every script."""
        return frozenset(_TOKEN.findall(self.text))


@dataclass(frozen=True)
class Asked:
    """A parsed question prepared for many records."""

    query: ParsedQuery

    @cached_property
    def phrases(self) -> tuple[str, ...]:
        """Keyword phrases, case folded."""
        return tuple(phrase.casefold() for phrase in self.query.keywords if phrase.strip())

    @cached_property
    def keyword_tokens(self) -> frozenset[str]:
        """The words of all keywords."""
        return _tokens(self.query.keywords)

    @cached_property
    def anchor_tokens(self) -> frozenset[str]:
        """The words of the anchor."""
        return _tokens((self.query.anchor,))

    @cached_property
    def place(self) -> str:
        """The location, case folded."""
        return self.query.location.strip().casefold()

    def is_active(self, component: Component) -> bool:
        """Whether the question says something about a component."""
        query = self.query
        return {
            "memory_type": bool(query.target_types),
            "time": bool(query.time_constraints),
            "location": bool(self.place),
            "keyword_phrase": bool(self.phrases),
            "keyword_token": bool(self.keyword_tokens),
            "anchor_token": bool(self.anchor_tokens),
        }[component]

    def shares(self, readable: Readable, components: Iterable[Component]) -> dict[Component, float]:
        """How far a record meets each of `components`, 0 to 1."""
        return {component: self._share(readable, component) for component in components}

    def _share(self, readable: Readable, component: Component) -> float:
        record = readable.record
        if component == "memory_type":
            return float(record.memory_type in self.query.target_types)
        if component == "time":
            constraints = self.query.time_constraints
            return sum(meets(record, constraint) for constraint in constraints) / len(constraints)
        if component == "location":
            return float(self.place in readable.text)
        if component == "keyword_phrase":
            return sum(phrase in readable.text for phrase in self.phrases) / len(self.phrases)
        wanted = self.keyword_tokens if component == "keyword_token" else self.anchor_tokens
        return len(wanted & readable.tokens) / len(wanted)


class DimensionScorer:
    """Scores records against one question under the weights of a variant.

    `weights` are those of the active components; a score is their weighted shares over `total`.
    """

    def __init__(self, query: ParsedQuery, variant: Variant = "longmemeval") -> None:
        self.asked = Asked(query)
        weights = WEIGHTS[variant]
        self.weights = {name: weight for name, weight in weights.items() if self.asked.is_active(name)}
        self.total = sum(self.weights.values()) if variant == "longmemeval" else sum(weights.values())

    def components(self, record: Dimensioned | Readable) -> dict[Component, float]:
        """The share of every active component, for explanations."""
        readable = record if isinstance(record, Readable) else Readable(record)
        return self.asked.shares(readable, self.weights)

    def score(self, record: Dimensioned | Readable) -> float:
        """0 to 1; 0 when no component is active."""
        return sum(self.weights[name] / self.total * share for name, share in self.components(record).items())


def meets(record: Dimensioned, constraint: TimeConstraint) -> bool:
    """Whether the record's own time span, or the moment of its message, meets a time condition.

    `before` and `after` are strict: nothing of the span lies inside or beyond the limit.
    """
    spans = [(record.source_time, record.source_time + timedelta(seconds=1))]
    if record.event_start is not None and record.event_end is not None:
        spans.append((record.event_start, record.event_end))
    if constraint.relation == "before":
        return any(end <= constraint.start for _, end in spans)
    if constraint.relation == "after":
        return any(start >= constraint.end for start, _ in spans)
    start, end = limits(constraint)
    return any(first < end and last > start for first, last in spans)


def limits(constraint: TimeConstraint) -> tuple[datetime, datetime]:
    """Start and end of a condition, widened where it says `around`: 3, 31 or 366 days beside a day, month or year."""
    start, end = constraint.start, constraint.end
    if constraint.relation != "around":
        return start, end
    margin = next((margin for length, margin in _AROUND if end - start <= length), _AROUND_YEAR)
    return start - margin, end + margin


def _tokens(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(token for text in texts for token in _TOKEN.findall(text.casefold()))
