"""What the tables need of a database, so that one set of statements serves SQLite and PostgreSQL.

Statements are written once, in SQLite's words with `?` for values; a PostgreSQL connection reads them in its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from engrain.runtime.storage.protocol import Vectors

Row = Sequence[Any]


class Cursor(Protocol):
    """The answer to one statement."""

    @property
    def description(self) -> Any:
        """The columns, each a tuple that begins with its name."""

    @property
    def rowcount(self) -> int:
        """Rows that were changed."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """The rows, one by one."""


class Reader(Protocol):
    """What is enough to look at a database; a plain `sqlite3.Connection` is one."""

    def execute(self, sql: str, values: Row = ..., /) -> Cursor:
        """Run one statement."""


class Connection(Reader, Protocol):
    """One transaction's view of the database."""

    def executemany(self, sql: str, values: Iterable[Row], /) -> object:
        """Run one statement for many rows."""

    def next_keys(self, table: str, count: int) -> Sequence[int]:
        """Keys, growing, that no row of the table has or ever had."""

    def keys_were_given(self, table: str) -> None:
        """Rows were written with keys of their own: later ones must be above them."""

    def free_dimension(self) -> None:
        """Let `vectors.vector` hold vectors of any length until `fix_dimension`."""

    def fix_dimension(self, dimension: int) -> None:
        """Let `vectors.vector` hold vectors of this length only, where the database can say so."""

    def stored_vector(self, vector: Vectors) -> object:
        """A vector of D entries as the column `vectors.vector` takes it; it is read as little-endian float32 bytes."""


class Database(Protocol):
    """Where connections come from. Errors inside a transaction are raised as `StoreError`."""

    def reading(self) -> AbstractContextManager[Connection]:
        """One consistent view over several reads."""

    def writing(self) -> AbstractContextManager[Connection]:
        """One transaction: committed at the end, rolled back on any error."""

    def close(self) -> None:
        """Release every connection."""
