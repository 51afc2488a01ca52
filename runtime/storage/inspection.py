"""Is a memory file sound? What `engrain doctor --store` runs."""

from __future__ import annotations

from pathlib import Path

from engrain.runtime.errors import StoreError
from engrain.runtime.storage.database import Reader
from engrain.runtime.storage.files import check_header, is_address, read_only
from engrain.runtime.storage.migrations import SCHEMA_VERSION
from engrain.runtime.storage.tables import check_version, stored_embedder

_QUESTIONS = {
    "records without a vector": "SELECT count(*) FROM records WHERE key NOT IN (SELECT record_key FROM vectors)",
    "records of another embedder": "SELECT count(*) FROM records WHERE embedder <> ?",
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
    """Everything that is wrong with a memory file or database, in words; empty when it is sound. Changes nothing.

    Raises `StoreError` when there is no such store or it is not of this version.
    """
    if is_address(path):
        return _inspect_database(str(path))
    path = Path(path)
    if not path.exists():
        raise StoreError(f"there is no memory file {path}")
    if not path.is_file():
        raise StoreError(f"{path} is not a file; give a memory file")
    check_header(path)
    with read_only(path) as connection:
        version = check_version(connection, path)
        if version < SCHEMA_VERSION:
            raise StoreError(
                f"{path} has schema version {version}; open it once with this Engrain to bring it to {SCHEMA_VERSION}"
            )
        identity = stored_embedder(connection)
        lengths = _other_lengths(connection, identity[1]) if identity else []
        return [*_damage(connection), *lengths, *_contradictions(connection, identity)]


def _inspect_database(address: str) -> list[str]:
    """PostgreSQL looks after its own pages, references and lengths of vectors."""
    from engrain.runtime.storage.postgres import open_stored

    store = open_stored(address)
    try:
        with store.database.reading() as connection:
            return _contradictions(connection, (store.embedder, store.dimension))
    finally:
        store.close()


def _damage(connection: Reader) -> list[str]:
    damage = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    return damage + ([f"{len(broken)} rows refer to rows that are not there"] if broken else [])


def _other_lengths(connection: Reader, dimension: int) -> list[str]:
    sql = "SELECT count(*) FROM vectors WHERE length(vector) <> 4 * ?"
    [count] = connection.execute(sql, (dimension,)).fetchone()
    return [f"{count} vectors of another length"] if count else []


def _contradictions(connection: Reader, identity: tuple[str, int] | None) -> list[str]:
    if identity is None:
        return ["the file does not say which embedder made its vectors"]
    counts = {
        label: connection.execute(sql, identity[:1] if "?" in sql else ()).fetchone()[0]
        for label, sql in _QUESTIONS.items()
    }
    return [f"{count} {label}" for label, count in counts.items() if count]
