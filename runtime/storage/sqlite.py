"""The embedded store: one SQLite file."""

from __future__ import annotations

from pathlib import Path

from engrain.runtime.storage.connections import Connections, SQLiteSettings
from engrain.runtime.storage.tables import is_ready, prepare
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
