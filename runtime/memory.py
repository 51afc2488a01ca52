"""What an agent calls: add, search, get, list, delete, consolidate, over one store and one user at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from engrain.runtime.admission import admit, known_conflicts
from engrain.runtime.arguments import check_budget, check_identifiers, check_metadata, check_page, check_query
from engrain.runtime.consolidation.engine import Consolidator
from engrain.runtime.filters import parse_filter
from engrain.runtime.history import Event, as_they_stood, record_history
from engrain.runtime.ingest import Messages, check_text, make_scope, read_messages, read_moment
from engrain.runtime.opening import open_embedder, open_extractor, open_gate, open_store
from engrain.runtime.records import Drafter
from engrain.runtime.results import AddResult, SearchResult
from engrain.runtime.retrieval.assistant_recall import AssistantRecall, check_recall
from engrain.runtime.retrieval.scope_index import ScopeFilter
from engrain.runtime.retrieval.search import QueryParser, Searcher, Wanted, embed
from engrain.runtime.retrieval.surface import dense_text
from engrain.runtime.schema import Change, MemoryRecord, Status
from engrain.runtime.settings import MemorySettings
from engrain.runtime.storage.protocol import Admission, Batch, Store, StoredTurn

if TYPE_CHECKING:
    from engrain.runtime.embedding import Embedder
    from engrain.runtime.extraction.extractor import Extractor
    from engrain.runtime.gate import Gate

__all__ = ["Memory", "MemorySettings"]

Records = list[MemoryRecord]
Turns = list[StoredTurn]


class Memory:
    """The memory of many users in one store. Safe to share between threads; every process opens its own.

    `gate` None takes every remembered turn; `extractor` None keeps turns as they were given; `query_parser` None reads
    questions by rules.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        gate: Gate | None = None,
        extractor: Extractor | None = None,
        settings: MemorySettings | None = None,
        query_parser: QueryParser | None = None,
    ) -> None:
        self.store = store
        self.settings = settings or MemorySettings()
        self._embedder = embedder
        self._gate = gate
        self._extractor = extractor
        self._consolidator = Consolidator(store)
        self.searcher = Searcher(store, embedder, self.settings.search, query_parser)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | str | Path,
        gate: Gate | str | Path | None = None,
        extractor: Extractor | str | Path | None = None,
        settings: MemorySettings | None = None,
        query_parser: QueryParser | None = None,
    ) -> Self:
        """Open a memory file, or create it; a `postgresql://` address is a database (wants the extra `postgres`).

        Models are objects, or folders of their bundles.

        Raises `StoreError` when the file cannot be used, above all when its vectors come from another embedder, and
        `BundleError` for a bundle that is missing or altered.
        """
        settings = settings or MemorySettings()
        embedding = open_embedder(embedder)
        # Bundles before the file: a bad bundle must not leave an empty file behind.
        gating, extracting = open_gate(gate), open_extractor(extractor)
        return cls(
            open_store(path, embedding.identity, embedding.dimension, settings),
            embedding,
            gating,
            extracting,
            settings,
            query_parser,
        )

    @property
    def embedder(self) -> Embedder:
        """What made the store's vectors."""
        return self._embedder

    def add(
        self,
        messages: Messages,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
        timestamp: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        gate: bool = True,
        infer: bool = True,
    ) -> AddResult:
        """Store messages and make records of those worth keeping, in one transaction.

        `messages`: a text, a mapping (`role`, `content`, and optionally `name`, `timestamp`, `id`), a `Turn`, or a
        list of these; see `read_messages` for times, sessions and identity. `gate=False` takes every remembered turn
        of this add; `infer=False` does, and keeps the turns as given, without the extractor. Every turn is stored,
        admitted or not; one that is stored already changes nothing.

        Raises `InputError` for bad messages and `ModelServiceError` when an extractor's service fails; nothing is
        written then, and adding the same messages again is safe.
        """
        scope = make_scope(user_id, agent_id, run_id)
        extra = check_metadata(metadata)
        turns = read_messages(messages, scope, session_id, timestamp)
        stored = self.store.known_turns(scope, [turn.id for turn in turns])
        known_conflicts(turns, {turn_id: known.turn.text for turn_id, known in stored.items()})
        unique = {turn.id: turn for turn in turns}
        new_ids = unique.keys() - stored.keys()
        repeated = len(turns) - len(new_ids)
        if not new_ids:
            return AddResult(duplicates=repeated)
        roles = self.settings.remember_roles
        judging, extracting = self._gate if gate and infer else None, self._extractor if infer else None
        judged = admit(self.store, scope, list(unique.values()), new_ids, judging, roles)
        drafts = Drafter(self.store, scope, extracting, roles, extra).draft(judged)
        vectors = embed(self._embedder, [dense_text(record) for record in drafts.records])
        counters = {"fell_back": drafts.fell_back, "failed": len(drafts.failures), "duplicates": repeated}
        batch = Batch(scope, tuple(judged), tuple(drafts.records), vectors, tuple(drafts.failures), counters)
        written = self.store.write(batch)
        stored_now = set(written.turn_ids)
        kinds = Counter(new.admission for new in judged if new.turn.id in stored_now)
        return AddResult(
            turns=len(written.turn_ids),
            duplicates=repeated + len(written.duplicate_turn_ids),
            admitted=kinds[Admission.ADMITTED] + kinds[Admission.AS_GIVEN],
            rejected=kinds[Admission.REJECTED],
            context=kinds[Admission.CONTEXT],
            records=len(written.record_ids),
            fell_back=drafts.fell_back,
            failed=len(drafts.failures),
            turn_ids=written.turn_ids,
            record_ids=written.record_ids,
        )

    def search(
        self,
        query: str,
        *,
        user_id: str,
        top_k: int | None = None,
        limit: int | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        as_of: datetime | str | None = None,
        as_of_ingest: datetime | str | None = None,
        asked_at: datetime | str | None = None,
        assistant_recall: AssistantRecall | str | None = None,
        include_rejected: bool = False,
        explain: bool = False,
    ) -> SearchResult:
        """The best active records of a user for a question, at most `top_k` (10; `limit` is another name for it).

        `agent_id`, `run_id`, `session_id` and `filters` (see `engrain.runtime.filters`) narrow the search before
        anything is ranked. `as_of` answers from what had been said by then, as the memory stood then; `as_of_ingest`
        from what had been written by then. What was deleted since is gone from both. `include_rejected` also looks, by
        words only, at turns that the gate rejected; such hits say so in `why`. `explain` adds the matched terms to it.

        The question is read first, relative times counted from `asked_at` (`as_of`, or now). One about time or change
        also finds outdated records, marked, and up to max(top_k, 8) more that supersession links lead to (SLICE-Mem
        A.4). One about what the assistant said gets the replies that follow the hits' messages; `assistant_recall`
        (never, selective, always) replaces the setting.

        Raises `InputError` for an empty query, a `top_k` below 1, or a filter that is malformed or names an unknown
        field.
        """
        readable = check_query(query)
        make_scope(user_id, agent_id, run_id)
        budget = check_budget(top_k, limit)
        asked, *moments = [
            None if given is None else read_moment(given, name)
            for name, given in (("asked_at", asked_at), ("as_of", as_of), ("as_of_ingest", as_of_ingest))
        ]
        narrowed = ScopeFilter(agent_id, run_id, session_id, parse_filter(filters), *moments)
        recall = None if assistant_recall is None else check_recall(assistant_recall)
        wanted = Wanted(budget, narrowed, asked, recall, include_rejected, explain)
        hits = self.searcher.search(readable, user_id, wanted)
        cut = max(0, len(readable) - self.settings.search.longest_query)
        return SearchResult(results=tuple(as_they_stood(self.store, hits, narrowed)), query_characters_cut=cut)

    def get(self, record_id: str, *, user_id: str | None = None) -> MemoryRecord | None:
        """One record, whatever its status; None when there is none, or it is not this user's."""
        check_identifiers(record_id=record_id, user_id=user_id)
        return self.store.record(record_id, user_id)

    def list(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
        limit: int | None = None,
        offset: int = 0,
    ) -> Records:
        """Records of a user in order of arrival, active ones unless `statuses` says otherwise."""
        make_scope(user_id, agent_id, run_id)
        limit, offset = check_page(limit, offset)
        return self.store.records(
            user_id, agent_id=agent_id, run_id=run_id, statuses=statuses, limit=limit, offset=offset
        )

    def turns(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
        ids: Sequence[str] | None = None,
        admissions: Sequence[Admission] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Turns:
        """Every turn that was added, by time: admitted, rejected and context alike."""
        make_scope(user_id, agent_id, run_id)
        limit, offset = check_page(limit, offset)
        return self.store.turns(
            user_id,
            agent_id=agent_id,
            run_id=run_id,
            session_id=session_id,
            ids=ids,
            admissions=admissions,
            limit=limit,
            offset=offset,
        )

    def sources(self, record: MemoryRecord) -> Turns:
        """The turns that a record, or a hit's record, comes from."""
        found = self.store.known_turns(record.scope, record.source_turn_ids)
        return [found[turn_id] for turn_id in record.source_turn_ids if turn_id in found]

    def update(
        self, record_id: str, text: str, *, user_id: str | None = None, timestamp: datetime | str | None = None
    ) -> MemoryRecord | None:
        """Give a record another text; owner, metadata, times and sources stay. None when there is no such record.

        `timestamp` is when it was changed; now when left out. What the text was is kept, see `history`.
        """
        check_identifiers(record_id=record_id, user_id=user_id)
        content = check_text(text, "text")
        at = datetime.now(UTC) if timestamp is None else read_moment(timestamp, "timestamp")
        record = self.store.record(record_id, user_id)
        if record is None:
            return None
        changed = record.model_copy(update={"content": content})
        [vector] = embed(self._embedder, [dense_text(changed)])
        self.store.update(record_id, content, vector, at, record.scope.user_id)
        return self.store.record(record_id, record.scope.user_id)

    def history(self, record_id: str, *, user_id: str | None = None) -> tuple[Event, ...]:
        """What happened to a record, oldest first: added, updates of its text, changes of its status.

        Empty when there is no such record; deleting a record deletes its history.
        """
        check_identifiers(record_id=record_id, user_id=user_id)
        record = self.store.record(record_id, user_id)
        return () if record is None else record_history(self.store, record)

    def delete(self, record_id: str, *, user_id: str | None = None) -> bool:
        """Delete a record for good, with source turns that no other record draws on; False when there is none."""
        check_identifiers(record_id=record_id, user_id=user_id)
        return self.store.delete(record_id, user_id)

    def delete_all(self, *, user_id: str, agent_id: str | None = None, run_id: str | None = None) -> int:
        """Delete every record and turn of a user, or of one agent or run; returns the number of records."""
        make_scope(user_id, agent_id, run_id)
        return self.store.delete_all(user_id, agent_id, run_id)

    def consolidate(self, *, user_id: str) -> tuple[Change, ...]:
        """Compare what is new with what is known, by rules alone (SLICE-Mem A.4); returns the changes.

        Duplicates are dropped and outdated statements superseded, by status, in part where a record says more; no text
        is touched, and every change can be undone. `Consolidator` adds a model's decisions.
        """
        make_scope(user_id)
        return tuple(self._consolidator.run(user_id).changes)

    def undo(self, change_id: str, *, user_id: str) -> tuple[Change, ...]:
        """Take back a change of consolidation; returns what was taken back (both halves of a merge).

        Raises `InputError` when the log has no such change, or a later change builds on it.
        """
        check_identifiers(change_id=change_id, user_id=user_id)
        return self.store.undo(user_id, change_id, datetime.now(UTC))

    def counters(self, *, user_id: str) -> dict[str, int]:
        """Totals over all adds of a user: turns, admissions, records, duplicates, fallbacks, failures."""
        make_scope(user_id)
        return self.store.counters(user_id)

    def close(self) -> None:
        """Release the file. A second close does nothing."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
