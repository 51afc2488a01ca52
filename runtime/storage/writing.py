"""Writing to a memory file: one batch, one transaction, one tick of the file's clock."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from typing import TypeVar

from engrain.runtime.schema import Change
from engrain.runtime.storage import rows
from engrain.runtime.storage.protocol import Batch, Revision, Vectors, Written

Name = TypeVar("Name", str, int)

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
    # Superseded spans are places in the text that was; in another text they would mark other words.
    sql = "UPDATE records SET content = ?, superseded_spans = '[]', updated_at = ?, version = ? WHERE key = ?"
    connection.execute(sql, (revision.after, at, version, key))
    connection.execute("UPDATE vectors SET vector = ? WHERE record_key = ?", (rows.vector_bytes(vector), key))
    sql = "INSERT INTO revisions (user_id, record_id, before, after, at) VALUES (?, ?, ?, ?, ?)"
    connection.execute(sql, (user_id, revision.record_id, revision.before, revision.after, at))


def tick(connection: sqlite3.Connection, user_id: str) -> int:
    """Advance the file's clock and the user's version, inside a writing transaction."""
    version = int(connection.execute("UPDATE clock SET version = version + 1 RETURNING version").fetchone()[0])
    sql = "INSERT INTO scopes (user_id, version) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE SET version = ?"
    connection.execute(sql, (user_id, version, version))
    return version


def _write_turns(connection: sqlite3.Connection, version: int, batch: Batch) -> tuple[dict[str, int], tuple[str, ...]]:
    """Keys of the new turns by id, and the ids that were there already (another process may have been faster)."""
    present = _present(connection, batch)
    fresh = {new.turn.id: new for new in batch.turns if new.turn.id not in present}
    keys = _next_keys(connection, "turns", fresh)
    values = [(keys[turn_id], *rows.turn_values(batch.scope, version, new)) for turn_id, new in fresh.items()]
    connection.executemany(rows.INSERT_TURN, values)
    return keys, tuple(new.turn.id for new in batch.turns if new.turn.id in present)


def _write_records(
    connection: sqlite3.Connection,
    version: int,
    batch: Batch,
    keys: dict[str, int],
    duplicates: tuple[str, ...],
) -> tuple[str, ...]:
    known = set(duplicates)
    wanted = [place for place, record in enumerate(batch.records) if not known.issuperset(record.source_turn_ids)]
    numbers = _next_keys(connection, "records", wanted)
    records = [(numbers[place], batch.records[place]) for place in wanted]
    connection.executemany(rows.INSERT_RECORD, [(key, *rows.record_values(version, record)) for key, record in records])
    blobs = [(numbers[place], rows.vector_bytes(batch.vectors[place])) for place in wanted]
    connection.executemany("INSERT INTO vectors VALUES (?, ?)", blobs)
    sources = [
        (key, position, keys[turn_id])
        for key, record in records
        for position, turn_id in enumerate(record.source_turn_ids)
        if turn_id in keys
    ]
    connection.executemany("INSERT INTO record_sources VALUES (?, ?, ?)", sources)
    return tuple(record.id for _, record in records)


def _present(connection: sqlite3.Connection, batch: Batch) -> set[str]:
    """Ids of the batch's turns that its scope holds already."""
    scope = batch.scope
    sql = (
        "SELECT id FROM turns WHERE user_id = ? AND ifnull(agent_id, '') = ? AND ifnull(run_id, '') = ? "
        "AND id IN (SELECT value FROM json_each(?))"
    )
    names = rows.as_json([new.turn.id for new in batch.turns])
    return {row[0] for row in connection.execute(sql, (scope.user_id, scope.agent_id or "", scope.run_id or "", names))}


def _next_keys(connection: sqlite3.Connection, table: str, names: Iterable[Name]) -> dict[Name, int]:
    """Keys that no row of the table has or ever had. The write lock is held, so nobody else takes them."""
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return dict(zip(names, count((last[0] if last else 0) + 1)))


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
