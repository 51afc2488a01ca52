"""What a memory needs of its store, whichever database holds it.

Facts are rows: turns, records, vectors, the consolidation log. Indexes are derived from them elsewhere and kept fresh
through `changes_since`: every write gives its rows a version that only grows, so that an index in one process learns
what another process wrote or deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.schema import Change, MemoryRecord, MemoryType, Role, Scope, Status, Turn

Vectors = NDArray[np.float32]


class Admission(StrEnum):
    """What became of a turn on its way in."""

    ADMITTED = "admitted"
    REJECTED = "rejected"
    CONTEXT = "context"
    """Another role than those remembered: kept for context and provenance."""
    AS_GIVEN = "as_given"
    """Taken without a gate."""


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn on its way into the store."""

    turn: Turn
    admission: Admission
    gate_probability: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn in the store. `key` is its place in the order of arrival over the whole file."""

    key: int
    scope: Scope
    turn: Turn
    admission: Admission
    gate_probability: float | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """What an extractor wrote and validation refused, kept so that it can be looked at and tried again."""

    session_id: str
    reason: str
    raw: str
    extractor: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that one add writes, in one transaction. All turns and records share `scope`.

    `vectors` is N x D, one row a record. `counters` are added to the user's totals; the store itself counts turns,
    admissions and records, since only it knows what was new.
    """

    scope: Scope
    turns: tuple[NewTurn, ...]
    records: tuple[MemoryRecord, ...]
    vectors: Vectors
    failures: tuple[Failure, ...] = ()
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """What a batch came to. Turns that were already there, and records drawn from them alone, are left out."""

    turn_ids: tuple[str, ...]
    duplicate_turn_ids: tuple[str, ...]
    record_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexedRecord:
    """The part of a record that indexes need. `turn_keys` are its source turns.

    `replaced` tells of a record that is not active what took its place: the source time of that record (None when it
    is gone), and when it was decided.
    """

    key: int
    id: str
    agent_id: str | None
    run_id: str | None
    status: Status
    speaker: str
    content: str
    reason: str
    purpose: str
    keywords: tuple[str, ...]
    turn_keys: tuple[int, ...]
    memory_type: MemoryType | None
    time: str
    location: str
    event_start: datetime | None
    event_end: datetime | None
    source_time: datetime
    ingest_time: datetime
    metadata: Mapping[str, Any]
    replaced: Replaced | None = None


@dataclass(frozen=True, slots=True)
class Replaced:
    """Since when a record is not active: by the source time of what replaced it, and by the time of the decision."""

    source_time: datetime | None
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class Revision:
    """One update of a record's text."""

    record_id: str
    before: str
    after: str
    at: datetime


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """The part of a turn that indexes need. `moment` is seconds since 1970 in UTC."""

    key: int
    agent_id: str | None
    run_id: str | None
    session_id: str
    moment: float
    admission: Admission
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed for one user between two versions. `restart`: forget all that was indexed before.

    `vectors` is N x D, one row a record.
    """

    version: int
    vectors: Vectors
    restart: bool = False
    records: tuple[IndexedRecord, ...] = ()
    turns: tuple[IndexedTurn, ...] = ()
    removed_records: tuple[int, ...] = ()
    removed_turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Candidates of a scope that is too large to load: records with what surrounds them.

    `documents` and `frequencies` are those of the whole scope: its records, and how many hold each word.
    """

    delta: Delta
    documents: int
    frequencies: Mapping[str, int]


@runtime_checkable
class SelectingStore(Protocol):
    """A store that can choose candidates itself."""

    def select(
        self,
        user_id: str,
        terms: Sequence[str],
        vector: Vectors | None,
        statuses: Sequence[Status],
        depth: int,
        reach: int,
    ) -> Selection | None:
        """The `depth` best records of these statuses by words, and by cosine, with all within `reach` turns of them.

        None when the scope is small enough to be loaded whole.
        """


class Store(Protocol):
    """One memory file or database. Every method is safe from many threads; errors are `StoreError`."""

    @property
    def embedder(self) -> str:
        """Identity of the embedder whose vectors the store holds."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    def known_turns(self, scope: Scope, ids: Sequence[str]) -> dict[str, StoredTurn]:
        """Those of `ids` that this very scope already holds."""

    def recent_turns(
        self, scope: Scope, session_id: str, before: datetime, limit: int, roles: Sequence[Role] = tuple(Role)
    ) -> list[StoredTurn]:
        """The last `limit` turns of a session up to `before` by these roles, oldest first."""

    def write(self, batch: Batch) -> Written:
        """Write a batch in one transaction: all of it or nothing."""

    def record(self, record_id: str, user_id: str | None = None) -> MemoryRecord | None:
        """One record, or None when there is none (or it is another user's)."""

    def records_by_key(self, user_id: str, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """Whole records for index entries."""

    def records(
        self,
        user_id: str,
        *,
        agent_id: str | None = None,
        run_id: str | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
        limit: int | None = None,
        offset: int = 0,
    ) -> list[MemoryRecord]:
        """Records of a user in order of arrival."""

    def turns(
        self,
        user_id: str,
        *,
        agent_id: str | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
        ids: Sequence[str] | None = None,
        keys: Sequence[int] | None = None,
        admissions: Sequence[Admission] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[StoredTurn]:
        """Turns of a user by time."""

    def changes_since(self, user_id: str, version: int) -> Delta | None:
        """What changed for a user after `version` (0: everything), or None when nothing did."""

    def delete(self, record_id: str, user_id: str | None = None) -> bool:
        """Delete a record, its vector and log, and source turns that no other record draws on."""

    def delete_all(self, user_id: str, agent_id: str | None = None, run_id: str | None = None) -> int:
        """Delete every turn and record of a user (or of one agent or run); returns the number of records."""

    def update(self, record_id: str, content: str, vector: Vectors, at: datetime, user_id: str | None = None) -> bool:
        """Give a record another text and vector; all else stays, metadata above all. False when there is none."""

    def revisions(self, record_id: str, user_id: str) -> list[Revision]:
        """Updates of a record's text, oldest first."""

    def apply(
        self, user_id: str, changes: Sequence[Change], *, method: str = "", done: Sequence[str] = ()
    ) -> tuple[Change, ...]:
        """Write changes with their effects, and mark the records in `done` as compared, in one transaction.

        Returns the changes applied. One that no longer fits the store (its record is not in state `before`, or what
        replaces it is not active) is skipped.
        """

    def merge(
        self, user_id: str, record: MemoryRecord, vector: Vectors, changes: Sequence[Change]
    ) -> tuple[Change, ...]:
        """Add a merged record and supersede those it merges, all or nothing; empty when one of them has changed."""

    def undo(self, user_id: str, change_id: str, at: datetime) -> tuple[Change, ...]:
        """Take back a change with its effect. Raises `InputError` when there is none or a later one builds on it."""

    def changes(self, user_id: str) -> list[Change]:
        """The consolidation log of a user, oldest first, without what was undone."""

    def undone_changes(self, user_id: str) -> list[tuple[Change, datetime]]:
        """Changes that were undone, with the time of it, in that order."""

    def consolidated(self, user_id: str, method: str) -> frozenset[str]:
        """Ids of the records that this method has compared already."""

    def failures(self, user_id: str) -> list[Failure]:
        """What extraction could not use, oldest first."""

    def counters(self, user_id: str) -> dict[str, int]:
        """Totals over every add of a user."""

    def close(self) -> None:
        """Release the file. A second close does nothing."""
