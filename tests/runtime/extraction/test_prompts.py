"""Prompts: what they ask, how windows and answers are written, and what changes their hash."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from engrain.runtime.errors import InputError
from engrain.runtime.extraction import prompts
from engrain.runtime.extraction.parsing import parse_records
from engrain.runtime.extraction.prompts import PROMPT_HASH, extraction_messages, render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Dimensions, ExtractedRecord, MemoryType, Role, Turn, WindowStyle

START = datetime(2026, 2, 2, 9, 52, tzinfo=UTC)
WINDOW = Window(
    tuple(
        Turn(
            id=f"t{n}",
            session_id="s",
            role=Role.USER,
            speaker="Ana",
            text=text,
            timestamp=START + timedelta(seconds=n / 2),
        )
        for n, text in enumerate(["I have a cat.", "明天去杭州。", "His name is Félix 🐈"])
    ),
    overlap=1,
)
RECORDS = (
    ExtractedRecord(
        source_id=2,
        content="用户2026-02-03去杭州。",
        dimension=Dimensions(
            memory_type=MemoryType.EPISODIC, time="2026-02-03", location="杭州", keywords=("杭州", "旅行")
        ),
    ),
    ExtractedRecord(
        source_id=3,
        content='The user\'s cat is called "Félix" 🐈.',
        dimension=Dimensions(memory_type=MemoryType.FACT, keywords=("cat", "Félix")),
    ),
)


@pytest.mark.parametrize("style", list(WindowStyle))
def test_the_full_prompt_states_every_rule(style: WindowStyle) -> None:
    system, user = extraction_messages(WINDOW, style, "full")
    assert (system["role"], user["role"]) == ("system", "user")
    for word in ("source_id", "content", "memory_type", "time", "location", "reason", "purpose", "keywords"):
        assert f"- {word}:" in system["content"]
    for word in ('"fact"', '"episodic"', '"profile"', "start/end", "empty string", "do not translate", "timestamp"):
        assert word in system["content"]
    assert "Context only, already processed" in system["content"]
    assert '{"memories":[]}' in system["content"]


def test_the_compact_prompt_is_short() -> None:
    for style in WindowStyle:
        system = extraction_messages(WINDOW, style, "compact")[0]["content"]
        assert len(system.split()) < 60
        for word in ("source_id", "memory_type", "keywords", "time", "location", "reason", "purpose", "context"):
            assert word in system


def test_styles_ask_for_different_subjects() -> None:
    for prompt in PROMPT_HASH:
        user_style, two_people = (extraction_messages(WINDOW, style, prompt)[0]["content"] for style in WindowStyle)
        assert user_style != two_people


def test_context_messages_stand_apart_and_keep_the_numbering() -> None:
    text = extraction_messages(WINDOW, WindowStyle.LOCOMO)[1]["content"]
    assert text.splitlines() == [
        "Context only, already processed:",
        "[2026-02-02T09:52:00+00:00, Mon] 1.Ana: I have a cat.",
        "New messages:",
        "[2026-02-02T09:52:00.500+00:00, Mon] 2.Ana: 明天去杭州。",
        "[2026-02-02T09:52:01+00:00, Mon] 3.Ana: His name is Félix 🐈",
    ]
    without = extraction_messages(Window(WINDOW.turns), WindowStyle.LOCOMO)[1]["content"]
    assert len(without.splitlines()) == 3


def test_full_answers_hold_every_dimension_and_compact_ones_only_the_filled() -> None:
    full = json.loads(render_records(RECORDS))["memories"][1]["dimension"]
    assert list(full) == ["memory_type", "time", "location", "reason", "purpose", "keywords"]
    compact = json.loads(render_records(RECORDS, "compact"))["memories"][1]["dimension"]
    assert compact == {"memory_type": "fact", "keywords": ["cat", "Félix"]}
    assert render_records([], "compact") == '{"memories":[]}'
    assert "杭州" in render_records(RECORDS) and ": " not in render_records(RECORDS[:1])


@pytest.mark.parametrize("prompt", ["full", "compact"])
def test_what_is_rendered_parses_back_equal(prompt: str) -> None:
    result = parse_records(render_records(RECORDS, prompt), WINDOW)
    assert result.records == RECORDS
    assert result.valid_json and not result.truncated and not result.rejects


def test_the_hash_follows_the_wording(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PROMPT_HASH["full"] != PROMPT_HASH["compact"]
    assert prompts._hash_of("compact") == PROMPT_HASH["compact"]
    monkeypatch.setitem(prompts._TEMPLATES, "compact", prompts._COMPACT + " ")
    assert prompts._hash_of("compact") != PROMPT_HASH["compact"]


def test_an_unknown_prompt_is_refused() -> None:
    with pytest.raises(InputError, match="'short'; use one of compact, full"):
        extraction_messages(WINDOW, WindowStyle.LOCOMO, "short")
    with pytest.raises(InputError, match="'short'"):
        render_records([], "short")
