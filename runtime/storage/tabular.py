"""A store over tables, whichever database holds them: every fact a row, vectors as they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from engrain.runtime.errors import StoreError
from engrain.runtime.schema import Change, MemoryRecord, Role, Scope, Status
from engrain.runtime.storage import changes as log
from engrain.runtime.storage import deletion, rows, writing
from engrain.runtime.storage.database import Connection, Database
from engrain.runtime.storage.protocol import (
    Admission,
    Batch,
    Delta,
    Failure,
    Revision,
    StoredTurn,
    Vectors,
    Written,
)


class TabularStore:
    """A `Store` whose tables are those of `migrations`."""

    def __init__(self, database: Database, embedder: str, dimension: int) -> None:
        self.database = database
        self._embedder = embedder
        self._dimension = dimension

    @property
    def embedder(self) -> str:
        """Identity of the embedder whose vectors the file holds."""
        return self._embedder

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def known_turns(self, scope: Scope, ids: Sequence[str]) -> dict[str, StoredTurn]:
        """Those of `ids` that this very scope already holds."""
        sql = (
            f"SELECT {rows.TURN_COLUMNS} FROM turns WHERE user_id = ? AND ifnull(agent_id, '') = ? "
            "AND ifnull(run_id, '') = ? AND id IN (SELECT value FROM json_each(?))"
        )
        values = (scope.user_id, scope.agent_id or "", scope.run_id or "", rows.as_json(list(ids)))
        with self.database.reading() as connection:
            found = [rows.stored_turn(row) for row in connection.execute(sql, values)]
        return {stored.turn.id: stored for stored in found}

    def recent_turns(
        self, scope: Scope, session_id: str, before: datetime, limit: int, roles: Sequence[Role] = tuple(Role)
    ) -> list[StoredTurn]:
        """The last `limit` turns of a session up to `before` by these roles, oldest first."""
        sql = (
            f"SELECT {rows.TURN_COLUMNS} FROM turns WHERE user_id = ? AND session_id = ? AND agent_id IS ? "
            "AND run_id IS ? AND moment <= ? AND role IN (SELECT value FROM json_each(?)) "
            "ORDER BY moment DESC, key DESC LIMIT ?"
        )
        names, latest = rows.as_json([*map(str, roles)]), before.timestamp()
        values = (scope.user_id, session_id, scope.agent_id, scope.run_id, latest, names, limit)
        with self.database.reading() as connection:
            return [rows.stored_turn(row) for row in connection.execute(sql, values)][::-1]

    def write(self, batch: Batch) -> Written:
        """Write a batch in one transaction: all of it or nothing."""
        self._check_vectors(batch.vectors, len(batch.records))
        with self.database.writing() as connection:
            self._check_embedder(connection)
            return writing.write_batch(connection, batch)

    def record(self, record_id: str, user_id: str | None = None) -> MemoryRecord | None:
        """One record, or None when there is none (or it is another user's)."""
        found = self._records({"id": record_id, "user_id": user_id})
        return next(iter(found.values()), None)

    def records_by_key(self, user_id: str, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """Whole records for index entries."""
        return self._records({"user_id": user_id, "key": list(keys)})

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
        terms = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "status": [*map(str, statuses)]}
        return list(self._records(terms, limit, offset).values())

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
        where, values = rows.condition(
            {
                "user_id": user_id,
                "agent_id": agent_id,
                "run_id": run_id,
                "session_id": session_id,
                "id": None if ids is None else list(ids),
                "key": None if keys is None else list(keys),
                "admission": None if admissions is None else [*map(str, admissions)],
            }
        )
        sql = f"SELECT {rows.TURN_COLUMNS} FROM turns WHERE {where} ORDER BY moment, key LIMIT ? OFFSET ?"
        with self.database.reading() as connection:
            found = connection.execute(sql, (*values, -1 if limit is None else limit, offset))
            return [rows.stored_turn(row) for row in found]

    def changes_since(self, user_id: str, version: int) -> Delta | None:
        """What changed for a user after `version` (0: everything), or None when nothing did."""
        with self.database.reading() as connection:
            sql = "SELECT version, horizon FROM scopes WHERE user_id = ?"
            current, horizon = connection.execute(sql, (user_id,)).fetchone() or (0, 0)
            if current == version:
                return None
            self._check_embedder(connection)
            restart = version == 0 or version < horizon
            scope = (user_id, 0 if restart else version)
            found = connection.execute(rows.INDEXED_RECORD, scope).fetchall()
            times = rows.source_times(connection, user_id, rows.replacing_ids(found))
            records = tuple(rows.indexed_record(row, times) for row in found)
            vectors = rows.stacked_vectors(found, self._dimension)
            turns = tuple(map(rows.indexed_turn, connection.execute(rows.INDEXED_TURN, scope)))
            if restart:
                return Delta(current, vectors, True, records, turns)
            gone_records, gone_turns = deletion.tombstones(connection, user_id, version)
        return Delta(current, vectors, False, records, turns, gone_records, gone_turns)

    def delete(self, record_id: str, user_id: str | None = None) -> bool:
        """Delete a record, its vector and log, and source turns that no other record draws on."""
        with self.database.writing() as connection:
            owner = writing.owner(connection, record_id, user_id)
            if owner is None:
                return False
            return deletion.delete_record(connection, writing.tick(connection, owner), owner, record_id)

    def delete_all(self, user_id: str, agent_id: str | None = None, run_id: str | None = None) -> int:
        """Delete every turn and record of a user (or of one agent or run); returns the number of records."""
        with self.database.writing() as connection:
            return deletion.delete_scope(connection, writing.tick(connection, user_id), user_id, agent_id, run_id)

    def update(self, record_id: str, content: str, vector: Vectors, at: datetime, user_id: str | None = None) -> bool:
        """Give a record another text and vector; all else stays, metadata above all. False when there is none."""
        self._check_vectors(vector[None, :], 1)
        with self.database.writing() as connection:
            self._check_embedder(connection)
            owner = writing.owner(connection, record_id, user_id)
            if owner is None:
                return False
            version = writing.tick(connection, owner)
            return writing.update_text(connection, version, owner, record_id, content, at, vector)

    def revisions(self, record_id: str, user_id: str) -> list[Revision]:
        """Updates of a record's text, oldest first."""
        sql = "SELECT record_id, before, after, at FROM revisions WHERE user_id = ? AND record_id = ? ORDER BY key"
        with self.database.reading() as connection:
            found = connection.execute(sql, (user_id, record_id)).fetchall()
        return [Revision(name, before, after, datetime.fromisoformat(at)) for name, before, after, at in found]

    def apply(
        self, user_id: str, changes: Sequence[Change], *, method: str = "", done: Sequence[str] = ()
    ) -> tuple[Change, ...]:
        """Write changes with their effects, and mark the records in `done` as compared, in one transaction.

        Returns the changes applied. One that no longer fits the store (its record is not in state `before`, or what
        replaces it is not active) is skipped.
        """
        with self.database.writing() as connection:
            version = writing.tick(connection, user_id)
            applied = tuple(change for change in changes if log.apply_change(connection, version, user_id, change))
            log.mark(connection, user_id, method, done)
        return applied

    def merge(
        self, user_id: str, record: MemoryRecord, vector: Vectors, changes: Sequence[Change]
    ) -> tuple[Change, ...]:
        """Add a merged record and supersede those it merges, all or nothing; empty when one of them has changed."""
        with self.database.writing() as connection:
            version = writing.tick(connection, user_id)
            merged = [change.record_id for change in changes]
            if any(self._status(connection, user_id, name) != Status.ACTIVE.value for name in merged):
                return ()
            turns = log.source_turns(connection, user_id, merged)
            log.insert_merged(connection, version, record, vector, turns)
            return tuple(change for change in changes if log.apply_change(connection, version, user_id, change))

    def undo(self, user_id: str, change_id: str, at: datetime) -> tuple[Change, ...]:
        """Take back a change with its effect. Raises `InputError` when there is none or a later one builds on it."""
        with self.database.writing() as connection:
            return tuple(log.undo(connection, writing.tick(connection, user_id), user_id, change_id, at))

    def changes(self, user_id: str) -> list[Change]:
        """The consolidation log of a user, oldest first, without what was undone."""
        with self.database.reading() as connection:
            return log.read(connection, user_id)

    def undone_changes(self, user_id: str) -> list[tuple[Change, datetime]]:
        """Changes that were undone, with the time of it, in that order."""
        with self.database.reading() as connection:
            return log.read_undone(connection, user_id)

    def consolidated(self, user_id: str, method: str) -> frozenset[str]:
        """Ids of the records that this method has compared already."""
        with self.database.reading() as connection:
            return log.marked(connection, user_id, method)

    def _status(self, connection: Connection, user_id: str, record_id: str) -> str | None:
        sql = "SELECT status FROM records WHERE id = ? AND user_id = ?"
        found = connection.execute(sql, (record_id, user_id)).fetchone()
        return None if found is None else str(found[0])

    def failures(self, user_id: str) -> list[Failure]:
        """What extraction could not use, oldest first."""
        sql = "SELECT session_id, reason, raw, extractor FROM failures WHERE user_id = ? ORDER BY key"
        with self.database.reading() as connection:
            return [Failure(*row) for row in connection.execute(sql, (user_id,))]

    def counters(self, user_id: str) -> dict[str, int]:
        """Totals over every add of a user."""
        with self.database.reading() as connection:
            sql = "SELECT name, value FROM counters WHERE user_id = ? ORDER BY name"
            return dict(connection.execute(sql, (user_id,)).fetchall())

    def close(self) -> None:
        """Release the file. A second close does nothing."""
        self.database.close()

    def _records(
        self, terms: Mapping[str, object], limit: int | None = None, offset: int = 0
    ) -> dict[int, MemoryRecord]:
        where, values = rows.condition(terms)
        sql = f"SELECT {rows.RECORD_COLUMNS} FROM records WHERE {where} ORDER BY key LIMIT ? OFFSET ?"
        with self.database.reading() as connection:
            found = connection.execute(sql, (*values, -1 if limit is None else limit, offset)).fetchall()
            sources = rows.source_ids(connection, [row[0] for row in found])
        return {row[0]: rows.memory_record(row, sources.get(row[0], ())) for row in found}

    def _check_vectors(self, vectors: Vectors, count: int) -> None:
        """Raises `StoreError` unless there are `count` finite vectors of the store's length."""
        if vectors.shape != (count, self._dimension):
            raise StoreError(
                f"vectors of shape {vectors.shape} for {count} records; the store's have {self._dimension} entries"
            )
        if not np.isfinite(vectors).all():
            raise StoreError("a vector holds NaN or infinity; nothing was written")

    def _check_embedder(self, connection: Connection) -> None:
        """Raises `StoreError` when the vectors were made again with another embedder since the store was opened."""
        [stored] = connection.execute("SELECT value FROM meta WHERE name = 'embedder'").fetchone()
        if stored != self._embedder:
            raise StoreError(
                f"the vectors are those of '{stored}' now, not of '{self._embedder}'; open the store again"
            )
