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
from engrain.runtime.retrieval.candidates import Candidates
from engrain.runtime.retrieval.fusion import reciprocal_rank_fusion
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
    kept_documents: int = Field(
        default=1_000_000, ge=1, description="Records and turns, over all users, whose indexes stay in memory."
    )


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
        self._sizes: dict[str, int] = {}
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
            words = {key: index.matched(terms, slot) for slot, key, _, _ in found} if explain else {}
            self._drop_others(index, user_id)
        hits = self._record_hits(user_id, [entry[1:] for entry in found], words, scope.is_present)
        hits += self._turn_hits(user_id, rejected)
        return sorted(hits, key=lambda hit: -hit.score)[:top_k]

    def peek(self, user_id: str) -> ScopeIndex:
        """The index of a user as it is, not caught up. Hold its lock while you read it."""
        return self._index(user_id)

    def _index(self, user_id: str) -> ScopeIndex:
        with self._lock:
            weight = self.settings.neighbour_weight if self.settings.lexical_weight else 0.0
            index = self._indexes.setdefault(user_id, ScopeIndex(self._store.dimension, weight))
            self._indexes.move_to_end(user_id)
            return index

    def _drop_others(self, index: ScopeIndex, user_id: str) -> None:
        """Forget the users searched longest ago until the rest fits; they are indexed again when searched again."""
        with self._lock:
            self._sizes[user_id] = len(index)
            while sum(self._sizes.values()) > self.settings.kept_documents and len(self._indexes) > 1:
                oldest, _ = self._indexes.popitem(last=False)
                self._sizes.pop(oldest, None)

    def _catch_up(self, index: ScopeIndex, user_id: str) -> None:
        delta = self._store.changes_since(user_id, index.version)
        if delta is not None:
            index.catch_up(delta)
        if index.is_sparse and (whole := self._store.changes_since(user_id, 0)):
            index.catch_up(whole)

    def _routes(
        self, index: ScopeIndex, terms: list[str], vector: Vectors | None, scope: ScopeFilter, top_k: int
    ) -> list[tuple[int, int, float, Explained]]:
        """Slot, key, fused score and reasons of the first `top_k`, best first."""
        allowed = index.allowed_records(scope)
        if not allowed.any():
            return []
        settings = self.settings
        routes: dict[str, Candidates] = {}
        # A budget of R deserves max(15, 3R, R + 16) candidates a route, so that fusion has something to choose from.
        depth = max(settings.depth, 3 * top_k, top_k + 16)
        if settings.lexical_weight:
            routes[LEXICAL] = index.lexical(terms, allowed, depth)
        if vector is not None:
            routes[DENSE] = index.dense(vector, allowed, depth)
        weights = {LEXICAL: settings.lexical_weight, DENSE: settings.dense_weight}
        rankings = {route: found.slots.tolist() for route, found in routes.items()}
        fused = reciprocal_rank_fusion(rankings, weights, settings.rrf_k)[:top_k]
        slots = np.array([slot for slot, _ in fused], np.int32)
        scores = {LEXICAL: index.lexical_scores(terms, slots).tolist()} if LEXICAL in routes else {}
        if vector is not None:
            scores[DENSE] = index.dense_scores(vector, slots).tolist()
        places = {route: {slot: rank for rank, slot in enumerate(ranking, 1)} for route, ranking in rankings.items()}
        return [
            (
                slot,
                index.record_key(slot),
                score,
                Explained(
                    scores={route: values[place] for route, values in scores.items()},
                    ranks={route: ranks[slot] for route, ranks in places.items() if slot in ranks},
                ),
            )
            for place, (slot, score) in enumerate(fused)
        ]

    def _rejected(self, index: ScopeIndex, terms: list[str], scope: ScopeFilter, top_k: int) -> list[tuple[int, float]]:
        found = index.rejected(terms, scope, top_k)
        return [
            (index.turn_key(slot), score)
            for slot, score in zip(found.slots.tolist(), found.scores.tolist(), strict=True)
        ]

    def _record_hits(
        self,
        user_id: str,
        found: list[tuple[int, float, Explained]],
        words: Mapping[int, Sequence[str]],
        present: bool,
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
            if key in records and (not present or records[key].status is Status.ACTIVE)
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
