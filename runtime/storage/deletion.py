"""Deleting from a memory file, and what is left so that indexes in other processes notice."""

from __future__ import annotations

from engrain.runtime.storage.database import Connection
from engrain.runtime.storage.rows import condition

KEPT_TOMBSTONES = 10_000
"""A user's latest deletions. An index older than the oldest kept one is built again."""

_ORPHANS = """
SELECT own.turn_key FROM record_sources own WHERE own.record_key = ? AND NOT EXISTS (
    SELECT 1 FROM record_sources other WHERE other.turn_key = own.turn_key AND other.record_key <> ?
)
"""
_LOGS = ("changes", "undone_changes", "revisions", "consolidated")


def delete_record(connection: Connection, version: int, user_id: str, record_id: str) -> bool:
    """Delete one record, its vector, its log entries, and the source turns that no other record draws on.

    False when it is gone. After `tick`, so that nobody else deletes it meanwhile.
    """
    sql = "SELECT key FROM records WHERE id = ? AND user_id = ?"
    found = connection.execute(sql, (record_id, user_id)).fetchone()
    if found is None:
        return False
    key = found[0]
    orphans = connection.execute(_ORPHANS, (key, key)).fetchall()
    connection.execute("DELETE FROM records WHERE key = ?", (key,))
    for log in _LOGS:
        connection.execute(f"DELETE FROM {log} WHERE user_id = ? AND record_id = ?", (user_id, record_id))
    connection.executemany("DELETE FROM turns WHERE key = ?", orphans)
    buried = [(version, user_id, "record", key), *((version, user_id, "turn", orphan) for (orphan,) in orphans)]
    connection.executemany("INSERT INTO tombstones VALUES (?, ?, ?, ?)", buried)
    _trim(connection, user_id)
    return True


def delete_scope(connection: Connection, version: int, user_id: str, agent_id: str | None, run_id: str | None) -> int:
    """Delete all of a user, or of one agent or run of that user; returns the number of records."""
    narrowed = agent_id is not None or run_id is not None
    where, values = condition({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
    for log in _LOGS:
        sql = f"DELETE FROM {log} WHERE user_id = ? AND record_id IN (SELECT id FROM records WHERE {where})"
        connection.execute(sql, (user_id, *values))
    deleted = connection.execute(f"DELETE FROM records WHERE {where}", values).rowcount
    connection.execute(f"DELETE FROM turns WHERE {where}", values)
    connection.execute(f"DELETE FROM failures WHERE {where}", values)
    if not narrowed:
        connection.execute("DELETE FROM counters WHERE user_id = ?", (user_id,))
    connection.execute("DELETE FROM tombstones WHERE user_id = ?", (user_id,))
    connection.execute("UPDATE scopes SET horizon = ? WHERE user_id = ?", (version, user_id))
    return deleted


def tombstones(connection: Connection, user_id: str, version: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Keys of records and of turns deleted after `version`."""
    sql = "SELECT kind, key FROM tombstones WHERE user_id = ? AND version > ?"
    found = connection.execute(sql, (user_id, version)).fetchall()
    records = tuple(key for kind, key in found if kind == "record")
    return records, tuple(key for kind, key in found if kind == "turn")


def _trim(connection: Connection, user_id: str) -> None:
    sql = "SELECT version FROM tombstones WHERE user_id = ? ORDER BY version DESC LIMIT 1 OFFSET ?"
    oldest = connection.execute(sql, (user_id, KEPT_TOMBSTONES)).fetchone()
    if oldest is not None:
        connection.execute("DELETE FROM tombstones WHERE user_id = ? AND version <= ?", (user_id, oldest[0]))
        connection.execute("UPDATE scopes SET horizon = ? WHERE user_id = ?", (oldest[0], user_id))
