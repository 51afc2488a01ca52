"""What was spent, on what: sums over the ledger, exact in Decimals."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from pathlib import Path

from engrain.runtime.errors import InputError
from engrain.runtime.llm.ledger_schema import CLOSED_EVENTS, connect


class SpendMeter:
    """The money a run has spent, kept up to date by reading only what was appended since the last look."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[int, Decimal]] = {}

    def forget(self) -> None:
        """Start over at the next look (after a rollback)."""
        self._seen.clear()

    def spent(self, connection: sqlite3.Connection, run: str) -> Decimal:
        """USD booked for the run; calls without a known price count as 0."""
        return sum((self._table(connection, table, run) for table in ("answers", "attempts")), Decimal(0))

    def _table(self, connection: sqlite3.Connection, table: str, run: str) -> Decimal:
        last, total = self._seen.get((table, run), (0, Decimal(0)))
        rows = connection.execute(f"SELECT id, run, cost_usd FROM {table} WHERE id > ? ORDER BY id", (last,))
        for row, of_run, cost in rows:
            last = row
            if of_run == run and cost is not None:
                total += Decimal(cost)
        self._seen[table, run] = (last, total)
        return total

    def in_batches(self, connection: sqlite3.Connection, run: str) -> Decimal:
        """USD reserved for batches of the run that are not collected yet."""
        rows = connection.execute(
            "SELECT reserved_usd FROM batch_events WHERE run = ? AND id IN "
            "(SELECT max(id) FROM batch_events GROUP BY batch) AND event NOT IN (?, ?)",
            (run, *CLOSED_EVENTS),
        )
        return sum((Decimal(text) for (text,) in rows), Decimal(0))


@dataclass(frozen=True, slots=True)
class CostLine:
    """One stage, teacher and run. `lost`: sent by a process that died before an answer came; perhaps billed.

    `failed` counts the other attempts without an answer. `unpriced` counts answers of endpoints without prices.
    """

    stage: str
    teacher: str
    run: str
    answers: int = 0
    truncated: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    failed: int = 0
    lost: int = 0
    unpriced: int = 0

    def __add__(self, other: CostLine) -> CostLine:
        return CostLine(
            *(self.stage, self.teacher, self.run),
            *(self.answers + other.answers, self.truncated + other.truncated),
            *(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens),
            *(self.cost_usd + other.cost_usd, self.failed + other.failed),
            *(self.lost + other.lost, self.unpriced + other.unpriced),
        )


def cost(path: Path, run: str | None = None) -> list[CostLine]:
    """Spending by stage, teacher and run, in that order; only one run where it is named."""
    if not path.is_file():
        raise InputError(f"{path}: no ledger there; `engrain label` and other paid verbs write one")
    with closing(connect(path)) as connection:
        return combine(chain(_bought(connection, run), _attempted(connection, run)))


def _bought(connection: sqlite3.Connection, run: str | None) -> Iterator[CostLine]:
    rows = connection.execute(
        "SELECT stage, teacher, run, finish_reason, prompt_tokens, completion_tokens, cost_usd FROM answers "
        "WHERE coalesce(run = ?, 1)",
        (run,),
    )
    for stage, teacher, of_run, finish, prompt, completion, price in rows:
        yield CostLine(
            *(stage, teacher, of_run),
            answers=1,
            truncated=int(finish == "length"),
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost_usd=Decimal(price or 0),
            unpriced=int(price is None),
        )


def _attempted(connection: sqlite3.Connection, run: str | None) -> Iterator[CostLine]:
    rows = connection.execute(
        "SELECT stage, teacher, run, outcome, prompt_tokens, completion_tokens, cost_usd FROM attempts "
        "WHERE coalesce(run = ?, 1)",
        (run,),
    )
    for stage, teacher, of_run, outcome, prompt, completion, price in rows:
        yield CostLine(
            *(stage, teacher, of_run),
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost_usd=Decimal(price or 0),
            failed=int(outcome != "lost"),
            lost=int(outcome == "lost"),
        )


def combine(lines: Iterable[CostLine]) -> list[CostLine]:
    """Add up lines of one stage, teacher and run."""
    sums: dict[tuple[str, str, str], CostLine] = {}
    for line in lines:
        key = (line.stage, line.teacher, line.run)
        sums[key] = sums[key] + line if key in sums else line
    return [sums[key] for key in sorted(sums)]
