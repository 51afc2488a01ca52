"""SQLite connections: one a thread and process, write-ahead log, one writer at a time, errors with a way out."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from engrain.runtime.errors import StoreError
from engrain.runtime.schema import Contract
from engrain.runtime.storage.files import check_file, explain
from engrain.runtime.storage.protocol import Vectors

_SWITCH_PAUSE_S = 0.05


class SQLiteSettings(Contract):
    """How the file is used."""

    busy_timeout_s: float = Field(default=30.0, ge=0.0, description="Seconds to wait for another writer.")
    synchronous: str = Field(
        default="FULL",
        pattern="^(NORMAL|FULL|EXTRA)$",
        description="FULL keeps an acknowledged write through a power cut; NORMAL through a crash of the process.",
    )


class SQLiteConnection:
    """One transaction, as `database.Connection` describes it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.execute = connection.execute
        self.executemany = connection.executemany

    def next_keys(self, table: str, count: int) -> Sequence[int]:
        """Keys that no row of the table has or ever had. The write lock is held, so nobody else takes them."""
        last = self.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        first = (last[0] if last else 0) + 1
        return range(first, first + count)

    def keys_were_given(self, table: str) -> None:
        """SQLite keeps the highest key itself."""

    def free_dimension(self) -> None:
        """A blob has any length."""

    def fix_dimension(self, dimension: int) -> None:
        """A blob has any length."""

    def stored_vector(self, vector: Vectors) -> bytes:
        """Little-endian float32, D entries."""
        return vector.astype("<f4", copy=False).tobytes()


class Connections:
    """Connections to one file. `writing` holds the file's single write lock from its first statement on."""

    def __init__(self, path: Path, settings: SQLiteSettings) -> None:
        self.path = path
        self._settings = settings
        self._local = threading.local()
        self._open: dict[threading.Thread, sqlite3.Connection] = {}
        self._registry = threading.Lock()
        self._writer = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        check_file(path)

    @contextmanager
    def reading(self) -> Iterator[SQLiteConnection]:
        """One consistent view over several reads."""
        with self._translated():
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield SQLiteConnection(connection)
            finally:
                connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[SQLiteConnection]:
        """One transaction: committed at the end, rolled back on any error."""
        with self._translated(), self._writer:
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SQLiteConnection(connection)
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def close(self) -> None:
        """Close every thread's connection. A connection inherited over a fork is left to the parent."""
        with self._registry:
            self._closed = True
            if self._pid == os.getpid():
                for connection in self._open.values():
                    connection.close()
            self._open.clear()

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"{self.path} is closed; open the memory again")
        if self._pid != os.getpid():
            self._after_fork()
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            self._local.connection = connection
        return connection

    def _after_fork(self) -> None:
        """SQLite connections must not cross a fork: the child starts with none, and never closes the parent's."""
        self._inherited = (self._local, self._open)
        self._local = threading.local()
        self._open = {}
        self._registry, self._writer = threading.Lock(), threading.Lock()
        self._pid = os.getpid()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._settings.busy_timeout_s, isolation_level=None, check_same_thread=False
        )
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        with self._registry:
            for thread in [thread for thread in self._open if not thread.is_alive()]:
                self._open.pop(thread).close()
            self._open[threading.current_thread()] = connection
        return connection

    def _configure(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {self._settings.synchronous}")
        deadline = time.monotonic() + self._settings.busy_timeout_s
        while True:
            try:
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as error:
                # Two processes that create a file together can meet here without SQLite's own waiting.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_SWITCH_PAUSE_S)
        if mode != "wal":
            raise StoreError(f"{self.path}: its file system allows no write-ahead log; use a local disk")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(explain(error, self.path, self._settings.busy_timeout_s)) from error
