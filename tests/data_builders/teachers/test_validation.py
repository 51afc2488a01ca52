"""A.1's local validation: what passes, what is mended, and what each fault is called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engrain.data_builders.teachers.validation import ValidAnswer, validate

TARGET = "I'm moving to Oslo on May 3. (Straße 5+)"
GOOD = {
    "primary_memory_type": "prospective",
    "context_dependency": "self_contained",
    "candidate_memory": True,
    "confidence": 0.91,
    "evidence": ["moving to Oslo"],
    "reason": "A move is planned.",
}


def answer(**changes: Any) -> str:
    return json.dumps({name: value for name, value in (GOOD | changes).items() if value != "absent"})


def test_a_good_answer_is_a_vote() -> None:
    read = validate(answer(), TARGET)
    assert isinstance(read, ValidAnswer)
    vote = read.vote("t")
    assert (vote.teacher, vote.admit, vote.auxiliary_type.value, vote.confidence) == ("t", True, "prospective", 0.91)
    assert vote.evidence == ("moving to Oslo",) and read.reason == "A move is planned."


@pytest.mark.parametrize("confidence", [0, 1, 0.5])
def test_confidence_may_be_a_whole_number(confidence: float) -> None:
    read = validate(answer(confidence=confidence), TARGET)
    assert isinstance(read, ValidAnswer) and read.confidence == confidence


@pytest.mark.parametrize(("given", "kept"), [("MOVING TO OSLO", "moving to Oslo"), ("(STRASSE", None), ("5+)", "5+)")])
def test_evidence_takes_the_targets_case_and_nothing_else_is_mended(given: str, kept: str | None) -> None:
    read = validate(answer(evidence=[given]), TARGET)
    assert (read.evidence if isinstance(read, ValidAnswer) else None) == (None if kept is None else (kept,))


@pytest.mark.parametrize("around", ["Sure:\n```json\n{}\n```\nDone.", "{}", "\n {} "])
def test_words_around_the_object_are_passed_over(around: str) -> None:
    assert isinstance(validate(around.replace("{}", answer()), TARGET), ValidAnswer)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"primary_memory_type": "fact"}, 'primary_memory_type is "fact"; write one of personal_semantic'),
        ({"primary_memory_type": ["prospective"]}, "primary_memory_type is"),
        ({"context_dependency": "absent"}, "context_dependency is null"),
        ({"candidate_memory": "true"}, 'candidate_memory is "true"; write true or false'),
        ({"candidate_memory": 1}, "candidate_memory is 1"),
        ({"primary_memory_type": "non_memory"}, "candidate_memory is true for non_memory"),
        ({"confidence": 1.01}, "confidence is 1.01; write a number from 0 to 1"),
        ({"confidence": -0.1}, "confidence is -0.1"),
        ({"confidence": True}, "confidence is true"),
        ({"confidence": "0.9"}, 'confidence is "0.9"'),
        ({"confidence": 10**400}, "confidence is 1000"),
        ({"evidence": ["\ud800"]}, 'evidence "?" does not stand in the target'),
        ({"evidence": []}, "evidence is []; write a list of 1 to 3"),
        ({"evidence": ["I"] * 4}, "write a list of 1 to 3"),
        ({"evidence": "moving"}, "write a list of 1 to 3"),
        ({"evidence": ["I", "moving to Bergen"]}, '"moving to Bergen" does not stand in the target'),
        ({"evidence": ["  "]}, "does not stand in the target"),
        ({"evidence": [3]}, "evidence 3 does not stand"),
        ({"evidence": ["moving  to Oslo"]}, "does not stand in the target"),
        ({"reason": ""}, 'reason is ""'),
        ({"reason": 5}, "reason is 5"),
        ({"note": "x"}, "unknown fields: note"),
    ],
)
def test_a_fault_names_field_value_and_what_to_write(changes: dict[str, Any], fault: str) -> None:
    faults = validate(answer(**changes), TARGET)
    assert isinstance(faults, list) and len(faults) == 1 and fault in faults[0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "holds no JSON object"),
        ("[1]", "holds no JSON object"),
        (answer()[:60], "not valid JSON"),
        (answer() + answer(), "more than one JSON object"),
        (answer().replace("0.91", "NaN"), "NaN is not JSON"),
        (answer().replace('"reason"', '"confidence"'), "stands there twice"),
        ("{" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_no_single_object_is_one_fault(text: str, fault: str) -> None:
    faults = validate(text, TARGET)
    assert isinstance(faults, list) and len(faults) == 1 and fault in faults[0]


def test_all_faults_are_told_at_once() -> None:
    faults = validate(answer(confidence=2, evidence=["no"], reason=None), TARGET)
    assert isinstance(faults, list) and len(faults) == 3


def test_half_a_character_is_no_reason_to_stop_a_run() -> None:
    read = validate(answer(reason="moving \ud83d"), TARGET)
    assert isinstance(read, ValidAnswer) and read.reason == "moving ?"


def test_no_depth_of_nesting_stops_a_run() -> None:
    # Around the interpreter's limit, a value can be read that can no longer be written.
    for depth in range(900, 1000):
        assert isinstance(validate(answer().replace("0.91", "[" * depth + "]" * depth), TARGET), list)
