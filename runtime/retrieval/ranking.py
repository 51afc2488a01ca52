"""One user's records in the order in which they answer a question: three routes, their scores, their fusion.

Weighted fusion, the default, sums scores on fixed scales, so that a score means the same for every question:

    score = w_lexical * BM25 / bound + w_dense * cosine + w_dimension * dimension
            + w_speaker * [the question names the speaker] + w_length * min(1, terms / full length)

`bound` is what BM25 cannot exceed for the question's terms, so that the first part is the share of the question's
information that a record and its neighbours hold. The cosine is that of the record's window (`window_scores`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import overload

import numpy as np

from engrain.runtime.retrieval.analysis import index_terms
from engrain.runtime.retrieval.candidates import IntArray, MaskArray
from engrain.runtime.retrieval.dimension import DimensionScorer
from engrain.runtime.retrieval.fusion import (
    Fused,
    Fusion,
    ordered_concatenation,
    reciprocal_rank_fusion,
    weighted_sum,
)
from engrain.runtime.retrieval.scope_index import ScopeIndex
from engrain.runtime.retrieval.settings import DENSE, DIMENSION, LENGTH, LEXICAL, NAMED, SearchSettings
from engrain.runtime.retrieval.surface import is_name
from engrain.runtime.schema import ParsedQuery
from engrain.runtime.storage.protocol import Vectors


@dataclass(frozen=True)
class Question:
    """A question made ready for the routes. `vector` is None where the dense route is off."""

    parsed: ParsedQuery
    terms: list[str]
    vector: Vectors | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One slot of a ranking: its fused score, its scores by part, its ranks by route, from 1."""

    slot: int
    score: float
    scores: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)

    def why(self, matched: Sequence[str] = (), components: Mapping[str, float] | None = None) -> str:
        """As a line for people: `lexical #1 (adopt, agenc), dense #3, dimension #2 (time 1.00, location 0.00)`.

        `matched` are the question's words that the record holds, `components` its shares of the question's dimensions.
        """
        details = {}
        if matched:
            details[LEXICAL] = f" ({', '.join(matched)})"
        if components:
            details[DIMENSION] = f" ({', '.join(f'{name} {share:.2f}' for name, share in components.items())})"
        parts = [f"{route} #{place}{details.get(route, '')}" for route, place in self.ranks.items()]
        if self.scores.get(NAMED):
            parts.append("said by someone the question names")
        return ", ".join(parts)


class Ranking(Sequence[Ranked]):
    """Fused slots, best first, each described only when it is looked at: most are read past the budget and never shown.

    `rows` are the slots that `scores` stand beside, ascending; `places` are ranks by route and slot, from 1.
    """

    def __init__(
        self,
        fused: Sequence[tuple[int, float]],
        rows: Sequence[int],
        scores: Mapping[str, Sequence[float]],
        places: Mapping[str, Mapping[int, int]],
    ) -> None:
        self._fused, self._rows, self._scores, self._places = fused, rows, scores, places

    @property
    def slots(self) -> list[int]:
        """The slots alone."""
        return [slot for slot, _ in self._fused]

    def __len__(self) -> int:
        return len(self._fused)

    @overload
    def __getitem__(self, place: int) -> Ranked: ...
    @overload
    def __getitem__(self, place: slice) -> Ranking: ...
    def __getitem__(self, place: int | slice) -> Ranked | Ranking:
        if isinstance(place, slice):
            return Ranking(self._fused[place], self._rows, self._scores, self._places)
        slot, score = self._fused[place]
        row = bisect_left(self._rows, slot)
        return Ranked(
            slot,
            score,
            {name: values[row] for name, values in self._scores.items()},
            {route: ranks[slot] for route, ranks in self._places.items() if slot in ranks},
        )


def rank(
    index: ScopeIndex, question: Question, allowed: MaskArray, budget: int, depth: int, settings: SearchSettings
) -> Ranking:
    """The first `depth` of the allowed slots; `budget` decides how many candidates each route brings."""
    if not allowed.any():
        return Ranking((), (), {}, {})
    rankings = _candidates(index, question, allowed, settings.route_depth(budget), settings)
    slots = np.array(sorted(set().union(*rankings.values())), np.int32)
    scores = _scores(index, question, slots, settings) if len(slots) else {}
    fused = _fuse(index, rankings, scores, slots, settings)[:depth]
    places = {route: {slot: place for place, slot in enumerate(ranking, 1)} for route, ranking in rankings.items()}
    return Ranking(fused, slots.tolist(), scores, places)


def _candidates(
    index: ScopeIndex, question: Question, allowed: MaskArray, depth: int, settings: SearchSettings
) -> dict[str, list[int]]:
    """The best slots of every route that is on, best first."""
    rankings: dict[str, list[int]] = {}
    if settings.lexical_weight:
        rankings[LEXICAL] = index.lexical(question.terms, allowed, depth).slots.tolist()
    if question.vector is not None:
        rankings[DENSE] = index.dense(question.vector, allowed, depth).slots.tolist()
    if settings.dimension_weight and len(index.dimensions):
        scorer = DimensionScorer(question.parsed, settings.dimension_variant)
        rankings[DIMENSION] = index.dimensions.best(scorer, allowed, depth).slots.tolist()
    return rankings


def _scores(index: ScopeIndex, question: Question, slots: IntArray, settings: SearchSettings) -> dict[str, list[float]]:
    """Scores of every part for every candidate, whichever route brought it."""
    scores: dict[str, list[float]] = {}
    if settings.lexical_weight:
        bound = index.lexical_bound(question.terms) or 1.0
        scores[LEXICAL] = (index.lexical_scores(question.terms, slots) / np.float32(bound)).tolist()
    if question.vector is not None:
        scores[DENSE] = index.window_scores(question.vector, slots).tolist()
    if settings.dimension_weight and len(index.dimensions):
        scorer = DimensionScorer(question.parsed, settings.dimension_variant)
        records = [index.dimensions.record(slot) for slot in slots.tolist()]
        scores[DIMENSION] = [scorer.score(record) if record else 0.0 for record in records]
    if settings.fusion is Fusion.WEIGHTED:
        named = named_speakers(index.speakers, question.terms)
        if named and settings.speaker_weight:
            scores[NAMED] = index.spoken_by(named, slots).astype(float).tolist()
        if settings.length_weight:
            scores[LENGTH] = np.minimum(1.0, index.words(slots) / settings.full_length).tolist()
    return scores


def _fuse(
    index: ScopeIndex,
    rankings: dict[str, list[int]],
    scores: dict[str, list[float]],
    slots: IntArray,
    settings: SearchSettings,
) -> Fused:
    weights = {
        LEXICAL: settings.lexical_weight,
        DENSE: settings.dense_weight,
        DIMENSION: settings.dimension_weight,
        NAMED: settings.speaker_weight,
        LENGTH: settings.length_weight,
    }
    if settings.fusion is Fusion.WEIGHTED:
        return weighted_sum(scores, weights, slots.tolist())
    if settings.fusion is Fusion.RECIPROCAL:
        return reciprocal_rank_fusion(rankings, weights, settings.rrf_k)
    return ordered_concatenation(rankings, settings.order, index.content)


def named_speakers(speakers: Sequence[str], terms: Sequence[str]) -> tuple[str, ...]:
    """Those speakers of whose names the question holds a word. A mere role ("user") is no name."""
    asked = set(terms)
    return tuple(name for name in speakers if is_name(name) and not asked.isdisjoint(_name_terms(name)))


@lru_cache(maxsize=10_000)
def _name_terms(name: str) -> frozenset[str]:
    return frozenset(index_terms(name))
