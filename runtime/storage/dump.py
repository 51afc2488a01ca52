"""All of a store as rows, one after another: to another store, or to lines of JSON and back."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from engrain.runtime.errors import InputError, StoreError
from engrain.runtime.schema import MemoryRecord
from engrain.runtime.storage import rows
from engrain.runtime.storage.database import Connection
from engrain.runtime.storage.migrations import MIGRATIONS, SCHEMA_VERSION
from engrain.runtime.storage.protocol import Vectors
from engrain.runtime.storage.tabular import TabularStore

FORMAT = 1
_BATCH = 500
_CREATED = re.compile(r"CREATE TABLE (\w+)")
_DROPPED = re.compile(r"DROP TABLE (\w+)")


@dataclass(frozen=True, slots=True)
class DumpedRow:
    """One row of one table by column. Vectors are bytes, little-endian float32."""

    table: str
    values: dict[str, Any]


def table_names() -> tuple[str, ...]:
    """Tables that hold facts, in an order in which rows can be put back: what is referred to comes first."""
    created: list[str] = []
    for step in MIGRATIONS:
        created += _CREATED.findall(step.statements)
        created = [name for name in created if name not in _DROPPED.findall(step.statements)]
    return tuple(name for name in created if name != "meta")


def dump(store: TabularStore) -> Iterator[DumpedRow]:
    """Every row of a store, in one consistent view."""
    with store.database.reading() as connection:
        for table in table_names():
            cursor = connection.execute(f"SELECT * FROM {table}")
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                yield DumpedRow(table, dict(zip(columns, row, strict=True)))


def restore(store: TabularStore, dumped: Iterable[DumpedRow]) -> dict[str, int]:
    """Put rows into an empty store of the same embedder, in one transaction; returns how many by table.

    Raises `StoreError` when the store holds anything, or a row does not fit.
    """
    counts: dict[str, int] = {}
    known = set(table_names())
    with store.database.writing() as connection:
        for table in ("turns", "records"):
            if connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
                raise StoreError("the store to be filled holds memories already; give an empty one")
        for (table, columns), group in groupby(dumped, key=lambda row: (row.table, tuple(row.values))):
            if table not in known:
                raise InputError(f"'{table}' is no table of a store; known are {', '.join(sorted(known))}")
            counts[table] = counts.get(table, 0) + _insert(connection, store.dimension, table, columns, group)
        for table in counts:
            connection.keys_were_given(table)
    return counts


def to_lines(store: TabularStore) -> Iterator[str]:
    """A store as lines of JSON: first what it is, then a line a row."""
    head = {"format": FORMAT, "schema": SCHEMA_VERSION, "embedder": store.embedder, "dimension": store.dimension}
    yield json.dumps(head)
    for row in dump(store):
        yield json.dumps({"table": row.table} | {name: _as_json(value) for name, value in row.values.items()})


def stated_embedder(line: str, place: str) -> tuple[str, int]:
    """Identity and dimension of the embedder, from the first of the lines that `to_lines` gave."""
    head = _parsed((1, line), place)
    if not isinstance(head.get("embedder"), str) or not isinstance(head.get("dimension"), int):
        raise InputError(f"{place}, line 1: it does not name an embedder; `engrain memory export` writes such files")
    return head["embedder"], head["dimension"]


def from_lines(lines: Iterable[str], store: TabularStore, place: str) -> dict[str, int]:
    """Put what `to_lines` gave into an empty store of the same embedder.

    Raises `InputError` naming the line that cannot be read; nothing is kept then.
    """
    numbered = enumerate(lines, start=1)
    head = _parsed(next(numbered, (1, "")), place)
    if head.get("format") != FORMAT or head.get("schema") != SCHEMA_VERSION:
        raise InputError(
            f"{place}, line 1: format {head.get('format')}, schema {head.get('schema')}; this Engrain reads format "
            f"{FORMAT}, schema {SCHEMA_VERSION}"
        )
    if (head.get("embedder"), head.get("dimension")) != (store.embedder, store.dimension):
        raise InputError(f"{place} holds vectors of '{head.get('embedder')}', the store those of '{store.embedder}'")
    return restore(store, (_row(line, place) for line in numbered))


def reembed(store: TabularStore, identity: str, dimension: int, embed: Callable[[list[MemoryRecord]], Vectors]) -> int:
    """Make every vector again with another embedder, in one transaction; returns how many.

    `store` is open with the embedder that it has; it must be closed afterwards and opened with the new one. Programs
    that have it open get an error at their next use and open it again.
    """
    done, last = 0, 0
    with store.database.writing() as connection:
        connection.free_dimension()
        while batch := _records_after(connection, last):
            vectors = embed(list(batch.values()))
            pairs = [
                (connection.stored_vector(vector), key) for key, vector in zip(batch, vectors, strict=True)
            ]  # fmt: skip
            connection.executemany("UPDATE vectors SET vector = ? WHERE record_key = ?", pairs)
            last, done = max(batch), done + len(batch)
        connection.fix_dimension(dimension)
        connection.execute("UPDATE records SET embedder = ?", (identity,))
        connection.execute("UPDATE meta SET value = ? WHERE name = 'embedder'", (identity,))
        connection.execute("UPDATE meta SET value = ? WHERE name = 'dimension'", (str(dimension),))
        connection.execute("UPDATE scopes SET version = version + 1, horizon = version + 1")
    return done


def _records_after(connection: Connection, key: int) -> dict[int, MemoryRecord]:
    sql = f"SELECT {rows.RECORD_COLUMNS} FROM records WHERE key > ? ORDER BY key LIMIT ?"
    found = connection.execute(sql, (key, _BATCH)).fetchall()
    sources = rows.source_ids(connection, [row[0] for row in found])
    return {row[0]: rows.memory_record(row, sources.get(row[0], ())) for row in found}


def _insert(
    connection: Connection, dimension: int, table: str, columns: tuple[str, ...], group: Iterable[DumpedRow]
) -> int:
    if not all(re.fullmatch(r"[a-z_]+", column) for column in columns):
        raise InputError(f"{table}: {columns} are no column names")
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    count, batch = 0, []
    for row in group:
        batch.append(
            [_as_stored(connection, dimension, value) for value in row.values.values()]
        )  # fmt: skip
        count += 1
        if len(batch) == _BATCH:
            connection.executemany(sql, batch)
            batch = []
    connection.executemany(sql, batch)
    return count


def _as_stored(connection: Connection, dimension: int, value: Any) -> object:
    if not isinstance(value, bytes):
        return value
    if len(value) != 4 * dimension or not np.isfinite(vector := np.frombuffer(value, "<f4")).all():
        raise InputError(f"a vector of {len(value) / 4:g} entries, or with NaN in it; the store's have {dimension}")
    return connection.stored_vector(vector)


def _as_json(value: Any) -> object:
    return {"base64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def _row(line: tuple[int, str], place: str) -> DumpedRow:
    values = _parsed(line, place)
    table = values.pop("table", None)
    if not isinstance(table, str) or not values:
        raise InputError(f"{place}, line {line[0]}: no row of a table")
    for name, value in values.items():
        if isinstance(value, dict):
            try:
                values[name] = base64.b64decode(value["base64"], validate=True)
            except (KeyError, TypeError, ValueError):
                raise InputError(f"{place}, line {line[0]}: {name} is no base64") from None
    return DumpedRow(table, values)


def _parsed(line: tuple[int, str], place: str) -> dict[str, Any]:
    number, text = line
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InputError(f"{place}, line {number}: no JSON ({error}); was the file cut?") from None
    if not isinstance(values, dict):
        raise InputError(f"{place}, line {number}: no JSON object")
    return values
