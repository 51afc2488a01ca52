"""Is a memory file sound? What `engrain doctor --store` runs."""

from __future__ import annotations

from pathlib import Path

from engrain.runtime.errors import StoreError
from engrain.runtime.storage.database import Connection
from engrain.runtime.storage.files import check_header, read_only
from engrain.runtime.storage.migrations import SCHEMA_VERSION
from engrain.runtime.storage.tables import check_version, stored_embedder

_QUESTIONS = {
    "records without a vector": "SELECT count(*) FROM records WHERE key NOT IN (SELECT record_key FROM vectors)",
    "vectors of another length": "SELECT count(*) FROM vectors WHERE length(vector) <> 4 * :dimension",
    "records of another embedder": "SELECT count(*) FROM records WHERE embedder <> :embedder",
    "records without a source turn": (
        "SELECT count(*) FROM records WHERE key NOT IN (SELECT record_key FROM record_sources)"
    ),
    "records whose source turn is another user's": (
        "SELECT count(*) FROM record_sources s JOIN records r ON r.key = s.record_key "
        "JOIN turns t ON t.key = s.turn_key WHERE r.user_id <> t.user_id"
    ),
    "users whose rows are newer than their version": (
        "SELECT count(*) FROM scopes s WHERE version < (SELECT max(version) FROM records r WHERE r.user_id = s.user_id)"
    ),
}


def inspect_store(path: str | Path) -> list[str]:
    """Everything that is wrong with a memory file, in words; empty when it is sound. Changes nothing.

    Raises `StoreError` when there is no such file or it is not a memory file of this version.
    """
    path = Path(path)
    if not path.exists():
        raise StoreError(f"there is no memory file {path}")
    check_header(path)
    with read_only(path) as connection:
        version = check_version(connection, path)
        if version < SCHEMA_VERSION:
            raise StoreError(
                f"{path} has schema version {version}; open it once with this Engrain to bring it to {SCHEMA_VERSION}"
            )
        return [*_damage(connection), *_contradictions(connection)]


def _damage(connection: Connection) -> list[str]:
    damage = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    return damage + ([f"{len(broken)} rows refer to rows that are not there"] if broken else [])


def _contradictions(connection: Connection) -> list[str]:
    identity = stored_embedder(connection)
    if identity is None:
        return ["the file does not say which embedder made its vectors"]
    names = {"embedder": identity[0], "dimension": identity[1]}
    counts = {label: connection.execute(sql, names).fetchone()[0] for label, sql in _QUESTIONS.items()}
    return [f"{count} {label}" for label, count in counts.items() if count]
