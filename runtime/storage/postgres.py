"""PostgreSQL with pgvector as the store, when one machine is not enough. Wants the extra `postgres`."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import Field

from engrain.runtime.errors import InputError, StoreError
from engrain.runtime.schema import Contract, Status
from engrain.runtime.storage import rows
from engrain.runtime.storage.migrations import SCHEMA_VERSION, migrate
from engrain.runtime.storage.postgres_search import (
    VectorSearch,
    by_vector,
    by_words,
    catch_up,
    frequencies,
    prepare_search,
    surroundings,
)
from engrain.runtime.storage.postgres_statements import PostgresConnection, register_vector
from engrain.runtime.storage.protocol import Selection, Vectors
from engrain.runtime.storage.tabular import TabularStore

if TYPE_CHECKING:
    import psycopg

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_CREATION_LOCK = 0x456E6772
"""Held while tables are made, so that of two processes one makes them."""


class PostgresSettings(Contract):
    """How the database is used."""

    schema_name: str = Field(default="engrain", description="PostgreSQL schema that holds the tables.")
    connect_timeout_s: int = Field(default=10, ge=1, description="Seconds to wait for a connection.")
    loaded_limit: int = Field(
        default=50_000, ge=0, description="Records of a user that are searched in memory; beyond, the database chooses."
    )
    words_depth: int = Field(default=200, ge=20, description="Candidates that the database chooses by words.")
    vector_search: VectorSearch = Field(default="exact", description="How it chooses by vectors: exact or hnsw.")
    ef_search: int = Field(default=200, ge=20, le=1_000, description="Rows that an HNSW search keeps in view.")
    statement_timeout_s: float = Field(default=60.0, gt=0.0, description="Seconds to wait for a statement or a lock.")


class PostgresStore(TabularStore):
    """A `Store` in one schema of a PostgreSQL database; opening creates it when missing.

    Raises `StoreError` when the server cannot be reached, lacks pgvector, or holds vectors of another embedder.
    """

    def __init__(self, dsn: str, embedder: str, dimension: int, settings: PostgresSettings | None = None) -> None:
        settings = settings or PostgresSettings()
        if not _NAME.fullmatch(settings.schema_name):
            raise InputError(f"schema_name '{settings.schema_name}' must be lower-case letters, digits and underscores")
        self._search = settings
        sessions = Sessions(dsn, settings)
        super().__init__(sessions, embedder, dimension)
        try:
            with sessions.writing() as connection:
                connection.execute("SELECT pg_advisory_xact_lock(?)", (_CREATION_LOCK,))
                _make_schema(connection, settings.schema_name)
            # The session that made pgvector's type does not know it yet.
            sessions.forget()
            with sessions.writing() as connection:
                connection.execute("SELECT pg_advisory_xact_lock(?)", (_CREATION_LOCK,))
                _prepare(connection, settings.schema_name, embedder, dimension)
                prepare_search(connection, settings.vector_search)
        except BaseException:
            sessions.close()
            raise

    def select(
        self,
        user_id: str,
        terms: Sequence[str],
        vector: Vectors | None,
        statuses: Sequence[Status],
        depth: int,
        reach: int,
    ) -> Selection | None:
        """See `SelectingStore.select`."""
        settings = self._search
        with self.database.reading() as connection:
            sql = "SELECT count(*) FROM (SELECT 1 FROM records WHERE user_id = ? LIMIT ?) AS found"
            if connection.execute(sql, (user_id, settings.loaded_limit + 1)).fetchone()[0] <= settings.loaded_limit:
                return None
        with self.database.writing() as connection:
            catch_up(connection, user_id)
        ef = settings.ef_search if settings.vector_search == "hnsw" else None
        with self.database.reading() as connection:
            self._check_embedder(connection)
            names = rows.as_json([*map(str, statuses)])
            sql = "SELECT count(*) FROM records WHERE user_id = ?"
            documents = int(connection.execute(sql, (user_id,)).fetchone()[0])
            counts = frequencies(connection, user_id, terms)
            keys = by_words(connection, user_id, counts, documents, names, max(depth, settings.words_depth))
            if vector is not None:
                keys += by_vector(connection, user_id, vector, names, depth, ef)
            return Selection(surroundings(connection, user_id, keys, reach, self.dimension), documents, counts)


def open_stored(dsn: str, settings: PostgresSettings | None = None) -> PostgresStore:
    """An existing database with the embedder that it names. Raises `StoreError` when it holds no memory."""
    settings = settings or PostgresSettings()
    sessions = Sessions(dsn, settings)
    try:
        with sessions.reading() as connection:
            if not _has_tables(connection, settings.schema_name):
                raise StoreError(f"the database holds no memory in its schema {settings.schema_name}")
            meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    finally:
        sessions.close()
    return PostgresStore(dsn, meta["embedder"], int(meta["dimension"]), settings)


class Sessions:
    """Connections to one database, one a thread."""

    def __init__(self, dsn: str, settings: PostgresSettings) -> None:
        self._dsn, self._settings = dsn, settings
        self._local = threading.local()
        self._open: dict[threading.Thread, psycopg.Connection[tuple[object, ...]]] = {}
        self._registry = threading.Lock()
        self._pid = os.getpid()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[PostgresConnection]:
        """One consistent view over several reads."""
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[PostgresConnection]:
        """One transaction: committed at the end, rolled back on any error."""
        with self._transaction("BEGIN") as connection:
            yield connection

    def forget(self) -> None:
        """Connect anew at the next transaction of this thread."""
        self._local = threading.local()

    def close(self) -> None:
        """Close every thread's connection."""
        with self._registry:
            self._closed = True
            if self._pid == os.getpid():
                for connection in self._open.values():
                    connection.close()
            self._open.clear()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgresConnection]:
        psycopg = _driver()
        try:
            connection = self._connection()
            connection.execute(begin)
            try:
                yield PostgresConnection(connection)
                connection.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise
        except psycopg.Error as error:
            raise StoreError(_explained(error)) from error

    def _connection(self) -> psycopg.Connection[tuple[object, ...]]:
        if self._closed:
            raise StoreError("the PostgreSQL store is closed; open the memory again")
        if self._pid != os.getpid():
            self._after_fork()
        connection: psycopg.Connection[tuple[object, ...]] | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = self._local.connection = self._connect()
        return connection

    def _after_fork(self) -> None:
        """A connection must not be shared over a fork: the child starts with none, and never closes the parent's."""
        self._inherited = (self._local, self._open)
        self._local, self._open = threading.local(), {}
        self._registry = threading.Lock()
        self._pid = os.getpid()

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        settings = self._settings
        connection: psycopg.Connection[tuple[object, ...]] = _driver().connect(
            self._dsn, autocommit=True, connect_timeout=settings.connect_timeout_s
        )
        milliseconds = int(1000 * settings.statement_timeout_s)
        connection.execute(f"SET statement_timeout = {milliseconds}; SET lock_timeout = {milliseconds}")
        # pgvector lives where the database keeps it; the tables in a schema of their own.
        connection.execute(f"SET search_path = {settings.schema_name}, public")
        register_vector(connection)
        with self._registry:
            for thread in [thread for thread in self._open if not thread.is_alive()]:
                self._open.pop(thread).close()
            if (former := self._open.pop(threading.current_thread(), None)) is not None:
                former.close()
            self._open[threading.current_thread()] = connection
        return connection


def _make_schema(connection: PostgresConnection, schema: str) -> None:
    """Extension and schema where they are missing: a user who may not make them can use what is there."""
    if not connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'vector'").fetchone()[0]:
        connection.execute("CREATE EXTENSION vector")
    if not connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = ?", (schema,)).fetchone()[0]:
        connection.execute(f"CREATE SCHEMA {schema}")


def _prepare(connection: PostgresConnection, schema: str, embedder: str, dimension: int) -> None:
    connection.dimension = dimension
    if not _has_tables(connection, schema):
        migrate(connection, 0)
        values = {"embedder": embedder, "dimension": str(dimension), "version": str(SCHEMA_VERSION)}
        connection.executemany("INSERT INTO meta VALUES (?, ?)", list(values.items()))
        return
    meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    version = int(meta["version"])
    if version > SCHEMA_VERSION:
        raise StoreError(f"the database has schema version {version}; this Engrain reads up to {SCHEMA_VERSION}")
    if (meta["embedder"], int(meta["dimension"])) != (embedder, dimension):
        raise StoreError(
            f"the database holds vectors of the embedder '{meta['embedder']}' ({meta['dimension']} dimensions); it was "
            f"opened with '{embedder}' ({dimension} dimensions): open it with the first, use another schema, or make "
            "its vectors again with `engrain memory reembed`"
        )
    if version < SCHEMA_VERSION:
        migrate(connection, version)
        connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", (str(SCHEMA_VERSION),))


def _has_tables(connection: PostgresConnection, schema: str) -> bool:
    sql = "SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = 'meta'"
    return bool(connection.execute(sql, (schema,)).fetchone()[0])


def _driver() -> Any:
    """The module psycopg. Raises `InputError` naming the extra when it is not installed."""
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL wants the extra 'postgres': pip install 'engrain[postgres]'") from None
    return psycopg


def _explained(error: psycopg.Error) -> str:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if "vector" in text and ("extension" in text or "not available" in text):
        return f"PostgreSQL: {text}; install pgvector on the server"
    if "connection timeout" in text:
        return f"PostgreSQL: {text}: the server does not answer; check host, port and network"
    if "timeout" in text:
        return f"PostgreSQL: {text}; another program holds a lock, try again when it is done"
    return f"PostgreSQL: {text}"
