"""Writing to a memory file: one batch, one transaction, one tick of the file's clock."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping

from engrain.runtime.schema import Change
from engrain.runtime.storage import rows
from engrain.runtime.storage.protocol import Batch, Revision, Vectors, Written

_COUNT = """
INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT (user_id, name) DO UPDATE SET value = value + excluded.value
"""


def write_batch(connection: sqlite3.Connection, batch: Batch) -> Written:
    """Write turns, records, vectors, failures and counters inside a writing transaction."""
    version = tick(connection, batch.scope.user_id)
    keys, duplicates = _write_turns(connection, version, batch)
    record_ids = _write_records(connection, version, batch, keys, duplicates)
    _write_failures(connection, batch)
    admissions = Counter(new.admission.value for new in batch.turns if new.turn.id in keys)
    totals = {**batch.counters, **admissions, "turns": len(keys), "records": len(record_ids)}
    _count(connection, batch.scope.user_id, totals)
    return Written(tuple(keys), duplicates, record_ids)


def apply_change(connection: sqlite3.Connection, version: int, user_id: str, change: Change) -> bool:
    """Set one record's status and log it, unless the record is gone or no longer in state `before`."""
    sql = "UPDATE records SET status = ?, version = ? WHERE id = ? AND user_id = ? AND status = ?"
    values = (change.after.value, version, change.record_id, user_id, change.before.value)
    if not connection.execute(sql, values).rowcount:
        return False
    sql = "INSERT INTO changes (id, user_id, record_id, body) VALUES (?, ?, ?, ?)"
    connection.execute(sql, (change.id, user_id, change.record_id, change.model_dump_json()))
    return True


def update_text(
    connection: sqlite3.Connection, version: int, user_id: str, key: int, revision: Revision, vector: Vectors
) -> None:
    """Give a record another text and vector, and keep what it was."""
    at = revision.at.isoformat()
    sql = "UPDATE records SET content = ?, updated_at = ?, version = ? WHERE key = ?"
    connection.execute(sql, (revision.after, at, version, key))
    connection.execute("UPDATE vectors SET vector = ? WHERE record_key = ?", (rows.vector_bytes(vector), key))
    sql = "INSERT INTO revisions (user_id, record_id, before, after, at) VALUES (?, ?, ?, ?, ?)"
    connection.execute(sql, (user_id, revision.record_id, revision.before, revision.after, at))


def tick(connection: sqlite3.Connection, user_id: str) -> int:
    """Advance the file's clock and the user's version, inside a writing transaction."""
    connection.execute("UPDATE clock SET version = version + 1")
    version = int(connection.execute("SELECT version FROM clock").fetchone()[0])
    sql = "INSERT INTO scopes (user_id, version) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE SET version = ?"
    connection.execute(sql, (user_id, version, version))
    return version


def _write_turns(connection: sqlite3.Connection, version: int, batch: Batch) -> tuple[dict[str, int], tuple[str, ...]]:
    """Keys of the new turns by id, and the ids that were there already (another process may have been faster)."""
    keys: dict[str, int] = {}
    duplicates: list[str] = []
    for new in batch.turns:
        cursor = connection.execute(rows.INSERT_TURN, rows.turn_values(batch.scope, version, new))
        if cursor.rowcount and cursor.lastrowid is not None:
            keys[new.turn.id] = cursor.lastrowid
        else:
            duplicates.append(new.turn.id)
    return keys, tuple(duplicates)


def _write_records(
    connection: sqlite3.Connection,
    version: int,
    batch: Batch,
    keys: dict[str, int],
    duplicates: tuple[str, ...],
) -> tuple[str, ...]:
    written: list[str] = []
    for record, vector in zip(batch.records, batch.vectors, strict=True):
        if all(turn_id in duplicates for turn_id in record.source_turn_ids):
            continue
        key = connection.execute(rows.INSERT_RECORD, rows.record_values(version, record)).lastrowid
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (key, rows.vector_bytes(vector)))
        sources = [(key, position, keys[name]) for position, name in enumerate(record.source_turn_ids) if name in keys]
        connection.executemany("INSERT INTO record_sources VALUES (?, ?, ?)", sources)
        written.append(record.id)
    return tuple(written)


def _write_failures(connection: sqlite3.Connection, batch: Batch) -> None:
    scope = batch.scope
    connection.executemany(
        "INSERT INTO failures (user_id, agent_id, run_id, session_id, reason, raw, extractor) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (scope.user_id, scope.agent_id, scope.run_id, failure.session_id, failure.reason, failure.raw,
             failure.extractor)
            for failure in batch.failures
        ],
    )  # fmt: skip


def _count(connection: sqlite3.Connection, user_id: str, totals: Mapping[str, int]) -> None:
    connection.executemany(_COUNT, [(user_id, name, value) for name, value in totals.items()])
