"""Search in one user's memory: routes, fusion, hits with the reasons for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from engrain.runtime.errors import StoreError
from engrain.runtime.retrieval.analysis import index_terms
from engrain.runtime.retrieval.fusion import best_slots, reciprocal_rank_fusion
from engrain.runtime.retrieval.scope_index import ScopeFilter, ScopeIndex
from engrain.runtime.schema import Contract, Hit, MemoryRecord, Status
from engrain.runtime.storage.protocol import Store, StoredTurn, Vectors

if TYPE_CHECKING:
    from engrain.runtime.embedding import Embedder

LEXICAL = "lexical"
DENSE = "dense"
REJECTED = "rejected"
REJECTED_PREFIX = "turn:"
"""Ids of hits that are rejected turns, not records."""


class SearchSettings(Contract):
    """How routes are searched and joined. Defaults tuned on LoCoMo's conv-26, conv-30 and conv-41 only."""

    lexical_weight: float = Field(default=1.0, ge=0.0, description="Of the BM25 route in fusion; 0: off.")
    dense_weight: float = Field(default=0.5, ge=0.0, description="Of the cosine route in fusion; 0: off.")
    rrf_k: float = Field(default=5.0, gt=0.0, description="Rank offset of the fusion: the larger, the flatter.")
    neighbour_weight: float = Field(
        default=0.5, ge=0.0, le=1.0, description="Count of a word in the previous or next turn in BM25; 0: none."
    )
    depth: int = Field(default=50, ge=1, description="Candidates a route brings at least.")
    longest_query: int = Field(default=10_000, ge=1, description="Characters that are read of a query.")
    kept_scopes: int = Field(default=256, ge=1, description="Users whose indexes stay in memory.")


class Explained(Contract):
    """Scores and ranks of one hit by route, ranks from 1."""

    scores: dict[str, float]
    ranks: dict[str, int]

    def why(self, matched: Sequence[str]) -> str:
        """As a line for people: `lexical #1 (adopt, agenc), dense #3`."""
        parts = []
        for route, rank in self.ranks.items():
            words = f" ({', '.join(matched)})" if matched and route != DENSE else ""
            parts.append(f"{route} #{rank}{words}")
        return ", ".join(parts)


class Searcher:
    """Keeps the indexes of the users searched last, caught up with the store before each search."""

    def __init__(self, store: Store, embedder: Embedder, settings: SearchSettings) -> None:
        self._store = store
        self._embedder = embedder
        self.settings = settings
        self._indexes: OrderedDict[str, ScopeIndex] = OrderedDict()
        self._lock = threading.Lock()

    def search(
        self,
        query: str,
        user_id: str,
        scope: ScopeFilter,
        top_k: int,
        *,
        include_rejected: bool = False,
        explain: bool = False,
    ) -> list[Hit]:
        """At most `top_k` hits, best first. Rejected turns, when asked for, are marked in `why`.

        A rejected turn has the lexical route only, so its score is what that route alone would give a record.
        """
        query = query[: self.settings.longest_query]
        vector = embed(self._embedder, [query])[0] if self.settings.dense_weight else None
        terms = index_terms(query)
        index = self._index(user_id)
        with index.lock:
            self._catch_up(index, user_id)
            found = self._routes(index, terms, vector, scope, top_k)
            rejected = self._rejected(index, terms, scope, top_k) if include_rejected else []
            words = {key: _matched(index, terms, key) for key, _, _ in found} if explain else {}
        hits = self._record_hits(user_id, found, words)
        hits += self._turn_hits(user_id, rejected)
        return sorted(hits, key=lambda hit: -hit.score)[:top_k]

    def _index(self, user_id: str) -> ScopeIndex:
        with self._lock:
            index = self._indexes.setdefault(user_id, ScopeIndex(self._store.dimension))
            self._indexes.move_to_end(user_id)
            while len(self._indexes) > self.settings.kept_scopes:
                self._indexes.popitem(last=False)
            return index

    def _catch_up(self, index: ScopeIndex, user_id: str) -> None:
        delta = self._store.changes_since(user_id, index.version)
        if delta is not None:
            index.catch_up(delta)
        if index.is_sparse and (whole := self._store.changes_since(user_id, 0)):
            index.catch_up(whole)

    def _routes(
        self, index: ScopeIndex, terms: list[str], vector: Vectors | None, scope: ScopeFilter, top_k: int
    ) -> list[tuple[int, float, Explained]]:
        allowed = index.allowed_records(scope)
        if not allowed.any():
            return []
        settings = self.settings
        scores, rankings, weights = {}, {}, {}
        # A budget of R deserves max(15, 3R, R + 16) candidates a route, so that fusion has something to choose from.
        depth = max(settings.depth, 3 * top_k, top_k + 16)
        if settings.lexical_weight:
            context = index.context(settings.neighbour_weight) if settings.neighbour_weight else None
            scores[LEXICAL] = index.records.scores(terms, context)
            rankings[LEXICAL] = best_slots(scores[LEXICAL], allowed, depth, floor=0.0)
            weights[LEXICAL] = settings.lexical_weight
        if vector is not None:
            scores[DENSE] = index.vectors.scores(vector)
            rankings[DENSE] = best_slots(scores[DENSE], allowed, depth)
            weights[DENSE] = settings.dense_weight
        fused = reciprocal_rank_fusion(rankings, weights, settings.rrf_k)[:top_k]
        places = {route: {slot: rank for rank, slot in enumerate(slots, 1)} for route, slots in rankings.items()}
        return [
            (
                index.record_key(slot),
                score,
                Explained(
                    scores={route: float(values[slot]) for route, values in scores.items()},
                    ranks={route: ranks[slot] for route, ranks in places.items() if slot in ranks},
                ),
            )
            for slot, score in fused
        ]

    def _rejected(self, index: ScopeIndex, terms: list[str], scope: ScopeFilter, top_k: int) -> list[tuple[int, float]]:
        scores = index.turns.scores(terms)
        slots = best_slots(scores, index.allowed_rejected(scope), top_k, floor=0.0)
        return [(index.turn_key(slot), float(scores[slot])) for slot in slots]

    def _record_hits(
        self, user_id: str, found: list[tuple[int, float, Explained]], words: Mapping[int, Sequence[str]]
    ) -> list[Hit]:
        records = self._store.records_by_key(user_id, [key for key, _, _ in found])
        return [
            Hit(
                record=records[key],
                score=score,
                route_scores=explained.scores,
                why=explained.why(words.get(key, ())),
            )
            for key, score, explained in found
            if key in records and records[key].status is Status.ACTIVE
        ]

    def _turn_hits(self, user_id: str, rejected: list[tuple[int, float]]) -> list[Hit]:
        turns = {turn.key: turn for turn in self._store.turns(user_id, keys=[key for key, _ in rejected])}
        return [
            Hit(
                record=turn_as_record(turns[key], self._store.embedder),
                score=self.settings.lexical_weight / (self.settings.rrf_k + rank),
                route_scores={REJECTED: score},
                why=f"rejected by the gate (p = {turns[key].gate_probability or 0.0:.2f}), {REJECTED} #{rank}",
            )
            for rank, (key, score) in enumerate(rejected, start=1)
            if key in turns
        ]


def embed(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """N x D finite float32 vectors. Raises `StoreError` when the embedder gives another shape, NaN or infinity."""
    if not texts:
        return np.empty((0, embedder.dimension), dtype=np.float32)
    vectors = np.asarray(embedder.embed(texts), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dimension):
        raise StoreError(
            f"the embedder '{embedder.identity}' gave an array of shape {vectors.shape} for {len(texts)} texts; "
            f"expected ({len(texts)}, {embedder.dimension})"
        )
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        text = texts[int(broken[0])][:80]
        raise StoreError(f"the embedder '{embedder.identity}' gave NaN or infinity for '{text}'; nothing was written")
    return vectors


def turn_as_record(turn: StoredTurn, embedder: str) -> MemoryRecord:
    """A rejected turn in the shape of a record, so that it can be a hit. It exists in no table."""
    return MemoryRecord(
        id=REJECTED_PREFIX + turn.turn.id,
        scope=turn.scope,
        content=turn.turn.text,
        source_time=turn.turn.timestamp,
        source_speaker=turn.turn.speaker,
        ingest_time=turn.turn.timestamp,
        source_turn_ids=(turn.turn.id,),
        extractor=REJECTED,
        embedder=embedder,
        metadata=dict(turn.metadata),
    )


def _matched(index: ScopeIndex, terms: list[str], key: int) -> tuple[str, ...]:
    """Query terms that the record itself holds; a hit without any was found through its neighbours or its vector."""
    return tuple(term for term in dict.fromkeys(terms) if index.holds(key, term))
