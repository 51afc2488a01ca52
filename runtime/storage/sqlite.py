"""The embedded store: one SQLite file."""

from __future__ import annotations

from pathlib import Path

from engrain.runtime.errors import StoreError
from engrain.runtime.storage.connections import Connections, SQLiteSettings
from engrain.runtime.storage.files import check_header, read_only
from engrain.runtime.storage.tables import check_version, is_ready, prepare, stored_embedder
from engrain.runtime.storage.tabular import TabularStore


class SQLiteStore(TabularStore):
    """A `Store` in one file. Opening creates it when missing, and brings an older one up to date.

    Raises `StoreError` for a folder, a file that is read-only, truncated, damaged, of another program, of a newer
    version, locked for longer than the busy timeout, or whose vectors come from another embedder.
    """

    def __init__(self, path: str | Path, embedder: str, dimension: int, settings: SQLiteSettings | None = None) -> None:
        self.path = Path(path)
        connections = Connections(self.path, settings or SQLiteSettings())
        super().__init__(connections, embedder, dimension)
        try:
            with connections.reading() as connection:
                ready = is_ready(connection, self.path, embedder, dimension)
            if not ready:
                with connections.writing() as connection:
                    prepare(connection, self.path, embedder, dimension)
        except BaseException:
            connections.close()
            raise


def open_stored(path: str | Path) -> SQLiteStore:
    """An existing file with the embedder that it names. Raises `StoreError` when there is none."""
    path = Path(path)
    if not path.exists():
        raise StoreError(f"there is no memory file {path}")
    check_header(path)
    with read_only(path) as connection:
        check_version(connection, path)
        identity = stored_embedder(connection)
    if identity is None:
        raise StoreError(f"{path} does not say which embedder made its vectors; it is damaged")
    return SQLiteStore(path, *identity)
