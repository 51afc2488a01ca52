"""Writing to a memory file: one batch, one transaction, one tick of the user's version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from engrain.runtime.storage import rows
from engrain.runtime.storage.database import Connection
from engrain.runtime.storage.protocol import Batch, Vectors, Written

_COUNT = """
INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT (user_id, name) DO UPDATE SET value = counters.value + excluded.value
"""


def write_batch(connection: Connection, batch: Batch) -> Written:
    """Write turns, records, vectors, failures and counters inside a writing transaction."""
    version = tick(connection, batch.scope.user_id)
    keys, duplicates = _write_turns(connection, version, batch)
    record_ids = _write_records(connection, version, batch, keys, duplicates)
    _write_failures(connection, batch)
    admissions = Counter(new.admission.value for new in batch.turns if new.turn.id in keys)
    totals = {**batch.counters, **admissions, "turns": len(keys), "records": len(record_ids)}
    _count(connection, batch.scope.user_id, totals)
    return Written(tuple(keys), duplicates, record_ids)


def owner(connection: Connection, record_id: str, user_id: str | None) -> str | None:
    """Whose a record is; None when there is none, or it is another user's."""
    where, values = rows.condition({"id": record_id, "user_id": user_id})
    found = connection.execute(f"SELECT user_id FROM records WHERE {where}", values).fetchone()
    return None if found is None else str(found[0])


def update_text(
    connection: Connection, version: int, user_id: str, record_id: str, content: str, at: datetime, vector: Vectors
) -> bool:
    """Give a record another text and vector, and keep what it was. False when it is gone. After `tick`."""
    sql = "SELECT key, content FROM records WHERE id = ? AND user_id = ?"
    found = connection.execute(sql, (record_id, user_id)).fetchone()
    if found is None:
        return False
    key, before = found
    # Superseded spans are places in the text that was; in another text they would mark other words.
    sql = "UPDATE records SET content = ?, superseded_spans = '[]', updated_at = ?, version = ? WHERE key = ?"
    connection.execute(sql, (content, at.isoformat(), version, key))
    connection.execute("DELETE FROM consolidated WHERE user_id = ? AND record_id = ?", (user_id, record_id))
    sql = "UPDATE vectors SET vector = ? WHERE record_key = ?"
    connection.execute(sql, (connection.stored_vector(vector), key))
    sql = "INSERT INTO revisions (user_id, record_id, before, after, at) VALUES (?, ?, ?, ?, ?)"
    connection.execute(sql, (user_id, record_id, before, content, at.isoformat()))
    return True


def tick(connection: Connection, user_id: str) -> int:
    """Advance the user's version, inside a writing transaction. Until its end no other writes to this user."""
    sql = (
        "INSERT INTO scopes (user_id, version) VALUES (?, 1) "
        "ON CONFLICT (user_id) DO UPDATE SET version = scopes.version + 1 RETURNING version"
    )
    return int(connection.execute(sql, (user_id,)).fetchone()[0])


def _write_turns(connection: Connection, version: int, batch: Batch) -> tuple[dict[str, int], tuple[str, ...]]:
    """Keys of the new turns by id, and the ids that were there already (another process may have been faster)."""
    present = _present(connection, batch)
    fresh = {new.turn.id: new for new in batch.turns if new.turn.id not in present}
    keys = dict(zip(fresh, connection.next_keys("turns", len(fresh)), strict=True))
    values = [(keys[turn_id], *rows.turn_values(batch.scope, version, new)) for turn_id, new in fresh.items()]
    connection.executemany(rows.INSERT_TURN, values)
    return keys, tuple(new.turn.id for new in batch.turns if new.turn.id in present)


def _write_records(
    connection: Connection,
    version: int,
    batch: Batch,
    keys: dict[str, int],
    duplicates: tuple[str, ...],
) -> tuple[str, ...]:
    known = set(duplicates)
    wanted = [place for place, record in enumerate(batch.records) if not known.issuperset(record.source_turn_ids)]
    numbers = connection.next_keys("records", len(wanted))
    records = [(key, batch.records[place]) for key, place in zip(numbers, wanted, strict=True)]
    connection.executemany(rows.INSERT_RECORD, [(key, *rows.record_values(version, record)) for key, record in records])
    blobs = [(key, connection.stored_vector(batch.vectors[place])) for key, place in zip(numbers, wanted, strict=True)]
    connection.executemany("INSERT INTO vectors VALUES (?, ?)", blobs)
    sources = [
        (key, position, keys[turn_id])
        for key, record in records
        for position, turn_id in enumerate(record.source_turn_ids)
        if turn_id in keys
    ]
    connection.executemany("INSERT INTO record_sources VALUES (?, ?, ?)", sources)
    return tuple(record.id for _, record in records)


def _present(connection: Connection, batch: Batch) -> set[str]:
    """Ids of the batch's turns that its scope holds already."""
    scope = batch.scope
    sql = (
        "SELECT id FROM turns WHERE user_id = ? AND ifnull(agent_id, '') = ? AND ifnull(run_id, '') = ? "
        "AND id IN (SELECT value FROM json_each(?))"
    )
    names = rows.as_json([new.turn.id for new in batch.turns])
    return {row[0] for row in connection.execute(sql, (scope.user_id, scope.agent_id or "", scope.run_id or "", names))}


def _write_failures(connection: Connection, batch: Batch) -> None:
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


def _count(connection: Connection, user_id: str, totals: Mapping[str, int]) -> None:
    connection.executemany(_COUNT, [(user_id, name, value) for name, value in totals.items()])
