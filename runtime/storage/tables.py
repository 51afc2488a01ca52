"""A memory file's identity and version: made when it is created, checked when it is opened."""

from __future__ import annotations

from pathlib import Path

from engrain.runtime.errors import StoreError
from engrain.runtime.storage.database import Connection, Reader
from engrain.runtime.storage.files import APPLICATION_ID
from engrain.runtime.storage.migrations import SCHEMA_VERSION, migrate


def prepare(connection: Connection, path: Path, embedder: str, dimension: int) -> None:
    """Create the tables of an empty file, or bring an older one up to date.

    Inside a writing transaction, so that of two processes one does it.
    """
    if not has_tables(connection):
        _create(connection, embedder, dimension)
        return
    version = check_version(connection, path)
    _check_embedder(connection, path, embedder, dimension)
    if version < SCHEMA_VERSION:
        migrate(connection, version)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def is_ready(connection: Reader, path: Path, embedder: str, dimension: int) -> bool:
    """Whether nothing is left to `prepare`.

    Raises `StoreError` unless this program and this embedder can use the file; names both embedders.
    """
    if not has_tables(connection):
        return False
    version = check_version(connection, path)
    _check_embedder(connection, path, embedder, dimension)
    return version == SCHEMA_VERSION


def has_tables(connection: Reader) -> bool:
    """Whether the file holds anything."""
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def check_version(connection: Reader, path: Path) -> int:
    """The file's schema version. Raises `StoreError` for a file of another program or of a newer version."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(f"{path} is a SQLite file of another program; give another path")
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}; this Engrain reads up to {SCHEMA_VERSION}: update Engrain"
        )
    if version < 1:
        raise StoreError(f"{path} has schema version {version}: the file is damaged or was made by a trial version")
    return version


def stored_embedder(connection: Reader) -> tuple[str, int] | None:
    """Identity and dimension of the vectors in a prepared file."""
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    return (meta["embedder"], int(meta["dimension"])) if "embedder" in meta else None


def _check_embedder(connection: Reader, path: Path, embedder: str, dimension: int) -> None:
    stored = stored_embedder(connection)
    if stored != (embedder, dimension):
        name, length = stored or ("unknown", 0)
        raise StoreError(
            f"{path} holds vectors of the embedder '{name}' ({length} dimensions); it was opened with "
            f"'{embedder}' ({dimension} dimensions): open it with the first, start another file, or make its vectors "
            "again with `engrain memory reembed`"
        )


def _create(connection: Connection, embedder: str, dimension: int) -> None:
    migrate(connection, 0)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("embedder", embedder), ("dimension", str(dimension))])
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
