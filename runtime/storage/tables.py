"""The tables of a memory file, its identity, and the checks when it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from engrain.runtime.errors import StoreError

SCHEMA_VERSION = 1
APPLICATION_ID = 0x456E6772
"""'Engr' in ASCII, in the file's header: tells a memory file from any other SQLite file."""

# `key` columns are AUTOINCREMENT so that a key is never given twice, not even after a delete.
# `version` columns hold the clock's value at the last write of the row; tombstones stand for deleted rows, and
# `scopes.horizon` is the version before which tombstones were not kept (an older index starts again).
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);
INSERT INTO clock VALUES (1, 0);
CREATE TABLE scopes (
    user_id TEXT PRIMARY KEY, version INTEGER NOT NULL, horizon INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE turns (
    key INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL,
    user_id TEXT NOT NULL, agent_id TEXT, run_id TEXT,
    id TEXT NOT NULL, session_id TEXT NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL, text TEXT NOT NULL,
    timestamp TEXT NOT NULL, moment REAL NOT NULL, admission TEXT NOT NULL, gate_probability REAL,
    metadata TEXT NOT NULL
);
CREATE UNIQUE INDEX turn_identity ON turns (user_id, ifnull(agent_id, ''), ifnull(run_id, ''), id);
CREATE INDEX turn_order ON turns (user_id, session_id, moment, key);
CREATE INDEX turn_version ON turns (user_id, version);
CREATE TABLE records (
    key INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL, id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL, agent_id TEXT, run_id TEXT,
    content TEXT NOT NULL, memory_type TEXT, time TEXT NOT NULL, location TEXT NOT NULL, reason TEXT NOT NULL,
    purpose TEXT NOT NULL, keywords TEXT NOT NULL, event_start TEXT, event_end TEXT,
    source_time TEXT NOT NULL, source_speaker TEXT NOT NULL, ingest_time TEXT NOT NULL,
    status TEXT NOT NULL, superseded_spans TEXT NOT NULL, links TEXT NOT NULL,
    extractor TEXT NOT NULL, embedder TEXT NOT NULL, metadata TEXT NOT NULL
);
CREATE INDEX record_version ON records (user_id, version);
CREATE INDEX record_status ON records (user_id, status, key);
CREATE TABLE vectors (
    record_key INTEGER PRIMARY KEY REFERENCES records (key) ON DELETE CASCADE, vector BLOB NOT NULL
);
CREATE TABLE record_sources (
    record_key INTEGER NOT NULL REFERENCES records (key) ON DELETE CASCADE, position INTEGER NOT NULL,
    turn_key INTEGER NOT NULL REFERENCES turns (key), PRIMARY KEY (record_key, position)
) WITHOUT ROWID;
CREATE INDEX source_turn ON record_sources (turn_key);
CREATE TABLE changes (
    key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL,
    record_id TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX change_record ON changes (user_id, record_id);
CREATE TABLE failures (
    key INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, agent_id TEXT, run_id TEXT,
    session_id TEXT NOT NULL, reason TEXT NOT NULL, raw TEXT NOT NULL, extractor TEXT NOT NULL
);
CREATE INDEX failure_user ON failures (user_id);
CREATE TABLE counters (
    user_id TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (user_id, name)
) WITHOUT ROWID;
CREATE TABLE tombstones (
    version INTEGER NOT NULL, user_id TEXT NOT NULL, kind TEXT NOT NULL, key INTEGER NOT NULL
);
CREATE INDEX tombstone_version ON tombstones (user_id, version);
"""


def prepare(connection: sqlite3.Connection, path: Path, embedder: str, dimension: int) -> None:
    """Create the tables of an empty file. Inside a writing transaction, so that of two processes one creates them."""
    if has_tables(connection):
        check_identity(connection, path, embedder, dimension)
    else:
        _create(connection, embedder, dimension)


def has_tables(connection: sqlite3.Connection) -> bool:
    """Whether the file holds anything."""
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def check_identity(connection: sqlite3.Connection, path: Path, embedder: str, dimension: int) -> None:
    """Raises `StoreError` unless this program and this embedder can use the file; names both embedders."""
    check_version(connection, path)
    stored = stored_embedder(connection)
    if stored != (embedder, dimension):
        name, length = stored or ("unknown", 0)
        raise StoreError(
            f"{path} holds vectors of the embedder '{name}' ({length} dimensions); it was opened with "
            f"'{embedder}' ({dimension} dimensions): open it with the first, or start another file"
        )


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raises `StoreError` unless the file is a memory file of this schema version."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(f"{path} is a SQLite file of another program; give another path")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        advice = "update Engrain" if version > SCHEMA_VERSION else "the file is damaged or was made by a trial version"
        raise StoreError(f"{path} has schema version {version}; this Engrain reads {SCHEMA_VERSION}: {advice}")


def stored_embedder(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Identity and dimension of the vectors in a prepared file."""
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    return (meta["embedder"], int(meta["dimension"])) if "embedder" in meta else None


def _create(connection: sqlite3.Connection, embedder: str, dimension: int) -> None:
    for statement in _TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("embedder", embedder), ("dimension", str(dimension))])
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
