"""The tables of the ledger file. What was bought is append-only: triggers refuse to change or delete it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from engrain.runtime.errors import StoreError

# "EnLg": tells a ledger from any other SQLite file.
APPLICATION_ID = 0x456E4C67
FORMAT_VERSION = 1
BUSY_TIMEOUT_S = 60.0
# A batch whose last event is one of these is over: its answers, if any, are booked.
CLOSED_EVENTS = ("collected", "abandoned")
APPEND_ONLY = ("answers", "attempts", "batch_items", "batch_events")

TABLES = """
-- Answers that count as done. One a request and endpoint.
CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    request_hash TEXT NOT NULL, endpoint TEXT NOT NULL, endpoint_name TEXT NOT NULL,
    stage TEXT NOT NULL, teacher TEXT NOT NULL, run TEXT NOT NULL, mode TEXT NOT NULL,
    model TEXT NOT NULL, text TEXT NOT NULL, finish_reason TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, usage_reported INTEGER NOT NULL,
    cost_usd TEXT, latency_s REAL NOT NULL, created_at TEXT NOT NULL,
    UNIQUE (request_hash, endpoint)
);
-- What did not end in a stored answer: failures, calls lost with their process, second copies. `raw` keeps a body
-- that could not be read, because it was paid for.
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    request_hash TEXT NOT NULL, endpoint TEXT NOT NULL, endpoint_name TEXT NOT NULL,
    stage TEXT NOT NULL, teacher TEXT NOT NULL, run TEXT NOT NULL,
    outcome TEXT NOT NULL, detail TEXT NOT NULL, raw TEXT,
    prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd TEXT, created_at TEXT NOT NULL
);
-- Working state, not history: calls in flight, with the money reserved for them and the process that sent them.
CREATE TABLE claims (
    request_hash TEXT NOT NULL, endpoint TEXT NOT NULL, endpoint_name TEXT NOT NULL,
    stage TEXT NOT NULL, teacher TEXT NOT NULL, run TEXT NOT NULL,
    owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
    reserved_usd TEXT NOT NULL, expires_at REAL NOT NULL,
    PRIMARY KEY (request_hash, endpoint)
) WITHOUT ROWID;
CREATE INDEX claims_by_run ON claims (run);
-- Working state too: which process moves the batches of an endpoint forward.
CREATE TABLE leases (
    name TEXT PRIMARY KEY, owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE batch_items (
    batch TEXT NOT NULL, request_hash TEXT NOT NULL, endpoint TEXT NOT NULL, endpoint_name TEXT NOT NULL,
    stage TEXT NOT NULL, teacher TEXT NOT NULL, run TEXT NOT NULL,
    PRIMARY KEY (batch, request_hash)
) WITHOUT ROWID;
CREATE INDEX batch_items_by_request ON batch_items (request_hash, endpoint);
-- The last event of a batch is its state; `endpoint` also names the model that the batch is for.
CREATE TABLE batch_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    batch TEXT NOT NULL, endpoint TEXT NOT NULL, run TEXT NOT NULL,
    event TEXT NOT NULL, detail TEXT NOT NULL, reserved_usd TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE INDEX batch_events_by_batch ON batch_events (batch, id);
"""


def connect(path: Path | None) -> sqlite3.Connection:
    """Open or create a ledger file; None is a ledger in memory. `StoreError` when the file is something else."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        connection = sqlite3.connect(
            path or ":memory:", isolation_level=None, timeout=BUSY_TIMEOUT_S, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise StoreError(f"{path}: cannot be opened as a ledger: {error}") from error
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        _prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise StoreError(f"{path}: cannot be opened as a ledger: {error}") from error
    except StoreError:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path | None) -> None:
    connection.execute("BEGIN IMMEDIATE")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    identity = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if tables == 0:
        for statement in _statements():
            connection.execute(statement)
    elif identity != APPLICATION_ID:
        raise StoreError(f"{path}: an SQLite file, but not a ledger; name another file")
    elif version != FORMAT_VERSION:
        raise StoreError(
            f"{path}: ledger format {version}, this Engrain reads {FORMAT_VERSION}; use the one that wrote it"
        )
    connection.execute("COMMIT")


def _statements() -> list[str]:
    statements = [statement for statement in TABLES.split(";\n") if statement.strip()]
    for table in APPEND_ONLY:
        for action in ("UPDATE", "DELETE"):
            statements.append(
                f"CREATE TRIGGER {table}_no_{action.lower()} BEFORE {action} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            )
    statements.append(f"PRAGMA application_id = {APPLICATION_ID}")
    statements.append(f"PRAGMA user_version = {FORMAT_VERSION}")
    return statements
