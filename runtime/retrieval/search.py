"""Search in one user's memory: the question is read, records are ranked, and hits are made of the best."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engrain.runtime.errors import StoreError
from engrain.runtime.filters import All, Compare
from engrain.runtime.retrieval.analysis import index_terms
from engrain.runtime.retrieval.assistant_recall import AssistantRecall, is_due, replies
from engrain.runtime.retrieval.dimension import DimensionScorer
from engrain.runtime.retrieval.history import fetch_depth, follow_links, visible_statuses
from engrain.runtime.retrieval.hits import Keyed, linked_hits, record_hits, rejected_hits
from engrain.runtime.retrieval.query import parse_question
from engrain.runtime.retrieval.ranking import Question, Ranked, rank
from engrain.runtime.retrieval.scope_index import ScopeFilter, ScopeIndex
from engrain.runtime.retrieval.settings import SearchSettings
from engrain.runtime.schema import Hit, MemoryRecord, ParsedQuery, Status
from engrain.runtime.storage.protocol import SelectingStore, Store, Vectors

if TYPE_CHECKING:
    from engrain.runtime.embedding import Embedder

__all__ = ["QueryParser", "RuleParser", "SearchSettings", "Searcher", "Wanted", "embed"]


_EVERYTHING = ScopeFilter()


class QueryParser(Protocol):
    """Reads a question: by rules, or by a model (`engrain.runtime.retrieval.model_query`)."""

    def parse(self, question: str, asked_at: datetime) -> ParsedQuery:
        """The question in the schema of the records; never fails for the words of a question."""
        ...


class RuleParser:
    """The parser that needs no model."""

    def parse(self, question: str, asked_at: datetime) -> ParsedQuery:
        """See `parse_question`."""
        return parse_question(question, asked_at)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one search asks for beside the question. `asked_at` None is `as_of`, or now."""

    top_k: int
    scope: ScopeFilter = _EVERYTHING
    asked_at: datetime | None = None
    recall: AssistantRecall | None = None
    include_rejected: bool = False
    explain: bool = False


class Searcher:
    """Keeps the indexes of the users searched last, caught up with the store before each search."""

    def __init__(
        self, store: Store, embedder: Embedder, settings: SearchSettings, parser: QueryParser | None = None
    ) -> None:
        self._store = store
        self._selecting = store if isinstance(store, SelectingStore) else None
        self._embedder = embedder
        self._parser = parser or RuleParser()
        self.settings = settings
        self._indexes: OrderedDict[str, ScopeIndex] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()

    def parse(self, query: str, asked_at: datetime | None = None) -> ParsedQuery:
        """The question as this searcher's parser reads it, relative times counted from `asked_at` (now)."""
        return self._parser.parse(query[: self.settings.longest_parsed], asked_at or datetime.now(UTC))

    def search(self, query: str, user_id: str, wanted: Wanted) -> list[Hit]:
        """Hits, best first; then, for a question about the past, records that supersession links lead to.

        At most `top_k` hits, and at most max(top_k, 8) more by links (SLICE-Mem A.4). A memory asked as of an earlier
        moment shows what was current then and follows no links. A rejected turn is scored by its words alone.
        """
        question = self._question(query, wanted)
        scope, budget = wanted.scope, wanted.top_k
        triggered = self.settings.history and question.parsed.wants_history and scope.is_present
        visible = visible_statuses(triggered)
        index = self._selected(question, user_id, wanted, visible) or self._caught_up(user_id)
        with index.lock:
            allowed = index.allowed_records(scope, visible)
            ranked = rank(index, question, allowed, budget, fetch_depth(budget), self.settings)
            details = [_details(index, question, one, self.settings) for one in ranked] if wanted.explain else ()
            found = Keyed([index.record_key(slot) for slot in ranked.slots], ranked, details)
            rejected = self._rejected(index, question.terms, wanted) if wanted.include_rejected else []
        hits = record_hits(self._store, user_id, found, visible if scope.is_present else None, budget)
        hits += rejected_hits(self._store, user_id, rejected, self.settings.lexical_weight)
        hits = sorted(hits, key=lambda hit: -hit.score)[:budget]
        if triggered:
            hits += self._linked(user_id, hits, wanted)
        mode = wanted.recall or self.settings.assistant_recall
        return self._answered(user_id, hits) if is_due(mode, question.parsed.needs_assistant_context) else hits

    def peek(self, user_id: str) -> ScopeIndex:
        """The index of a user as it is, not caught up. Hold its lock while you read it."""
        return self._index(user_id)

    def _question(self, query: str, wanted: Wanted) -> Question:
        text = query[: self.settings.longest_query]
        parsed = self.parse(text, wanted.asked_at or wanted.scope.as_of)
        words = text
        if self.settings.from_anchor and parsed.anchor.strip():
            text = parsed.anchor
            words = " ".join((text, *parsed.keywords))
        vector = embed(self._embedder, [text])[0] if self.settings.dense_weight else None
        return Question(parsed, index_terms(words), vector)

    def _index(self, user_id: str) -> ScopeIndex:
        with self._lock:
            index = self._indexes.get(user_id)
            if index is None:
                settings = self.settings
                index = ScopeIndex(self._store.dimension, settings.neighbour_weight, settings.neighbour_reach)
                self._indexes[user_id] = index
            self._indexes.move_to_end(user_id)
            return index

    def _drop_others(self, index: ScopeIndex, user_id: str) -> None:
        """Forget the users searched longest ago until the rest fits; they are indexed again when searched again."""
        with self._lock:
            self._sizes[user_id] = len(index)
            while sum(self._sizes.values()) > self.settings.kept_documents and len(self._indexes) > 1:
                oldest, _ = self._indexes.popitem(last=False)
                self._sizes.pop(oldest, None)

    def _selected(
        self, question: Question, user_id: str, wanted: Wanted, visible: frozenset[Status]
    ) -> ScopeIndex | None:
        """The store's own candidates in an index of their own; None where the whole scope is to be in memory.

        That is where it is small or loaded already, and where a search narrows by more than the user: filters, earlier
        moments and rejected turns are looked at in the whole scope only.
        """
        if self._selecting is None or not wanted.scope.is_open or wanted.include_rejected:
            return None
        with self._lock:
            if user_id in self._sizes:
                return None
        settings = self.settings
        depth, reach = settings.route_depth(wanted.top_k), settings.neighbour_reach if settings.neighbour_weight else 0
        selection = self._selecting.select(user_id, question.terms, question.vector, sorted(visible), depth, reach)
        if selection is None:
            return None
        return ScopeIndex.of(selection, self._store.dimension, settings.neighbour_weight, settings.neighbour_reach)

    def _caught_up(self, user_id: str) -> ScopeIndex:
        index = self._index(user_id)
        with index.lock:
            delta = self._store.changes_since(user_id, index.version)
            if delta is not None:
                index.catch_up(delta)
            if index.is_sparse and (whole := self._store.changes_since(user_id, 0)):
                index.catch_up(whole)
            self._drop_others(index, user_id)
        return index

    def _rejected(self, index: ScopeIndex, terms: Sequence[str], wanted: Wanted) -> list[tuple[int, float]]:
        found = index.rejected(terms, wanted.scope, wanted.top_k)
        bound = index.rejected_bound(terms) or 1.0
        return [
            (index.turn_key(slot), score / bound)
            for slot, score in zip(found.slots.tolist(), found.scores.tolist(), strict=True)
        ]

    def _linked(self, user_id: str, hits: Sequence[Hit], wanted: Wanted) -> list[Hit]:
        scores = {hit.record.id: hit.score for hit in hits}

        def lookup(ids: Sequence[str]) -> dict[str, MemoryRecord]:
            return self._seen_by(user_id, ids, wanted.scope)

        return linked_hits(follow_links([hit.record for hit in hits], wanted.top_k, lookup), scores)

    def _seen_by(self, user_id: str, ids: Sequence[str], scope: ScopeFilter) -> dict[str, MemoryRecord]:
        """Those of `ids` that the search's own filter lets through, current or outdated."""
        if scope.is_open:
            found = [self._store.record(name, user_id) for name in ids]
            return {record.id: record for record in found if record is not None}
        named = Compare("id", "in", tuple(ids))
        narrowed = replace(scope, where=All((scope.where, named)) if scope.where else named)
        index = self._index(user_id)
        with index.lock:
            mask = index.allowed_records(narrowed, visible_statuses(triggered=True))
            keys = [index.record_key(slot) for slot in np.flatnonzero(mask).tolist()]
        return {record.id: record for record in self._store.records_by_key(user_id, keys).values()}

    def _answered(self, user_id: str, hits: Sequence[Hit]) -> list[Hit]:
        found = replies(self._store, user_id, [hit.record for hit in hits])
        return [hit.model_copy(update={"reply": found.get(hit.record.id)}) for hit in hits]


def _details(
    index: ScopeIndex, question: Question, one: Ranked, settings: SearchSettings
) -> tuple[tuple[str, ...], dict[str, float]]:
    """The words that matched and the share of each dimension."""
    readable = index.dimensions.record(one.slot)
    scorer = DimensionScorer(question.parsed, settings.dimension_variant)
    shares = scorer.components(readable) if readable else {}
    return index.matched(question.terms, one.slot), {str(name): share for name, share in shares.items()}


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
