"""The Batch API mode against the local server: every step, its failures, and resumption."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from local_server import LocalServer

from engrain.runtime.errors import InputError, ModelServiceError
from engrain.runtime.llm.batch import BatchClient, BatchSettings
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.online import OnlineClient
from engrain.runtime.llm.pricing import BudgetReachedError

Settings = Callable[..., EndpointSettings]
MakeCall = Callable[..., Call]


@pytest.fixture
def client(settings: Settings, ledger: Ledger, tmp_path: Path) -> Callable[..., BatchClient]:
    def make(*, budget_usd: Decimal | None = None, limits: dict[str, Any] | None = None, **changes: Any) -> BatchClient:
        prices = {"usd_per_million_input": 1000, "usd_per_million_output": 1000, "batch_price_factor": "0.5"}
        batch = BatchSettings(**{"poll_s": 0.02} | (limits or {}))
        folder = tmp_path / "batches"
        return BatchClient(
            settings(**prices | changes), ledger, run="r", folder=folder, budget_usd=budget_usd, batch=batch
        )

    return make


def test_a_batch_answers_everything_at_its_own_price(
    server: LocalServer, client: Callable[..., BatchClient], ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.reply = "about {marker}"
    calls = [make_call(f"q{i}") for i in range(25)]
    outcomes = answer_all(client(limits={"max_requests": 10}), calls)
    assert [one.answer.text for one in outcomes if one.answer] == [f"about q{i}" for i in range(25)]
    assert len(server.service.batches.batches) == 3
    # 3 tokens in, 2 out, half price.
    assert ledger.spent("r").result() == (Decimal("0.0025") * 25, Decimal(0))
    again = answer_all(client(), [*calls, make_call("new")])
    assert [one.reused for one in again] == [True] * 25 + [False]
    assert sorted(server.markers()) == sorted([f"q{i}" for i in range(25)] + ["new"])


def test_the_input_file_holds_the_hashed_bodies(
    server: LocalServer, client: Callable[..., BatchClient], settings: Settings, make_call: MakeCall
) -> None:
    call = make_call("q", json_object=True, extra_body={"thinking": False})
    [one] = answer_all(client(), [call])
    line = json.loads(server.service.batches.files["file-0"])
    body = settings().resolve(call.request).body()
    assert line == {"custom_id": one.request_hash, "method": "POST", "url": "/v1/chat/completions", "body": body}


def test_batch_and_online_share_answers(
    server: LocalServer, client: Callable[..., BatchClient], settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    answer_all(client(), [make_call("a")])
    [one] = answer_all(OnlineClient(settings(), ledger, run="r"), [make_call("a")])
    assert one.reused


def test_failed_missing_and_unreadable_items_are_told_and_bought_next_time(
    server: LocalServer, client: Callable[..., BatchClient], ledger: Ledger, make_call: MakeCall
) -> None:
    batches = server.service.batches
    batches.item_faults = {
        "refused": {"kind": "status", "status": 400},
        "missing": {"kind": "missing"},
        "unreadable": {"kind": "unreadable"},
        "cut": {"kind": "truncated"},
    }
    calls = [make_call(name) for name in ("refused", "missing", "unreadable", "cut", "good")]
    refused, missing, unreadable, cut, good = answer_all(client(), calls)
    assert refused.failure is not None
    assert (refused.failure.kind, missing.failure and missing.failure.kind) == ("refused", "missing")
    assert unreadable.failure is not None
    assert cut.answer is not None
    assert cut.answer.truncated
    assert good.answer is not None
    outcomes = Counter(str(row[0]) for row in ledger.read("SELECT outcome FROM attempts").result())
    # The unreadable line cannot be placed, so its request is missing and the line is kept beside it.
    assert outcomes == {"refused": 1, "missing": 2, "malformed_body": 1}
    batches.item_faults = {}
    assert all(one.answer is not None for one in answer_all(client(), calls))


def test_a_refused_batch_frees_its_requests(
    server: LocalServer, client: Callable[..., BatchClient], ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.batches.refuse = True
    [one] = answer_all(client(), [make_call("q")])
    assert one.failure is not None
    assert "not to our taste" in one.failure.message
    assert ledger.spent("r").result() == (Decimal(0), Decimal(0))
    server.service.batches.refuse = False
    assert answer_all(client(), [make_call("q")])[0].answer is not None


def test_an_expired_batch_keeps_what_it_answered(
    server: LocalServer, client: Callable[..., BatchClient], make_call: MakeCall
) -> None:
    batches = server.service.batches
    batches.final_status, batches.item_faults = "expired", {"late": {"kind": "missing"}}
    early, late = answer_all(client(), [make_call("early"), make_call("late")])
    assert early.answer is not None
    assert late.failure is not None
    assert "expired" in late.failure.message


def test_passing_trouble_in_every_step(
    server: LocalServer, client: Callable[..., BatchClient], make_call: MakeCall
) -> None:
    for step in ("POST files", "POST batches", "GET batches", "GET files"):
        server.service.batches.faults = deque([(step, 500), (step, 429)])
        assert answer_all(client(), [make_call(step)])[0].answer is not None
        assert not server.service.batches.faults, step


def test_a_batch_whose_creation_got_no_reply_is_found_and_not_created_again(
    server: LocalServer, client: Callable[..., BatchClient], make_call: MakeCall
) -> None:
    server.service.batches.lost_replies = 1
    assert answer_all(client(), [make_call("q")])[0].answer is not None
    assert len(server.service.batches.batches) == 1


def test_a_run_that_stopped_after_the_upload_finds_the_batch(
    server: LocalServer, client: Callable[..., BatchClient], make_call: MakeCall
) -> None:
    """The creation happened, its reply and every repetition got lost: the next run asks before it creates."""
    batches = server.service.batches
    batches.lost_replies = 1
    batches.faults = deque()
    with pytest.raises(ModelServiceError, match="Run again to continue"):
        answer_all(client(max_attempts=1), [make_call("q")])
    assert len(batches.batches) == 1
    assert answer_all(client(), [make_call("q")])[0].answer is not None
    assert len(batches.batches) == 1


def test_requests_in_an_open_batch_are_not_sent_online(
    server: LocalServer,
    client: Callable[..., BatchClient],
    settings: Settings,
    ledger: Ledger,
    make_call: MakeCall,
) -> None:
    server.service.batches.lost_replies = 1
    with pytest.raises(ModelServiceError):
        answer_all(client(max_attempts=1), [make_call("q")])
    [one] = answer_all(OnlineClient(settings(), ledger, run="r"), [make_call("q")])
    assert one.failure is not None
    assert one.failure.kind == "held"
    assert server.markers() == []


def test_a_budget_cuts_the_batch_and_says_so(
    server: LocalServer, client: Callable[..., BatchClient], ledger: Ledger, make_call: MakeCall
) -> None:
    calls = [make_call(f"q{i}") for i in range(50)]
    with pytest.raises(BudgetReachedError, match=r"budget_usd 0\.2 is reached"):
        answer_all(client(budget_usd=Decimal("0.2")), calls)
    sent = len(server.markers())
    assert 0 < sent < 50
    spent, reserved = ledger.spent("r").result()
    assert reserved == 0
    assert spent == Decimal("0.0025") * sent <= Decimal("0.2")


def test_equal_calls_share_an_item(
    server: LocalServer, client: Callable[..., BatchClient], make_call: MakeCall
) -> None:
    outcomes = answer_all(client(), [make_call("same"), make_call("same")])
    assert all(one.answer is not None for one in outcomes)
    assert server.markers() == ["same"]


def test_two_models_of_an_endpoint_keep_their_batches_and_prices_apart(
    server: LocalServer, client: Callable[..., BatchClient], ledger: Ledger, make_call: MakeCall
) -> None:
    dear = client(name="dear", model="dear", usd_per_million_input=2000, usd_per_million_output=2000)
    cheap = client(name="cheap", model="cheap")

    async def ask(asked: BatchClient, number: int) -> list[bool]:
        return [one.answer is not None async for one in asked.run([make_call(f"{asked.name} {number}")])]

    async def both() -> list[list[bool]]:
        return await asyncio.gather(*(ask(one, number) for number in range(10) for one in (dear, cheap)))

    assert asyncio.run(both()) == [[True]] * 20
    assert len(server.service.batches.batches) == 20
    # 4 tokens in, 2 out, half price.
    assert ledger.spent("r").result() == (Decimal("0.003") * 30, Decimal(0))


def test_a_batch_needs_a_folder_when_the_ledger_has_none(settings: Settings) -> None:
    with Ledger(None) as ledger, pytest.raises(InputError, match="batch_folder"):
        open_client(settings(), ledger=ledger, run="r", mode="batch")
