"""The tables of a memory file, as the ordered steps that brought them about.

A new file goes through all steps; an older file through those that it lacks, in one transaction with whatever opens
it. A step never changes once it is released: add another at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engrain.runtime.storage.database import Connection

# `key` columns are AUTOINCREMENT so that a key is never given twice, not even after a delete.
# `version` columns hold the user's version at the last write of the row; tombstones stand for deleted rows, and
# `scopes.horizon` is the version before which tombstones were not kept (an older index starts again).
_FIRST = """
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

_REVISIONS = """
DROP TABLE clock;
ALTER TABLE records ADD COLUMN updated_at TEXT;
CREATE TABLE revisions (
    key INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, record_id TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, at TEXT NOT NULL
);
CREATE INDEX revision_record ON revisions (user_id, record_id);
"""

_CONSOLIDATION = """
CREATE TABLE undone_changes (
    key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL,
    record_id TEXT NOT NULL, body TEXT NOT NULL, undone_at TEXT NOT NULL
);
CREATE INDEX undone_record ON undone_changes (user_id, record_id);
CREATE TABLE consolidated (
    user_id TEXT NOT NULL, method TEXT NOT NULL, record_id TEXT NOT NULL, PRIMARY KEY (user_id, method, record_id)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: what it brings, its SQL statements, and a function for what SQL alone cannot do, run after them."""

    name: str
    statements: str
    function: Callable[[Connection], None] | None = None


MIGRATIONS: tuple[Migration, ...] = (
    Migration("turns, records, vectors, consolidation log", _FIRST),
    Migration("a record's text can be updated, and what it was is kept", _REVISIONS),
    Migration("changes can be undone; what was consolidated is known", _CONSOLIDATION),
)
"""Step n (from 1) makes schema version n of version n - 1."""

SCHEMA_VERSION = len(MIGRATIONS)


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables from `version` (0: an empty file) to the newest, inside a writing transaction."""
    for step in MIGRATIONS[version:]:
        # `executescript` would commit the transaction, so the statements run one by one.
        for statement in step.statements.split(";"):
            if statement.strip():
                connection.execute(statement)
        if step.function is not None:
            step.function(connection)
