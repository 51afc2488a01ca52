"""Memora's questions: the published counts, the sessions they name, and files that are not in the layout."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.memora import MemoraSource
from engrain.data_builders.sources.memora_questions import memora_questions
from engrain.runtime.errors import InputError


def document(**changes: Any) -> dict[str, Any]:
    question = {
        "question_id": "q1",
        "question": "What did I spend on food?",
        "question_date": "2025-06-07",
        "memory_evidence": {
            "food_expenses": [{"amount": 12.0, "expense_type": "food", "session_id": 3}],
            "total_amount": 12.0,
            "goal_data": {"value": 99},
            "content_data": {"project_lead": "Dr. Ode", "stakeholders": ["Ann", "Bo"]},
        },
        "forgetting_evidence": {"forgotten_items": [{"value": "old plan", "session_id": 7}, {"session_id": 8}]},
        "evaluation": {
            "evaluation_questions": [
                {
                    "evaluation_question_id": "e1",
                    "evaluation_question": "Does it say 12?",
                    "expected_answer": "yes",
                    "evaluation_type": "memory_presence",
                },
                {
                    "evaluation_question_id": "e2",
                    "evaluation_question": "Does it mention the old plan?",
                    "expected_answer": "no",
                    "evaluation_type": "forgetting_absence",
                },
            ]
        },
    }
    return {"persona": "ada", "questions": {"reasoning": [question | changes]}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "weekly" / "ada" / "conversations").mkdir(parents=True)
    return tmp_path


def write(root: Path, content: Any) -> None:
    (root / "weekly" / "ada" / "evaluation_questions_ada.json").write_text(json.dumps(content))


def test_values_are_what_a_user_stated_and_not_what_was_derived(root: Path) -> None:
    write(root, document())
    (question,) = memora_questions(root, "weekly")
    assert [value.value for value in question.remembered] == ["12", "Dr. Ode", "Ann", "Bo"]
    assert [(value.value, value.session) for value in question.forgotten] == [("old plan", "weekly/ada/session_0007")]
    assert question.evidence_sessions == ("weekly/ada/session_0003",)
    assert [(one.kind, one.satisfied_by) for one in question.criteria] == [("presence", "yes"), ("forgetting", "no")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected `questions` by task"),
        ({"questions": {"guessing": []}}, "expected `questions` by task"),
        ({"questions": {"reasoning": [{"question_id": "q"}]}}, "reasoning, question 1: expected question"),
        (
            document(evaluation={"evaluation_questions": [{"evaluation_type": "style"}]}),
            "expected an `evaluation_type` of memory_presence, forgetting_absence",
        ),
    ],
)
def test_another_layout_names_file_and_question(root: Path, content: Any, message: str) -> None:
    write(root, content)
    with pytest.raises(InputError, match=message) as caught:
        list(memora_questions(root, "weekly"))
    assert "evaluation_questions_ada.json" in str(caught.value)


def test_a_missing_split_persona_or_file_is_named(root: Path) -> None:
    with pytest.raises(InputError, match="no split 'monthly'"):
        list(memora_questions(root, "monthly"))
    with pytest.raises(InputError, match="has no persona eve; it has ada"):
        list(memora_questions(root, "weekly", ["eve"]))
    with pytest.raises(InputError, match="is missing"):
        list(memora_questions(root, "weekly"))


def test_weekly_has_the_published_counts() -> None:
    data = Path(os.environ.get("ENGRAIN_DATA", "absent"))
    if not (data / "memora").is_dir():
        pytest.skip("ENGRAIN_DATA has no Memora")
    questions = list(memora_questions(data, "weekly"))
    criteria = [one.kind for question in questions for one in question.criteria]
    assert (len(questions), criteria.count("presence"), criteria.count("forgetting")) == (150, 479, 256)
    sessions = {labelled.session.id for labelled in MemoraSource(data, "weekly").sessions()}
    named = {session for question in questions for session in question.evidence_sessions}
    named |= {value.session for question in questions for value in question.forgotten}
    assert named <= sessions
