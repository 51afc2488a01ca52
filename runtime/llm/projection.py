"""What a run would buy and cost, before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from engrain.runtime.llm import pricing
from engrain.runtime.llm.chat import Call
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import LOOKUP, Ledger
from engrain.runtime.llm.prepare import Prepared, prepare


@dataclass(frozen=True, slots=True)
class Projection:
    """`expected_usd` uses the mean usage of this endpoint's answers at the same stage; None where there are none.

    `highest_usd` counts every answer at its token limit. Both are None where prices are unknown. `shortest_s` follows
    from the requests budget alone.
    """

    endpoint: str
    calls: int
    stored: int
    to_send: int
    prompt_tokens: int
    highest_completion_tokens: int
    highest_usd: Decimal | None
    expected_usd: Decimal | None
    shortest_s: float | None


def project(settings: EndpointSettings, ledger: Ledger, calls: Iterable[Call], *, batch: bool = False) -> Projection:
    """Count what is stored and price what is not. Sends nothing; needs no key. Equal calls count once."""
    factor = settings.batch_price_factor if batch else Decimal(1)
    usage = _mean_usage(settings, ledger)
    total = stored = prompt = completion = 0
    expected: Decimal | None = Decimal(0)
    seen: set[str] = set()
    prepared = (prepare(settings, call, "") for call in calls)
    while some := list(islice(prepared, LOOKUP)):
        found = ledger.find([one.request_hash for one in some], settings.ledger_identity()).result()
        for one in some:
            total += 1
            if one.request_hash in found:
                stored += 1
            elif one.request_hash not in seen:
                seen.add(one.request_hash)
                prompt += pricing.prompt_tokens(one.request)
                completion += one.request.max_tokens or pricing.OPEN_ANSWER_TOKENS
                expected = _plus(expected, _expected(settings, one, usage, factor))
    rate = settings.requests_per_minute
    return Projection(
        *(settings.name, total, stored, len(seen), prompt, completion),
        highest_usd=pricing.price(settings, prompt, completion, factor),
        expected_usd=expected,
        shortest_s=len(seen) / rate * settings.window_s if rate and not batch else None,
    )


def _mean_usage(settings: EndpointSettings, ledger: Ledger) -> dict[str, tuple[int, int, int]]:
    """Answers, prompt tokens and completion tokens of this endpoint so far, by stage."""
    rows = ledger.read(
        "SELECT stage, count(*), sum(prompt_tokens), sum(completion_tokens) FROM answers WHERE endpoint = ? "
        "GROUP BY stage",
        (settings.ledger_identity(),),
    ).result()
    return {str(stage): (int(str(n)), int(str(into)), int(str(out))) for stage, n, into, out in rows}


def _expected(
    settings: EndpointSettings, one: Prepared, usage: dict[str, tuple[int, int, int]], factor: Decimal
) -> Decimal | None:
    if one.account.stage not in usage:
        return None
    answers, prompt, completion = usage[one.account.stage]
    total = pricing.price(settings, prompt, completion, factor)
    return None if total is None else total / answers


def _plus(left: Decimal | None, right: Decimal | None) -> Decimal | None:
    return None if left is None or right is None else left + right
