"""The project's JSONL form: what is read, and how every fault names its file, line and good rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.jsonl import JsonlSource
from engrain.runtime.errors import InputError
from engrain.runtime.schema import AuxiliaryType, LabelSource, Role
from engrain.runtime.timestamps import parse_zone

Json = dict[str, Any]
Write = Callable[..., Path]


def jsonl_session(name: str = "s1", person: str = "ana", **changes: Any) -> Json:
    """One session in the project's JSONL form: two user turns, an assistant turn between them."""
    turns = [
        {
            "id": f"{name}-t1",
            "role": "user",
            "speaker": "Ana",
            "text": "I moved to Oslo.",
            "timestamp": "2026-01-09T19:12:00+01:00",
            "gate": {"keep": True, "reason": "city", "memory_type": "personal_semantic"},
        },
        {
            "id": f"{name}-t2",
            "role": "assistant",
            "speaker": "Assistant",
            "text": "Nice!",
            "timestamp": "2026-01-09T19:12:20+01:00",
        },
        {
            "id": f"{name}-t3",
            "role": "user",
            "speaker": "Ana",
            "text": "brb 🫖",
            "timestamp": "2026-01-09T19:13:00+01:00",
            "gate": {"keep": False, "memory_type": "non_memory", "context_dependence": "self_contained"},
        },
    ]
    return {"session_id": name, "user_id": person, "started_at": "2026-01-09T19:12:00+01:00", "turns": turns, **changes}


def changed(**turn_changes: Any) -> dict[str, Any]:
    """A second session whose last turn differs; a change to `...` removes the key."""
    session = deepcopy(jsonl_session("s2"))
    turn = session["turns"][2]
    for key, value in turn_changes.items():
        if value is ...:
            del turn[key]
        else:
            turn[key] = value
    return session


def test_sessions_labels_and_offsets_are_read(write_jsonl: Write) -> None:
    path = write_jsonl(jsonl_session("s1"), "", jsonl_session("s2", "ben"))
    first, second = JsonlSource(path).sessions()
    assert (first.session.id, first.person, second.person) == ("s1", "ana", "ben")
    assert [turn.role for turn in first.session.turns] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert first.session.turns[0].timestamp.utcoffset() == timedelta(hours=1)
    assert set(first.labels) == {"s1-t1", "s1-t3"}
    label = first.labels["s1-t1"]
    assert label.keep and label.source is LabelSource.AUTHORED and label.reason == "city"
    assert first.labels["s1-t3"].auxiliary_type is AuxiliaryType.NON_MEMORY


def test_sessions_are_read_lazily(write_jsonl: Write) -> None:
    sessions = JsonlSource(write_jsonl(jsonl_session("s1"), "{broken")).sessions()
    assert isinstance(sessions, Iterator)
    assert next(sessions).session.id == "s1"
    with pytest.raises(InputError, match="line 2"):
        next(sessions)


@pytest.mark.parametrize(
    ("session", "fault"),
    [
        (changed(role="bot"), "turn 's2-t3': the speaker 'bot' is unknown; the role map has assistant, system, user"),
        (changed(text="  "), "turns.2.text.*the text is empty"),
        (changed(timestamp="2026-01-09T19:13:00"), "turn 's2-t3'.*has no time zone"),
        (changed(timestamp="Friday"), "turn 's2-t3'.*'Friday' is not a timestamp"),
        (changed(id=...), "turns.2.id: Field required"),
        (changed(id=""), "turns.2.id.*empty"),
        (changed(mood="glad"), "turns.2.mood: Extra inputs"),
        (changed(id="s1-t1"), "turn id 's1-t1' was used before"),
        (changed(timestamp="2026-01-09T19:12:20+01:00"), "'s2-t3' is not later than 's2-t2'"),
        (changed(gate={"keep": True, "memory_type": "non_memory"}), "non_memory cannot have keep = true"),
        (changed(gate={"reason": "x"}), "turns.2.gate.keep: Field required"),
        (changed(role="assistant"), "has a gate label but is not a user's"),
        (jsonl_session("s1"), "session id 's1' was used before"),
        (jsonl_session("s2", turns=[]), "session 's2' has no turns"),
        (["no", "object"], "row: Input should be"),
    ],
)
def test_a_bad_row_names_file_line_and_good_rows(write_jsonl: Write, session: Any, fault: str) -> None:
    path = write_jsonl(jsonl_session("s1"), json.dumps(session))
    with pytest.raises(InputError, match=fault) as caught:
        list(JsonlSource(path).sessions())
    assert f"{path}, line 2: " in str(caught.value)
    assert str(caught.value).endswith("the 1 row before it is good")


def test_a_cut_last_line_says_so(write_jsonl: Write) -> None:
    rows = [jsonl_session("s1"), jsonl_session("s2"), json.dumps(jsonl_session("s3"))[:-40]]
    with pytest.raises(InputError, match=r"line 3: not valid JSON .*cut off; the 2 rows before it are good"):
        list(JsonlSource(write_jsonl(*rows)).sessions())


def test_missing_empty_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.jsonl is missing"):
        list(JsonlSource(tmp_path / "nothing.jsonl").sessions())
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")
    with pytest.raises(InputError, match="has no rows"):
        list(JsonlSource(empty).sessions())
    empty.write_bytes(b'{"a": "\xff"}\n')
    with pytest.raises(InputError, match="line 1: not valid UTF-8"):
        list(JsonlSource(empty).sessions())


def test_a_stated_zone_and_role_map_are_used(write_jsonl: Write) -> None:
    session = changed(timestamp="2026-01-09 19:13:00", role="visitor")
    roles = {"visitor": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}
    source = JsonlSource(write_jsonl(session), zone=parse_zone("Europe/Oslo"), roles=roles)
    (read,) = source.sessions()
    assert read.session.turns[2].role is Role.USER
    assert read.session.turns[2].timestamp.utcoffset() == timedelta(hours=1)
    assert source.info.time_zone == "Europe/Oslo" and source.info.roles == roles
