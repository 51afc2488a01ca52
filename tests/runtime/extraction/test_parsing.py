"""Parsing: everything models put around and into their JSON; valid records survive, the rest has a reason."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrain.runtime.extraction.parsing import parse_records
from engrain.runtime.extraction.validation import RejectReason
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import MemoryType, Role, Turn

WINDOW = Window(
    tuple(
        Turn(
            id=f"t{number}",
            session_id="s",
            role=Role.USER,
            speaker="User",
            text="words",
            timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for number in range(4)
    ),
    overlap=1,
)
DIMENSION = {"memory_type": "fact", "time": "2026-01", "location": "", "reason": "", "purpose": "", "keywords": ["tea"]}


def record(source_id: Any = 2, content: Any = "The user likes tea.", **dimension: Any) -> dict[str, Any]:
    return {"source_id": source_id, "content": content, "dimension": {**DIMENSION, **dimension}}


def document(*records: Any) -> str:
    return json.dumps({"memories": records}, ensure_ascii=False)


def reasons(text: str) -> list[RejectReason]:
    return [reject.reason for reject in parse_records(text, WINDOW).rejects]


@pytest.mark.parametrize(
    "text",
    [
        document(record()),
        f"Here are the memories you asked for:\n\n{document(record())}\nLet me know {{if}} you need more.",
        f"```json\n{document(record())}\n```",
        f"<think>\nThe user says {{tea}}. {document(record(3))}\n</think>\n\n{document(record())}",
        f"so it is a fact\n</think>{document(record())}",
        f"<think></think>{json.dumps([record()])}",
        json.dumps({"records": [record()]}),
        document(record()).replace("likes tea", "likes\ntea"),
    ],
)
def test_what_stands_around_the_json_is_forgiven(text: str) -> None:
    result = parse_records(text, WINDOW)
    assert [found.source_id for found in result.records] == [2]
    assert result.valid_json and not result.truncated and result.rejects == ()


def test_an_empty_list_is_a_valid_answer() -> None:
    result = parse_records('{"memories": []}', WINDOW)
    assert result.valid_json and not result.records and not result.rejects
    assert parse_records("[]", WINDOW).valid_json


@pytest.mark.parametrize("source_id", ["2", 2.0, "#2", "2.", "message 2", [2]])
def test_forms_of_the_source_number(source_id: Any) -> None:
    assert parse_records(document(record(source_id)), WINDOW).records[0].source_id == 2


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ("tea, green tea;mug", ("tea", "green tea", "mug")),
        ("茶、杯子", ("茶", "杯子")),
        ([" tea ", "tea", ""], ("tea",)),
        (None, ()),
        ("", ()),
    ],
)
def test_forms_of_keywords(keywords: Any, expected: tuple[str, ...]) -> None:
    (found,) = parse_records(document(record(keywords=keywords)), WINDOW).records
    assert found.dimension.keywords == expected


def test_missing_null_and_number_dimensions_and_flat_records() -> None:
    flat = {"source_id": 3, "content": "The user moved.", "memory_type": "Episodic ", "time": 2025, "reason": None}
    (found,) = parse_records(document(flat), WINDOW).records
    assert found.dimension.memory_type is MemoryType.EPISODIC
    assert (found.dimension.time, found.dimension.reason, found.dimension.keywords) == ("2025", "", ())


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record(1), RejectReason.IN_OVERLAP),
        (record(0), RejectReason.OUTSIDE_WINDOW),
        (record(5), RejectReason.OUTSIDE_WINDOW),
        (record(-2), RejectReason.OUTSIDE_WINDOW),
        (record("two"), RejectReason.BAD_SOURCE),
        (record(None), RejectReason.BAD_SOURCE),
        (record(True), RejectReason.BAD_SOURCE),
        (record(content="  "), RejectReason.NO_CONTENT),
        (record(content={"text": "x"}), RejectReason.NO_CONTENT),
        (record(memory_type="event"), RejectReason.UNKNOWN_TYPE),
        (record(memory_type=""), RejectReason.UNKNOWN_TYPE),
        (record(location={"city": "Oslo"}), RejectReason.BAD_DIMENSION),
        (record(keywords=[{"word": "tea"}]), RejectReason.BAD_DIMENSION),
        ({**record(), "dimension": "fact"}, RejectReason.BAD_DIMENSION),
        (record(time="next week"), RejectReason.BAD_TIME),
        (record(time="2026-02-30"), RejectReason.BAD_TIME),
        ("The user likes tea.", RejectReason.NOT_AN_OBJECT),
    ],
)
def test_a_bad_record_is_rejected_alone(bad: Any, reason: RejectReason) -> None:
    result = parse_records(document(record(3, "Good."), bad), WINDOW)
    assert [found.content for found in result.records] == ["Good."]
    assert [(reject.reason, json.loads(reject.raw)) for reject in result.rejects] == [(reason, bad)]
    assert result.valid_json


def test_repeated_records_are_counted() -> None:
    assert reasons(document(record(), record(content="the user  LIKES tea."))) == [RejectReason.REPEATED]


def test_an_echoed_format_does_not_hide_the_answer() -> None:
    result = parse_records(document(record(1, "")) + "\n" + document(record()), WINDOW)
    assert len(result.records) == 1
    assert [reject.reason for reject in result.rejects] == [RejectReason.NO_CONTENT]


def test_several_documents_are_all_read() -> None:
    result = parse_records("\n".join(document(record(number)) for number in (2, 3, 4)), WINDOW)
    assert [found.source_id for found in result.records] == [2, 3, 4]


def test_records_one_a_line_are_read_but_are_not_the_document() -> None:
    result = parse_records("\n".join(json.dumps(record(number)) for number in (2, 3)), WINDOW)
    assert len(result.records) == 2
    assert not result.valid_json and not result.truncated and result.rejects == ()


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_truncated_answer_keeps_its_complete_records(cut: int) -> None:
    whole = document(record(2), record(3, "The user has [two] {cats}.", keywords=[]))
    result = parse_records(whole[:-cut], WINDOW)
    assert result.truncated and not result.valid_json
    assert len(result.records) == (2 if cut < 3 else 1)
    assert result.rejects[-1].reason is RejectReason.TRUNCATED


def test_an_unfinished_thought_is_truncated() -> None:
    result = parse_records('<think>I should write {"memories": []} but', WINDOW)
    assert result.truncated and not result.valid_json and not result.records


@pytest.mark.parametrize("text", ["", "I cannot help with that.", "{'memories': []}", '{"answer": 42}', "[1, 2]"])
def test_answers_without_json_say_so(text: str) -> None:
    result = parse_records(text, WINDOW)
    assert not result.valid_json and not result.truncated
    assert [reject.reason for reject in result.rejects] == [RejectReason.NO_JSON]
    assert result.rejects[0].raw == text


def test_half_a_surrogate_pair_becomes_storable() -> None:
    text = '{"memories":[{"source_id":2,"content":"A cat \\ud83d","dimension":{"memory_type":"fact"}}]}'
    (found,) = parse_records(text, WINDOW).records
    found.content.encode("utf-8")


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 100_000, '{"a":' * 50_000, "<think>" * 10_000, "9" * 100_000])
def test_hostile_answers_end_quickly(text: str) -> None:
    assert not parse_records(text, WINDOW).records


@given(st.text(alphabet='{}[]",:\\0123abmemories content_source_id<think>/\n', max_size=200))
def test_no_answer_raises_or_vanishes(text: str) -> None:
    result = parse_records(text, WINDOW)
    assert result.valid_json or result.records or result.rejects
