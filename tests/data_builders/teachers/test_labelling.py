"""Asking teachers over real HTTP: corrections, failures, stopping, and never buying twice."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from label_samples import candidate
from label_server import TeacherServer, good_answer

from engrain.data_builders.teachers.calibration import Language
from engrain.data_builders.teachers.labelling import ask_teachers
from engrain.data_builders.teachers.rubric import load_rubric
from engrain.data_builders.teachers.settings import AnnotationSettings
from engrain.runtime.errors import ModelServiceError
from engrain.runtime.llm.chat import ModelClient

Teachers = Callable[..., list[ModelClient]]
RUBRIC = load_rubric(Language.ENGLISH)
SETTINGS = AnnotationSettings(language=Language.ENGLISH)
CANDIDATES = [candidate(text) for text in ("I prefer tea", "my plan: fly", "I saw a bird", "many thanks")]


def test_every_teacher_votes_on_every_candidate_in_order(server: TeacherServer, teachers: Teachers) -> None:
    seen: list[tuple[int, int]] = []
    results = ask_teachers(
        teachers("a", "b", "odd"), CANDIDATES, RUBRIC, SETTINGS, lambda done, total: seen.append((done, total))
    )
    assert [[one.teacher for one in row] for row in results] == [["a", "b", "odd"]] * 4
    votes = [row[0].vote for row in results]
    assert [vote.admit for vote in votes if vote] == [True, True, False, False]
    assert votes[0] and votes[0].evidence == ("I prefer tea",), "case-only differences are normalised"
    assert results[0][0].reason == "It says: I prefer tea"
    assert len(server.service.bodies) == 12 and seen[-1] == (12, 12)


def test_an_invalid_answer_is_corrected_with_feedback_and_target(server: TeacherServer, teachers: Teachers) -> None:
    bad = json.dumps(good_answer("I prefer tea") | {"confidence": 7})
    server.service.bad["a", "prefer"] = [bad, "no json at all"]
    [(first, *_), *_] = ask_teachers(teachers("a"), CANDIDATES, RUBRIC, SETTINGS)
    assert first.vote is not None and first.attempts == 3
    [one, two, three] = server.asked("prefer")
    assert len(one["messages"]) == 2
    assert two["messages"][2]["content"] == bad and "confidence is 7" in two["messages"][3]["content"]
    assert "[TARGET]\nS1: I prefer tea" in two["messages"][3]["content"]
    assert "no JSON object" in three["messages"][3]["content"]
    assert len(server.service.bodies) == 4 + 2, "only the invalid answer is asked for again"


def test_two_retries_and_no_more(server: TeacherServer, teachers: Teachers) -> None:
    server.service.bad["a", "saw"] = ["x", "y", "z", "never asked for"]
    results = ask_teachers(teachers("a"), CANDIDATES, RUBRIC, SETTINGS)
    assert results[2][0].vote is None and results[2][0].attempts == 3
    assert "holds no JSON object" in results[2][0].faults[0]
    assert len(server.asked("saw")) == 3


def test_a_cut_answer_is_told_to_be_shorter_and_not_shown_back(server: TeacherServer, teachers: Teachers) -> None:
    cut = json.dumps(good_answer("I prefer tea"))[:50]
    server.service.bad["a", "prefer"] = [cut]
    server.service.finish[cut] = "length"
    [(first, *_), *_] = ask_teachers(teachers("a"), CANDIDATES[:1], RUBRIC, SETTINGS)
    assert first.vote is not None and first.attempts == 2
    _, again = server.asked("prefer")
    assert [message["role"] for message in again["messages"]] == ["system", "user"]
    assert "cut off at the token limit" in again["messages"][1]["content"]


def test_a_filtered_answer_is_not_asked_for_again(server: TeacherServer, teachers: Teachers) -> None:
    server.service.bad["a", "prefer"] = ["withheld"]
    server.service.finish["withheld"] = "content_filter"
    [(first,)] = ask_teachers(teachers("a"), CANDIDATES[:1], RUBRIC, SETTINGS)
    assert first.vote is None and first.faults == ("the endpoint filtered the answer",)
    assert len(server.service.bodies) == 1


def test_a_second_run_sends_nothing_and_gives_the_same(server: TeacherServer, teachers: Teachers) -> None:
    server.service.bad["a", "plan"] = ["{}"]
    first = ask_teachers(teachers("a", "b"), CANDIDATES, RUBRIC, SETTINGS)
    sent = len(server.service.bodies)
    assert ask_teachers(teachers("a", "b"), CANDIDATES, RUBRIC, SETTINGS) == first
    assert len(server.service.bodies) == sent == 9


def test_a_call_without_an_answer_is_told_and_asked_again_next_time(server: TeacherServer, teachers: Teachers) -> None:
    server.service.faults.append({"kind": "status", "status": 500})
    results = ask_teachers(teachers("a", concurrency=1, max_attempts=1), CANDIDATES, RUBRIC, SETTINGS)
    assert results[0][0].failure.startswith("server_error") and results[0][0].vote is None
    again = ask_teachers(teachers("a"), CANDIDATES, RUBRIC, SETTINGS)
    assert again[0][0].vote is not None and len(server.asked("prefer")) == 2


def test_a_teacher_that_keeps_answering_badly_is_stopped_with_three_samples(
    server: TeacherServer, teachers: Teachers
) -> None:
    server.service.always = '{"verdict": "keep"}'
    many = [candidate(f"I prefer tea number {number}") for number in range(200)]
    settings = SETTINGS.model_copy(update={"judged_over": 10})
    with pytest.raises(ModelServiceError, match=r"teacher 'a' was stopped: 10 of its last 10") as stopped:
        ask_teachers(teachers("a", concurrency=4), many, RUBRIC, settings)
    message = str(stopped.value)
    assert message.count('answer: {"verdict": "keep"}') == 3
    assert "unknown fields: verdict" in message
    assert len(server.service.bodies) < 40


def test_one_stopped_teacher_stops_the_others(server: TeacherServer, teachers: Teachers) -> None:
    many = [candidate(f"I prefer tea number {number}") for number in range(400)]
    server.service.bad["bad", "prefer"] = ["nothing"] * 1000
    server.service.latency_s = 0.02
    settings = SETTINGS.model_copy(update={"judged_over": 8})
    with pytest.raises(ModelServiceError, match="teacher 'bad' was stopped"):
        ask_teachers(teachers("bad", "good", concurrency=4), many, RUBRIC, settings)
    assert len(server.service.bodies) < 200
