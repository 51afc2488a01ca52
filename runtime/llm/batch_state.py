"""The state of provider batches, as events in the ledger: the last event of a batch says where it stands.

written (input file is on the disk) -> uploaded (detail: the provider's file id) -> created (detail: the provider's
batch id) -> collected, or abandoned at any point, which frees its requests.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from engrain.runtime.llm.claims import Account
from engrain.runtime.llm.ledger_schema import CLOSED_EVENTS

Event = Literal["written", "uploaded", "created", "collected", "abandoned"]
LAST = "(SELECT max(id) FROM batch_events GROUP BY batch)"


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch that is not over."""

    batch: str
    run: str
    event: Event
    detail: str
    reserved: Decimal


def open_batch_of(connection: sqlite3.Connection, request_hash: str, endpoint: str) -> str | None:
    """The open batch that holds a request, or None."""
    row = connection.execute(
        "SELECT batch FROM batch_items AS item WHERE request_hash = ? AND endpoint = ? AND "
        "(SELECT event FROM batch_events WHERE batch = item.batch ORDER BY id DESC LIMIT 1) NOT IN (?, ?)",
        (request_hash, endpoint, *CLOSED_EVENTS),
    ).fetchone()
    return None if row is None else str(row[0])


def open_batches(connection: sqlite3.Connection, scope: str) -> list[BatchState]:
    """The batches of an endpoint's model that are not over, oldest first."""
    rows = connection.execute(
        f"SELECT batch, run, event, detail, reserved_usd FROM batch_events WHERE endpoint = ? AND id IN {LAST} "
        "AND event NOT IN (?, ?) ORDER BY id",
        (scope, *CLOSED_EVENTS),
    )
    return [BatchState(batch, run, event, detail, Decimal(money)) for batch, run, event, detail, money in rows]


def held_by_batches(connection: sqlite3.Connection, endpoint: str) -> set[str]:
    """Hashes of all requests that are in an open batch."""
    rows = connection.execute(
        f"SELECT request_hash FROM batch_items WHERE endpoint = ? AND batch IN "
        f"(SELECT batch FROM batch_events WHERE id IN {LAST} AND event NOT IN (?, ?))",
        (endpoint, *CLOSED_EVENTS),
    )
    return {request_hash for (request_hash,) in rows}


def plan(
    connection: sqlite3.Connection,
    scope: str,
    batch: str,
    items: Iterable[tuple[str, Account]],
    run: str,
    reserved: Decimal,
) -> None:
    """Record a batch whose input file is written; from now on its requests are in an open batch."""
    for request_hash, account in items:
        connection.execute(
            "INSERT INTO batch_items VALUES (?, ?, ?, ?, ?, ?, ?)",
            (batch, request_hash, account.endpoint, account.endpoint_name, account.stage, account.teacher, account.run),
        )
    append(connection, scope, BatchState(batch, run, "written", "", reserved))


def append(connection: sqlite3.Connection, scope: str, state: BatchState) -> None:
    """Append an event."""
    connection.execute(
        "INSERT INTO batch_events (batch, endpoint, run, event, detail, reserved_usd, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
        (state.batch, scope, state.run, state.event, state.detail, str(state.reserved)),
    )


def items(connection: sqlite3.Connection, batch: str) -> dict[str, Account]:
    """The requests of a batch and where each is booked."""
    rows = connection.execute(
        "SELECT request_hash, endpoint, endpoint_name, stage, teacher, run FROM batch_items WHERE batch = ?", (batch,)
    )
    return {row[0]: Account(*row[1:]) for row in rows}
