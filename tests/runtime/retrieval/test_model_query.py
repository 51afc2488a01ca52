"""Questions read by a model over a real HTTP server: the request, the answer, and the rules as its net."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.retrieval.model_query import ModelParser, read_conditions
from engrain.runtime.retrieval.query import parse_question
from engrain.runtime.schema import MemoryType

# importlib mode puts no test folder on the path; the server belongs to the client's tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "llm"))

from local_server import LocalServer

ASKED = datetime(2023, 4, 29, 12, tzinfo=UTC)
QUESTION = "How many days did I spend on camping trips in the United States this year?"
ANSWER = {
    "query_anchor": "days the user spent on camping trips in the United States this year",
    "need_assistant_context": False,
    "dimension": {
        "target_memory_type": ["episodic"],
        "keywords": ["camping trips", "United States"],
        "time": "between 2023-01-01 and 2023-04-29",
        "location": "United States",
    },
    "answer_dim": "content",
}


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        running.service.reply = json.dumps(ANSWER)
        yield running


@pytest.fixture
def parser(server: LocalServer, tmp_path: Path) -> Iterator[ModelParser]:
    settings = EndpointSettings(name="parser", base_url=server.url, model="m", backoff_s=0.01, max_attempts=2)
    with Ledger(tmp_path / "ledger.db") as ledger:
        yield ModelParser(open_client(settings, ledger=ledger, run="test"))


def test_a_question_is_read_in_the_papers_schema(parser: ModelParser, server: LocalServer) -> None:
    parsed = parser.parse(QUESTION, ASKED)

    assert parsed.target_types == (MemoryType.EPISODIC,) and parsed.location == "United States"
    assert parsed.keywords == ("camping trips", "United States") and parsed.anchor == ANSWER["query_anchor"]
    [constraint] = parsed.time_constraints
    assert (constraint.relation, constraint.start.isoformat(), constraint.end.isoformat()) == (
        "between", "2023-01-01T00:00:00+00:00", "2023-04-30T00:00:00+00:00",
    )  # fmt: skip
    [body] = server.service.bodies
    assert (body["temperature"], body["max_tokens"]) == (0.0, 2048)
    assert "2023-04-29 (Sat)" in body["messages"][1]["content"] and QUESTION in body["messages"][1]["content"]


def test_a_question_is_asked_once_a_day(parser: ModelParser, server: LocalServer) -> None:
    first, again = parser.parse(QUESTION, ASKED), parser.parse(QUESTION, ASKED.replace(hour=20))

    assert first == again and len(server.service.bodies) == 1
    parser.parse(QUESTION, ASKED.replace(day=28))
    assert len(server.service.bodies) == 2 and parser.counts["cached"] == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"reply": "no JSON at all"}, "schema"),
        ({"reply": '{"dimension": ' + "[" * 50_000 + "]" * 50_000 + "}"}, "schema"),
        ({"reply": json.dumps({**ANSWER, "answer_dim": "colour"})}, "schema"),
        ({"reply": json.dumps({**ANSWER, "dimension": {"time": "in spring"}})}, "time"),
        ({"reply": json.dumps({**ANSWER, "dimension": {"time": "between 2023-05 and 2023-01"}})}, "time"),
        ({"faults": [{"kind": "truncated"}]}, "cut"),
        ({"faults": [{"kind": "status", "status": 400}]}, "service"),
    ],
)
def test_what_cannot_be_used_falls_back_to_the_rules_and_is_counted(
    parser: ModelParser, server: LocalServer, change: dict[str, Any], reason: str
) -> None:
    server.service.configure(dict(change))

    assert parser.parse(QUESTION, ASKED) == parse_question(QUESTION, ASKED)
    assert parser.counts["fell_back"] == 1 and parser.counts[f"fell_back: {reason}"] == 1


def test_fenced_json_and_a_single_type_are_read(parser: ModelParser, server: LocalServer) -> None:
    answer = {**ANSWER, "dimension": {**dict(ANSWER["dimension"]), "target_memory_type": "fact"}}  # type: ignore[call-overload]
    server.service.reply = f"Here it is:\n```json\n{json.dumps(answer)}\n```"

    assert parser.parse(QUESTION, ASKED).target_types == (MemoryType.FACT,) and not parser.counts["fell_back"]


def test_conditions_in_every_form() -> None:
    found = read_conditions("after 2023-06-20; before 2023-07; on 2022; around 2023-07-01", UTC)

    assert [one.relation for one in found] == ["after", "before", "on", "around"]
    assert found[2].start == datetime(2022, 1, 1, tzinfo=UTC) and found[2].end == datetime(2023, 1, 1, tzinfo=UTC)
    assert read_conditions("", UTC) == ()
