"""`engrain cost`: what was spent, by stage, teacher and run; and the table of a projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

from engrain.recipes import console
from engrain.runtime.llm.accounts import CostLine, cost
from engrain.runtime.llm.projection import Projection

COLUMNS = ("stage", "teacher", "run", "answers", "cut", "tokens in", "out", "USD", "failed", "lost")


def command(ledger: str, run: str | None, as_json: bool) -> None:
    """`engrain cost LEDGER [--run NAME] [--json]`: print the spending of a ledger file and its total."""
    lines = cost(Path(ledger), run)
    total = _total(lines)
    if as_json:
        console.show_json({"lines": [asdict(line) for line in lines], "total": asdict(total)})
        return
    rows = [_row(line) for line in lines] + ([_row(total)] if len(lines) != 1 else [])
    console.show_table(f"cost of {ledger}", COLUMNS, rows)
    if total.lost:
        console.say(f"{total.lost} calls were lost with their process before an answer came; they may have been billed")
    if total.unpriced:
        console.say(f"{total.unpriced} answers come from endpoints without prices and count as 0 USD")


def show_projections(projections: Sequence[Projection], as_json: bool) -> None:
    """Print what a run would buy and cost, one line an endpoint."""
    if as_json:
        console.show_json([asdict(one) for one in projections])
        return
    columns = ("endpoint", "calls", "stored", "to send", "tokens in", "tokens out at most", "USD at most", "expected")
    rows = [
        (
            *(one.endpoint, one.calls, one.stored, one.to_send, one.prompt_tokens, one.highest_completion_tokens),
            *(_money(one.highest_usd), _money(one.expected_usd)),
        )
        for one in projections
    ]
    console.show_table("projection", columns, rows)


def _total(lines: Sequence[CostLine]) -> CostLine:
    total = CostLine("total", "", "")
    for line in lines:
        total += line
    return total


def _row(line: CostLine) -> tuple[object, ...]:
    return (
        *(line.stage, line.teacher, line.run, line.answers, line.truncated, line.prompt_tokens),
        *(line.completion_tokens, _money(line.cost_usd), line.failed, line.lost),
    )


def _money(amount: Decimal | None) -> str:
    """Six decimals: one call of a cheap model costs hundredths of a cent."""
    return "unknown" if amount is None else f"{amount:.6f}"
