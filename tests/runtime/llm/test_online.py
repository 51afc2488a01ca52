"""The online client against a real server that misbehaves in every way a provider does."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from local_server import LocalServer

from engrain.runtime.errors import InputError, ModelServiceError
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, Outcome
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.online import OnlineClient
from engrain.runtime.llm.pricing import BudgetReachedError

Settings = Callable[..., EndpointSettings]
MakeCall = Callable[..., Call]


def attempts(ledger: Ledger) -> Counter[str]:
    return Counter(str(row[0]) for row in ledger.read("SELECT outcome FROM attempts").result())


def test_answers_are_stored_and_never_bought_again(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.reply = "about {marker}"
    client = OnlineClient(settings(), ledger, run="r")
    calls = [make_call(f"q{i}", tag=("turn", i)) for i in range(30)]
    ticks: list[tuple[int, int]] = []
    first = answer_all(client, calls, progress=lambda done, total: ticks.append((done, total)))
    assert [one.answer.text for one in first if one.answer] == [f"about q{i}" for i in range(30)]
    assert [one.call.tag for one in first] == [("turn", i) for i in range(30)]
    assert ticks == [(i + 1, 30) for i in range(30)]
    second = answer_all(OnlineClient(settings(concurrency=3), ledger, run="other"), calls)
    assert all(one.reused for one in second)
    assert [one.answer for one in second] == [one.answer for one in first]
    assert len(server.markers()) == 30


def test_what_is_sent_is_the_body_that_was_hashed(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    call = make_call("q", json_object=True, seed=42, top_p=1.0, extra_body={"enable_thinking": False})
    endpoint = settings(extra_body={"provider": "x"})
    answer_all(OnlineClient(endpoint, ledger, run="r"), [call])
    assert server.service.bodies == [endpoint.resolve(call.request).body()]
    assert server.service.bodies[0]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "fault, outcome",
    [
        ({"kind": "status", "status": 500}, "server_error"),
        ({"kind": "status", "status": 503, "retry_after": 0.05}, "server_error"),
        ({"kind": "status", "status": 429, "retry_after": 0.05}, "rate_limited"),
        ({"kind": "status", "status": 409}, "server_error"),
        ({"kind": "status", "status": 408}, "timeout"),
        ({"kind": "drop"}, "connection"),
        ({"kind": "cut"}, "connection"),
        ({"kind": "malformed"}, "malformed_body"),
        ({"kind": "wrong_shape"}, "malformed_body"),
        ({"kind": "nested"}, "malformed_body"),
        ({"kind": "slow", "seconds": 2.0}, "timeout"),
    ],
)
def test_passing_trouble_is_tried_again(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall, fault: dict[str, object], outcome: str
) -> None:
    server.service.faults = deque([fault, fault])
    [one] = answer_all(OnlineClient(settings(timeout_s=0.5), ledger, run="r"), [make_call("q")])
    assert one.answer is not None
    assert len(server.markers()) == 3
    assert attempts(ledger) == {outcome: 2}


def test_a_paid_body_that_cannot_be_read_is_kept(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.faults = deque([{"kind": "malformed"}])
    answer_all(OnlineClient(settings(), ledger, run="r"), [make_call("q")])
    [(raw,)] = ledger.read("SELECT raw FROM attempts").result()
    assert "paid for" in str(raw)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_request_fails_alone_and_at_once(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall, status: int
) -> None:
    server.service.faults_for = {"bad": deque([{"kind": "status", "status": status}])}
    bad, good = answer_all(OnlineClient(settings(), ledger, run="r"), [make_call("bad"), make_call("good")])
    assert bad.failure is not None
    assert (bad.failure.kind, bad.failure.attempts) == ("refused", 1)
    assert good.answer is not None
    [again] = answer_all(OnlineClient(settings(), ledger, run="r"), [make_call("bad")])
    assert again.answer is not None, "a failure is not cached as done"


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 401},
        {"status": 404},
        {"status": 429, "code": "insufficient_quota"},
        {"status": 429, "retry_after": 999_999_999},
        {"status": 503, "retry_after": "inf"},
    ],
)
def test_an_unusable_endpoint_stops_the_run(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall, fault: dict[str, object]
) -> None:
    server.service.faults = deque([{"kind": "status"} | fault] * 100)
    with pytest.raises(ModelServiceError, match="'teacher' \\(m\\) cannot be used: HTTP"):
        answer_all(OnlineClient(settings(concurrency=2), ledger, run="r"), [make_call(f"{i}") for i in range(50)])
    assert len(server.markers()) <= 4


def test_a_truncated_answer_is_returned_as_such_and_not_retried(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.faults = deque([{"kind": "truncated"}, {"kind": "filtered"}])
    client = OnlineClient(settings(concurrency=1), ledger, run="r")
    cut, filtered = answer_all(client, [make_call("a"), make_call("b")])
    assert cut.answer is not None
    assert cut.answer.truncated
    assert filtered.answer is not None
    assert (filtered.answer.text, filtered.answer.finish_reason) == ("", "content_filter")
    [again] = answer_all(client, [make_call("a")])
    assert again.reused
    assert len(server.markers()) == 2
    [more_room] = answer_all(client, [make_call("a", max_tokens=40)])
    assert not more_room.reused


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "no_usage"},
        {"kind": "usage", "usage": {"prompt_tokens": 3, "completion_tokens": -5}},
        {"kind": "usage", "usage": {"prompt_tokens": 10**30, "completion_tokens": 5}},
    ],
)
def test_missing_or_impossible_usage_is_estimated_and_said_to_be(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall, fault: dict[str, object]
) -> None:
    server.service.faults = deque([fault])
    [one] = answer_all(OnlineClient(settings(), ledger, run="r"), [make_call("q")])
    assert one.answer is not None
    assert not one.answer.usage_reported
    assert one.answer.prompt_tokens > 0
    assert one.answer.completion_tokens > 0


def test_retry_after_pauses_the_whole_endpoint(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.faults_for = {"0": deque([{"kind": "status", "status": 429, "retry_after": 1}])}
    server.service.latency_s = 0.05
    answer_all(OnlineClient(settings(concurrency=4), ledger, run="r"), [make_call(f"{i}") for i in range(40)])
    times = sorted(moment for moment, _ in server.service.arrivals)
    longest = max(later - earlier for earlier, later in itertools.pairwise(times))
    assert longest >= 0.9
    assert attempts(ledger) == {"rate_limited": 1}


def test_a_teacher_that_keeps_failing_is_stopped_with_samples(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.faults = deque([{"kind": "status", "status": 400, "message": f"reason {i}"} for i in range(500)])
    endpoint = settings(concurrency=4, failures_judged_over=10, max_failure_share=0.3)
    with pytest.raises(ModelServiceError) as stopped:
        answer_all(OnlineClient(endpoint, ledger, run="r"), [make_call(f"{i}") for i in range(500)])
    text = str(stopped.value)
    assert "10 of its last 10 calls failed" in text
    assert text.count("reason ") == 3
    assert len(server.markers()) <= 10 + 4


def test_concurrency_is_kept_and_calls_are_drawn_lazily(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.latency_s = 0.02
    drawn = [0]

    def calls() -> Iterator[Call]:
        for index in range(200):
            drawn[0] += 1
            yield make_call(f"{index}")

    async def go() -> None:
        done = 0
        async for _ in OnlineClient(settings(concurrency=7), ledger, run="r").run(calls()):
            done += 1
            assert drawn[0] <= done + 2 * 7
            assert len(asyncio.all_tasks()) <= 2 * 7 + 2, "tasks do not pile up with the number of calls"

    asyncio.run(go())
    assert server.service.most_in_flight == 7


def test_stopping_early_keeps_what_was_in_flight(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.latency_s = 0.1

    async def go() -> None:
        outcomes = OnlineClient(settings(concurrency=5), ledger, run="r").run(make_call(f"{i}") for i in range(100))
        async for _ in outcomes:
            break
        await outcomes.aclose()

    asyncio.run(go())
    assert ledger.read("SELECT count(*) FROM answers").result() == [(len(server.markers()),)]
    assert len(server.markers()) <= 10


def test_equal_calls_in_flight_are_bought_once(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.latency_s = 0.1
    outcomes = answer_all(OnlineClient(settings(), ledger, run="r"), [make_call("same") for _ in range(10)])
    assert all(one.answer is not None for one in outcomes)
    assert server.markers() == ["same"]


def test_a_cancelled_run_logs_its_calls_as_lost(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.latency_s = 5.0

    async def go() -> None:
        async for _ in OnlineClient(settings(concurrency=3), ledger, run="r").run(make_call(f"{i}") for i in range(9)):
            pass

    async def cancelled() -> None:
        running = asyncio.create_task(go())
        while len(server.markers()) < 3:
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert attempts(ledger) == {"lost": 3}
    assert ledger.read("SELECT count(*) FROM claims").result() == [(0,)]


def test_budget_stops_cleanly_and_is_not_exceeded(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    server.service.latency_s = 0.02
    endpoint = settings(concurrency=8, usd_per_million_input="1000", usd_per_million_output="5000")
    calls = [make_call(f"q {i}") for i in range(100)]
    budget = Decimal("0.5")
    outcomes: list[Outcome] = []

    async def go(limit: Decimal) -> None:
        async for one in OnlineClient(endpoint, ledger, run="r", budget_usd=limit).run(calls):
            outcomes.append(one)

    with pytest.raises(BudgetReachedError, match=r"budget_usd 0.5 is reached: 0\.\d+ USD spent"):
        asyncio.run(go(budget))
    spent, reserved = ledger.spent("r").result()
    assert reserved == 0
    # 4 tokens in, 2 out: 0.014 USD a call; at most 0.121 is reserved for one, which bounds what is left unspent.
    assert spent == Decimal("0.014") * len(server.markers())
    assert budget - Decimal("0.15") < spent <= budget
    assert len(outcomes) == len(server.markers())
    asyncio.run(go(Decimal(5)))
    assert len(server.markers()) == 100


def test_budget_needs_prices_and_bounded_answers(settings: Settings, ledger: Ledger, make_call: MakeCall) -> None:
    with pytest.raises(InputError, match="has no prices"):
        OnlineClient(settings(), ledger, run="r", budget_usd=Decimal(1))
    priced = settings(usd_per_million_input=1, usd_per_million_output=1)
    client = OnlineClient(priced, ledger, run="r", budget_usd=Decimal(1))
    with pytest.raises(InputError, match="max_tokens"):
        answer_all(client, [make_call("q", max_tokens=None)])


def test_a_missing_key_stops_before_any_call(
    server: LocalServer, settings: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(InputError, match="NO_SUCH_KEY"):
        OnlineClient(settings(api_key_env="NO_SUCH_KEY"), ledger, run="r")
    assert server.markers() == []


def test_logs_and_ledger_hold_no_key_and_logs_no_text(
    server: LocalServer,
    settings: Settings,
    ledger: Ledger,
    make_call: MakeCall,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TEACHER_KEY", "sk-very-secret")
    caplog.set_level(logging.DEBUG)
    server.service.reply = "the answer's words"
    echo = {"kind": "status", "status": 500, "message": "bad key sk-very-secret, prompt was: private words"}
    server.service.faults = deque([echo])
    answer_all(OnlineClient(settings(api_key_env="TEACHER_KEY"), ledger, run="r"), [make_call("private words")])
    assert server.service.keys == {"Bearer sk-very-secret"}
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    for secret in ("sk-very-secret", "private words", "the answer's words"):
        assert secret not in logged
    events = [record for record in caplog.records if record.name == "engrain.llm"]
    assert [record.__dict__["llm_event"] for record in events] == ["attempt failed", "answered"]
    assert events[0].__dict__["llm_status"] == 500
    assert "sk-very-secret" not in str(ledger.read("SELECT * FROM attempts").result())


def test_the_blocking_call_works_inside_a_running_loop(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    async def notebook_cell() -> list[Outcome]:
        return answer_all(OnlineClient(settings(), ledger, run="r"), [make_call("q")])

    assert asyncio.run(notebook_cell())[0].answer is not None


def test_an_unreachable_endpoint_says_so(ledger: Ledger, make_call: MakeCall) -> None:
    nowhere = EndpointSettings(
        name="gone", base_url="http://127.0.0.1:9/v1", model="m", backoff_s=0.01, max_attempts=2, failures_judged_over=3
    )
    start = time.monotonic()
    with pytest.raises(ModelServiceError, match="connection: ConnectError"):
        answer_all(OnlineClient(nowhere, ledger, run="r"), [make_call(f"{i}") for i in range(20)])
    assert time.monotonic() - start < 20
