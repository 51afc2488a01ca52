"""LongMemEval's reader: items, sessions in order of time, evidence, and files that are not in the layout."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.longmemeval import LongMemEvalSource
from engrain.runtime.errors import InputError


def item(**changes: Any) -> dict[str, Any]:
    return {
        "question_id": "a1",
        "question_type": "multi-session",
        "question": "How many bikes do I have?",
        "question_date": "2023/05/20 (Sat) 02:21",
        "answer": 2,
        "answer_session_ids": ["s1"],
        "haystack_session_ids": ["s1", "s2", "s1"],
        "haystack_dates": ["2023/05/03 (Wed) 10:00", "2023/05/02 (Tue) 10:00", "2023/05/04 (Thu) 10:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I have two bikes.", "has_answer": True},
                {"role": "assistant", "content": " "},
            ],
            [{"role": "user", "content": "Hi."}],
            [{"role": "user", "content": "Again."}],
        ],
    } | changes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "longmemeval.json"


def test_sessions_come_in_order_of_time_and_a_repeated_one_is_one_of_its_own(file: Path) -> None:
    file.write_text(json.dumps([item(), item(question_id="b_abs")]))
    source = LongMemEvalSource(file)
    (question, sessions), (other, _) = source.items()
    assert [one.session.id for one in sessions] == ["a1/s2", "a1/s1", "a1/s1#2"]
    assert {one.person for one in sessions} == {"a1"}
    assert (question.answer, question.evidence, question.evidence_turns) == ("2", ("a1/s1",), ("a1/s1/t001",))
    assert (question.abstention, other.abstention) == (False, True)
    assert source.empty_turns == 2
    assert question.asked_at.isoformat() == "2023-05-20T02:21:00+00:00"


def test_only_chosen_items_are_read(file: Path) -> None:
    file.write_text(json.dumps([item(), item(question_id="a2")]))
    assert [question.id for question in LongMemEvalSource(file, items=["a2"]).questions()] == ["a2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (item(haystack_dates=["2023/05/03 (Wed) 10:00"]), "three lists differ in length"),
        (item(question_date="yesterday"), "item a1: .*yesterday"),
        (item(haystack_sessions=[[{"role": "bot", "content": "x"}], [], []]), "haystack_sessions.0.0.role"),
        ({"question_id": "a1"}, "question_type: Field required"),
    ],
)
def test_another_layout_names_the_item(file: Path, given: dict[str, Any], message: str) -> None:
    file.write_text(json.dumps([item(question_id="good"), given]))
    with pytest.raises(InputError, match=message) as caught:
        list(LongMemEvalSource(file).sessions())
    assert "longmemeval.json" in str(caught.value)
    assert "1 row before it is good" in str(caught.value)


def test_the_published_items_name_sessions_that_exist() -> None:
    folder = Path(os.environ.get("ENGRAIN_DATA", "absent")) / "longmemeval"
    if not folder.is_dir():
        pytest.skip("ENGRAIN_DATA has no LongMemEval")
    for question, sessions in LongMemEvalSource(next(folder.glob("*.json"))).items():
        ids = {one.session.id for one in sessions}
        assert set(question.evidence) <= ids
        turns = {turn.id for one in sessions for turn in one.session.turns}
        assert set(question.evidence_turns) <= turns
