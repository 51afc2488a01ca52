"""Synthesis against a teacher over HTTP: every answer becomes an example or a reject with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from engrain.data_builders.quality.leaks import Passage, PassageIndex
from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.synthesis.annotation import NamedWindow, annotate, story_windows, wanted
from engrain.data_builders.synthesis.chats import ChatStream
from engrain.data_builders.synthesis.diversity import diversity
from engrain.data_builders.synthesis.rejects import SynthesisReject
from engrain.data_builders.synthesis.settings import ChatSettings, StorySettings, SynthesisSettings
from engrain.data_builders.synthesis.stories import write_stories
from engrain.runtime.extraction.prompts import PROMPT_HASH
from engrain.runtime.extraction.windows import Window
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.schema import Role, Session, Split, Turn, WindowStyle

FAULTS = [
    {"kind": "status", "status": 429, "retry_after": "0"},
    {"kind": "status", "status": 500},
    {"kind": "drop"},
    {"kind": "cut"},
    {"kind": "malformed"},
    {"kind": "wrong_shape"},
    {"kind": "no_usage"},
    {"kind": "truncated"},
    {"kind": "filtered"},
    {"kind": "status", "status": 400},
    {"kind": "prose"},
]


def small(examples: int = 24) -> SynthesisSettings:
    return SynthesisSettings(stories=StorySettings(examples=examples), chats=ChatSettings(examples=0))


def run(
    endpoint: EndpointSettings, settings: SynthesisSettings, before_windows: Callable[[], None] = lambda: None
) -> tuple[list[Any], list[Any], list[Any]]:
    with Ledger(None) as ledger:
        client = open_client(endpoint, ledger=ledger, run="r")
        sessions, rejects = write_stories(client, settings.stories, settings.asking, seed=settings.seed)
        windows = story_windows(sessions, settings.stories.size, settings.stories.overlap)
        before_windows()
        examples, refused = annotate(client, windows, settings, teacher="m")
    return windows, examples, [*rejects, *refused]


def test_a_story_becomes_examples(teacher: Any, endpoint: EndpointSettings) -> None:
    settings = small()
    windows, examples, rejects = run(endpoint, settings)
    # 3 stories of 6 dialogues of 40 messages, 25/5: two windows each.
    assert (settings.stories.stories, len(windows), len(examples), rejects) == (3, 36, 36, [])
    assert teacher.asked == {"plan": 3, "session": 18, "window": 36}
    first = examples[1]
    assert (first.style, first.overlap, len(first.window)) == (WindowStyle.LOCOMO, 5, 20)
    assert first.teacher == "m" and first.prompt_hash == PROMPT_HASH["full"]
    assert [record.source_id for record in first.records] == list(range(6, 21))
    assert {example.split for example in examples} <= {Split.TRAIN, Split.VALIDATION}
    split_of = {example.id.partition("/")[0]: set() for example in examples}
    for example in examples:
        split_of[example.id.partition("/")[0]].add(example.split)
    assert all(len(splits) == 1 for splits in split_of.values()), "a story is in one split"
    days = [example.window[0].timestamp for example in examples[:12:2]]
    assert days == sorted(days)
    assert len(wanted(examples, settings)) == 24
    report = diversity(examples)
    assert (report.examples, report.types, report.fill_rates["location"]) == (36, {"fact": report.records}, 1.0)


def check_every_fault(teacher: Any, endpoint: EndpointSettings, examples: int, rounds: int) -> int:
    """Each fault of the service once among the plans and `rounds` times among the windows; one answer in two spoilt."""
    teacher.spoils = True
    teacher.faults.extend(FAULTS)
    windows, made, rejects = run(endpoint, small(examples), lambda: teacher.faults.extend(FAULTS * rounds))
    reasons = Counter(reject.reason for reject in rejects)
    kept, refused = {example.id for example in made}, {reject.id for reject in rejects}
    assert {one.id for one in windows} <= kept | refused, "no window disappears"
    assert not {one.id for one in windows} - kept - refused
    assert all(reject.detail or reject.raw for reject in rejects)
    for window in (one for one in windows if one.id not in kept):
        assert any(reject.id == window.id for reject in rejects)
    # What was spoilt in one record cost that record only.
    assert len(kept) > len(windows) // 3
    expected = set(SynthesisReject) - {SynthesisReject.LEAK}
    assert expected <= set(reasons), expected - set(reasons)
    return len(windows)


@pytest.mark.full
def test_every_fault_has_its_reason_over_a_thousand_windows(teacher: Any, endpoint: EndpointSettings) -> None:
    assert check_every_fault(teacher, endpoint, 1300, 25) >= 1000


def test_every_fault_has_its_reason(teacher: Any, endpoint: EndpointSettings) -> None:
    assert check_every_fault(teacher, endpoint, 220, 2) >= 100


def test_an_answer_in_the_ledger_is_not_asked_again(teacher: Any, endpoint: EndpointSettings) -> None:
    settings = small()
    with Ledger(None) as ledger:
        client = open_client(endpoint, ledger=ledger, run="r")
        for _ in range(2):
            sessions, _ = write_stories(client, settings.stories, settings.asking, seed=1)
            annotate(client, story_windows(sessions, 25, 5), settings, teacher="m")
    assert sum(teacher.asked.values()) == len(teacher.bodies) == 3 + 18 + 36


def turn(place: str, text: str, role: Role = Role.USER) -> Turn:
    moment = datetime(2026, 3, 2, tzinfo=UTC)
    return Turn(id=place, session_id=place.partition("/")[0], role=role, speaker="", text=text, timestamp=moment)


def chat(name: str, texts: list[str]) -> LabelledSession:
    turns = [turn(f"{name}/{n}", text) for n, text in enumerate(texts)]
    answers = [turn(f"{name}/{n}a", "Sure.", Role.ASSISTANT) for n in range(len(texts))]
    both = tuple(one for pair in zip(turns, answers, strict=True) for one in pair)
    return LabelledSession(Session(id=name, started_at=turns[0].timestamp, turns=both), name)


def test_chats_are_joined_to_windows_of_user_messages() -> None:
    sessions = [chat(f"c{n}", [f"message {n} {m}" for m in range(4)]) for n in range(12)]
    sessions.insert(3, chat("long", ["x" * 3000]))
    stream = ChatStream(sessions, ChatSettings(examples=3))
    found = stream.wanted()
    assert [len(window.turns) for _, _, window in found] == [15, 15, 15]
    assert [window.overlap for _, _, window in found] == [0, 3, 3]
    assert found[0][2].turns[12:] == found[1][2].turns[:3]
    assert {one.role for _, _, window in found for one in window.turns} == {Role.USER}
    moments = [one.timestamp for one in found[0][2].turns]
    assert moments == sorted(moments) and len(set(moments)) == 15
    assert [(reject.id, reject.reason) for reject in stream.rejects] == [("long", SynthesisReject.SCHEMA)]


def test_repetitions_and_leaks_are_not_paid_for(teacher: Any, endpoint: EndpointSettings) -> None:
    said = "I keep three goats in Porto and my sister keeps seven of them in Braga with her neighbours"
    windows = [
        NamedWindow(name, name, WindowStyle.LONGMEMEVAL, Window((turn(f"{name}/t", text),)))
        for name, text in (("a", "I keep goats in Porto."), ("b", "I keep goats in Porto!"), ("c", said))
    ]
    index = PassageIndex([Passage("locomo/1", said)])
    with Ledger(None) as ledger:
        client = open_client(endpoint, ledger=ledger, run="r")
        _, rejects = annotate(client, windows, small(), teacher="m", benchmarks={"locomo": index})
    assert {(reject.id, reject.reason) for reject in rejects} == {
        ("b", SynthesisReject.DUPLICATE),
        ("c", SynthesisReject.LEAK),
    }
    assert len(teacher.bodies) == 1
