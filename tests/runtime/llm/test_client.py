"""The endpoint generator: completions from outcomes, over a real local server that misbehaves as real ones do."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("openai")

from engrain.runtime.errors import ModelServiceError
from engrain.runtime.extraction.extractor import DimensionalExtractor
from engrain.runtime.extraction.validation import RejectReason
from engrain.runtime.extraction.windows import Window
from engrain.runtime.llm.client import EndpointGenerator
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.schema import Role, Turn, WindowStyle
from engrain.runtime.timestamps import parse_timestamp

Settings = Callable[..., EndpointSettings]


def ask(*questions: str) -> list[list[dict[str, str]]]:
    return [[{"role": "system", "content": "s"}, {"role": "user", "content": question}] for question in questions]


def test_answers_come_in_order_with_the_papers_settings(server: Any, settings: Settings, ledger: Ledger) -> None:
    server.service.reply = "said {marker}"
    server.service.faults_for["a"] = deque([{"kind": "slow", "seconds": 0.2}])
    endpoint = settings(extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    answers = EndpointGenerator.open(endpoint, ledger).generate(ask("a", "b"))
    assert [(one.text, one.finish_reason) for one in answers] == [("said a", "stop"), ("said b", "stop")]
    body = server.service.bodies[0]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 16_384, 0.0)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert EndpointGenerator.open(endpoint, ledger).generate([]) == []


def test_an_answer_in_the_ledger_is_not_bought_again(server: Any, settings: Settings, ledger: Ledger) -> None:
    first = EndpointGenerator.open(settings(), ledger).generate(ask("a", "b"))
    assert EndpointGenerator.open(settings(), ledger).generate(ask("b", "a")) == first[::-1]
    assert len(server.service.bodies) == 2


def test_what_may_pass_is_tried_again(server: Any, settings: Settings, ledger: Ledger) -> None:
    kinds = [{"kind": "status", "status": 500}, {"kind": "drop"}, {"kind": "malformed"}, {"kind": "wrong_shape"}]
    server.service.faults.extend(kinds)
    assert EndpointGenerator.open(settings(), ledger).generate(ask("q"))[0].finish_reason == "stop"
    assert len(server.service.bodies) == 5


def test_a_cut_a_filtered_and_a_refused_answer_stay_with_their_window(
    server: Any, settings: Settings, ledger: Ledger
) -> None:
    server.service.faults_for |= {
        "cut": deque([{"kind": "truncated"}]),
        "filtered": deque([{"kind": "filtered"}]),
        "refused": deque([{"kind": "status", "status": 400}]),
    }
    answers = EndpointGenerator.open(settings(), ledger).generate(ask("cut", "filtered", "refused", "good"))
    assert [answer.finish_reason for answer in answers] == ["length", "error", "error", "stop"]
    assert "filtered" in answers[1].error and "HTTP 400" in answers[2].error
    assert len(server.service.bodies) == 4


def test_a_failed_window_is_kept_and_sent_again(server: Any, settings: Settings, ledger: Ledger) -> None:
    moment = parse_timestamp("2026-03-02T09:30:00+00:00", None)
    turns = [
        Turn(id=f"t{place}", session_id="s", role=Role.USER, speaker="", text=f"word {place}", timestamp=moment)
        for place in range(2)
    ]
    windows = [Window((turn,)) for turn in turns]
    record = {"source_id": 1, "content": "The user said a word.", "dimension": {"memory_type": "fact"}}
    server.service.reply = json.dumps({"memories": [record]})
    server.service.faults.append({"kind": "status", "status": 400})
    generator = EndpointGenerator.open(settings(concurrency=1), ledger)
    extractor = DimensionalExtractor(generator, WindowStyle.LONGMEMEVAL, "compact", "m", size=1)
    results = extractor.extract(windows)
    assert sorted(len(result.records) for result in results) == [0, 1]
    failed = next(result for result in results if not result.records)
    assert (failed.valid_json, failed.rejects[0].reason) == (False, RejectReason.NO_JSON)
    assert [len(result.records) for result in extractor.extract(windows)] == [1, 1]
    assert len(server.service.bodies) == 3, "only the failed window was sent again"


def test_a_service_that_answers_nothing_is_an_error(server: Any, settings: Settings, ledger: Ledger) -> None:
    server.service.faults.extend([{"kind": "status", "status": 400}] * 2)
    with pytest.raises(ModelServiceError, match=r"'teacher' answered none of 2 requests: .*HTTP 400"):
        EndpointGenerator.open(settings(), ledger).generate(ask("a", "b"))


@pytest.mark.parametrize("status", [401, 404])
def test_a_caller_who_is_refused_is_told_at_once(server: Any, settings: Settings, ledger: Ledger, status: int) -> None:
    server.service.faults.extend([{"kind": "status", "status": status}] * 9)
    with pytest.raises(ModelServiceError, match=f"cannot be used: HTTP {status}"):
        EndpointGenerator.open(settings(concurrency=1), ledger).generate(ask(*"abcdefghi"))
    assert len(server.service.bodies) < 4
