"""The ledger: an append-only record of every paid call. A crash never buys twice, no paid answer is lost.

Answers are keyed by the hash of the full request and the endpoint, synced to the disk before anyone parses them, and
only they count as done. Failures are logged as attempts. Several processes may share one file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar

from engrain.runtime.llm import claims
from engrain.runtime.llm.accounts import SpendMeter
from engrain.runtime.llm.batch_state import open_batch_of
from engrain.runtime.llm.chat import ChatAnswer
from engrain.runtime.llm.claims import Account, Owner
from engrain.runtime.llm.group_commit import GroupCommit
from engrain.runtime.llm.ledger_schema import connect

T = TypeVar("T")
NOW = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"
ANSWER_COLUMNS = "text, finish_reason, prompt_tokens, completion_tokens, model, latency_s, usage_reported"
# Keys in one query: below SQLite's oldest limit on variables, 999.
LOOKUP = 500


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer to `Ledger.claim`.

    granted: send it. stored: `answer` is there already. held: `holder` is sending it. over_budget: `spent` plus
    `reserved` plus this call would exceed the budget. batch: it is part of an open batch named by `holder`.
    """

    state: Literal["granted", "stored", "held", "over_budget", "batch"]
    answer: ChatAnswer | None = None
    holder: str = ""
    spent: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A send that did not end in a new stored answer."""

    outcome: str
    detail: str
    raw: str | None = None


@dataclass(slots=True)
class Ledger:
    """Open with a path, or with None for one in memory; use as a context manager or call `close`.

    Methods return futures that resolve once the change is committed: `.result()` in plain code,
    `asyncio.wrap_future` in coroutines.
    """

    path: Path | None
    owner: Owner = field(init=False)
    _commits: GroupCommit = field(init=False)
    _meter: SpendMeter = field(init=False, default_factory=SpendMeter)

    def __post_init__(self) -> None:
        self.path = Path(self.path) if self.path is not None else None
        self.owner = Owner.new()
        name = f"ledger {self.path}" if self.path else "ledger in memory"
        self._commits = GroupCommit(name, lambda: connect(self.path), on_rollback=self._meter.forget)
        self._commits.submit(claims.reap).result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commit what is queued and close the file. Claims still open are left to be logged as lost."""
        self._commits.close()
        self.owner.retire()

    def read(self, query: str, values: Sequence[object] = ()) -> Future[list[tuple[object, ...]]]:
        """Rows of a read-only query."""
        return self._commits.submit(lambda connection: connection.execute(query, values).fetchall(), durable=False)

    def submit(self, run: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run a durable write of another module's making, such as a batch event."""
        return self._commits.submit(run)

    def find(self, request_hashes: Sequence[str], endpoint: str) -> Future[dict[str, ChatAnswer]]:
        """The stored answers among these requests, by request hash."""

        def look(connection: sqlite3.Connection) -> dict[str, ChatAnswer]:
            found = {}
            for start in range(0, len(request_hashes), LOOKUP):
                some = request_hashes[start : start + LOOKUP]
                marks = ",".join("?" * len(some))
                rows = connection.execute(
                    f"SELECT request_hash, {ANSWER_COLUMNS} FROM answers "
                    f"WHERE endpoint = ? AND request_hash IN ({marks})",
                    (endpoint, *some),
                )
                found.update({row[0]: answer_from(row[1:]) for row in rows})
            return found

        return self._commits.submit(look, durable=False)

    def spent(self, run: str) -> Future[tuple[Decimal, Decimal]]:
        """USD that a run has spent, and USD reserved for its calls in flight and its open batches."""

        def look(connection: sqlite3.Connection) -> tuple[Decimal, Decimal]:
            booked, in_batches = self._meter.spent(connection, run), self._meter.in_batches(connection, run)
            return booked, claims.reserved(connection, run) + in_batches

        return self._commits.submit(look, durable=False)

    def claim(
        self, request_hash: str, account: Account, *, lease_s: float, price: Decimal, budget: Decimal | None
    ) -> Future[Grant]:
        """Ask to send a request now, reserving `price` against the run's `budget`."""

        def ask(connection: sqlite3.Connection) -> Grant:
            if budget is None and claims.put_if_free(connection, request_hash, account, self.owner, price, lease_s):
                return Grant("granted")
            if answer := find_answer(connection, request_hash, account.endpoint):
                return Grant("stored", answer=answer)
            if holder := claims.holder(connection, request_hash, account.endpoint, self.owner):
                return Grant("held", holder=holder)
            if batch := open_batch_of(connection, request_hash, account.endpoint):
                return Grant("batch", holder=batch)
            if budget is not None:
                spent = self._meter.spent(connection, account.run) + self._meter.in_batches(connection, account.run)
                reserved = claims.reserved(connection, account.run)
                if spent + reserved + price > budget:
                    return Grant("over_budget", spent=spent, reserved=reserved)
            claims.put(connection, request_hash, account, self.owner, price, lease_s)
            return Grant("granted")

        return self._commits.submit(ask, durable=False)

    def release(self, request_hash: str, account: Account) -> Future[None]:
        """End a claim whose call was not sent."""
        return self._commits.submit(
            lambda connection: claims.drop(connection, request_hash, account.endpoint, self.owner), durable=False
        )

    def store(
        self, request_hash: str, account: Account, answer: ChatAnswer, cost: Decimal | None, mode: str
    ) -> Future[bool]:
        """Keep an answer and end its claim. False: there was one already; this one is booked as a second copy."""

        def write(connection: sqlite3.Connection) -> bool:
            claims.drop(connection, request_hash, account.endpoint, self.owner)
            return insert_answer(connection, request_hash, account, answer, cost, mode)

        return self._commits.submit(write)

    def fail(self, request_hash: str, account: Account, attempt: Attempt) -> Future[None]:
        """Log a failed attempt and end its claim."""

        def write(connection: sqlite3.Connection) -> None:
            claims.drop(connection, request_hash, account.endpoint, self.owner)
            insert_attempt(connection, request_hash, account, attempt)

        return self._commits.submit(write, durable=attempt.raw is not None)


def find_answer(connection: sqlite3.Connection, request_hash: str, endpoint: str) -> ChatAnswer | None:
    """The stored answer of one request."""
    row = connection.execute(
        f"SELECT {ANSWER_COLUMNS} FROM answers WHERE request_hash = ? AND endpoint = ?", (request_hash, endpoint)
    ).fetchone()
    return None if row is None else answer_from(row)


def insert_answer(
    connection: sqlite3.Connection,
    request_hash: str,
    account: Account,
    answer: ChatAnswer,
    cost: Decimal | None,
    mode: str,
) -> bool:
    """Write an answer, or, when its request has one, an attempt with the outcome `second_copy` and its price."""
    booked = None if cost is None else str(cost)
    added = connection.execute(
        "INSERT INTO answers (request_hash, endpoint, endpoint_name, stage, teacher, run, mode, model, text, "
        "finish_reason, prompt_tokens, completion_tokens, usage_reported, cost_usd, latency_s, created_at) "
        f"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {NOW}) ON CONFLICT (request_hash, endpoint) DO NOTHING",
        (
            *(request_hash, account.endpoint, account.endpoint_name, account.stage, account.teacher, account.run),
            *(mode, answer.model, answer.text, answer.finish_reason, answer.prompt_tokens, answer.completion_tokens),
            *(answer.usage_reported, booked, answer.latency_s),
        ),
    )
    if added.rowcount == 0:
        insert_attempt(connection, request_hash, account, Attempt("second_copy", "answered before"), answer, cost)
    return added.rowcount > 0


def insert_attempt(
    connection: sqlite3.Connection,
    request_hash: str,
    account: Account,
    attempt: Attempt,
    answer: ChatAnswer | None = None,
    cost: Decimal | None = None,
) -> None:
    """Write an attempt, with what it cost where that is known."""
    connection.execute(
        "INSERT INTO attempts (request_hash, endpoint, endpoint_name, stage, teacher, run, outcome, detail, raw, "
        f"prompt_tokens, completion_tokens, cost_usd, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {NOW})",
        (
            *(request_hash, account.endpoint, account.endpoint_name, account.stage, account.teacher, account.run),
            *(attempt.outcome, attempt.detail, attempt.raw),
            *(answer.prompt_tokens if answer else 0, answer.completion_tokens if answer else 0),
            None if cost is None else str(cost),
        ),
    )


def answer_from(row: Sequence[object]) -> ChatAnswer:
    """An answer from its `ANSWER_COLUMNS`."""
    text, finish_reason, prompt, completion, model, latency, reported = row
    return ChatAnswer(
        str(text),
        str(finish_reason),
        int(str(prompt)),
        int(str(completion)),
        str(model),
        float(str(latency)),
        bool(reported),
    )
