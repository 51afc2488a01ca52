"""Memora in its published layout, small and generated, and the real splits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.memora import MemoraSource
from engrain.runtime.errors import InputError
from engrain.runtime.schema import LabelSource, Role

Make = Callable[..., dict[str, Any]]
Write = Callable[[str, list[dict[str, Any]]], Path]
TALK = [("ai_agent", "Hello!", False), ("user_agent", "I bought a bike.", True), ("user_agent", "Bye.", False)]


def test_roles_labels_metadata_and_order(write_memora: Write, memora_session: Make) -> None:
    root = write_memora("weekly", [memora_session(number, "writer", TALK) for number in (10, 2, 1)])
    sessions = list(MemoraSource(root, "weekly").sessions())
    assert [labelled.metadata["session_id"] for labelled in sessions] == [1, 2, 10]
    first = sessions[0]
    assert first.person == "writer"
    assert [turn.role for turn in first.session.turns] == [Role.ASSISTANT, Role.USER, Role.USER]
    assert first.session.turns[1].speaker == "user_agent"
    labels = [(label.keep, label.source) for label in first.labels.values()]
    assert labels == [(True, LabelSource.RELEASED), (False, LabelSource.RELEASED)]
    assert first.metadata["session_type"] == "activity" and first.metadata["operation"] == "add"


def test_times_are_stated_and_half_a_second_apart(write_memora: Write, memora_session: Make) -> None:
    days = ["2025-06-01", "2025-06-01", "2025-06-02"]
    root = write_memora("weekly", [memora_session(n, "writer", TALK, day) for n, day in enumerate(days, start=1)])
    source = MemoraSource(root, "weekly", time_zone="Asia/Tokyo", start_hour=9, session_gap=timedelta(minutes=30))
    starts = [labelled.session.started_at for labelled in source.sessions()]
    midnight_utc = datetime(2025, 6, 1, 0, 0, tzinfo=UTC)
    assert starts == [midnight_utc, midnight_utc + timedelta(minutes=30), midnight_utc + timedelta(days=1)]
    turns = next(source.sessions()).session.turns
    assert [(turn.timestamp - turns[0].timestamp).total_seconds() for turn in turns] == [0, 0.5, 1]
    assert source.info.time_zone == "Asia/Tokyo"


def test_a_day_that_is_too_full_is_refused(write_memora: Write, memora_session: Make) -> None:
    root = write_memora("weekly", [memora_session(number, "writer", TALK) for number in (1, 2)])
    with pytest.raises(InputError, match=r"session_0002\.json.*would start on the next day; lower"):
        list(MemoraSource(root, "weekly", start_hour=23, session_gap=timedelta(hours=1)).sessions())


def test_a_day_before_the_first_of_all_is_refused(write_memora: Write, memora_session: Make) -> None:
    root = write_memora("weekly", [memora_session(1, "writer", TALK, "0001-01-01")])
    assert len(list(MemoraSource(root, "weekly").sessions())) == 1
    with pytest.raises(InputError, match=r"session_0001\.json: expected a date such as 2025-06-01, found '0001-01-01'"):
        list(MemoraSource(root, "weekly", time_zone="Asia/Tokyo").sessions())


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b'{"a": "\\ud83d"}', "lacks its other half"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff", "invalid start byte"),
        (b"", "Expecting value"),
    ],
)
def test_files_that_are_no_json_are_named(
    write_memora: Write, memora_session: Make, content: bytes, fault: str
) -> None:
    root = write_memora("weekly", [memora_session(1, "writer", TALK)])
    (root / "memora/data/weekly/writer/conversations/session_0002.json").write_bytes(content)
    with pytest.raises(InputError, match=rf"session_0002\.json is not valid JSON \(.*{fault}.*; 1 sessions before it"):
        list(MemoraSource(root, "weekly").sessions())


def test_the_root_may_be_any_folder_above(write_memora: Write, memora_session: Make) -> None:
    root = write_memora("weekly", [memora_session(1, "writer", TALK)])
    for folder in (root, root / "memora", root / "memora" / "data"):
        assert len(list(MemoraSource(folder, "weekly").sessions())) == 1


def test_missing_splits_and_personas_say_what_is_there(
    write_memora: Write, memora_session: Make, tmp_path: Path
) -> None:
    root = write_memora("weekly", [memora_session(1, "writer", TALK)])
    with pytest.raises(InputError, match=r"expected Memora's split as monthly/.*found weekly"):
        MemoraSource(root, "monthly")
    with pytest.raises(InputError, match="has no persona cook; it has writer"):
        MemoraSource(root, "weekly", personas=["cook"])
    with pytest.raises(InputError, match="is not a folder"):
        MemoraSource(tmp_path / "nowhere", "weekly")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"conversation": [{"role": "user", "content": "x"}]}, r"turn 1: not Memora's layout.*found content, role"),
        ({"conversation": "x"}, "expected `conversation` to be a list"),
        ({"date": "June"}, "expected a date such as 2025-06-01, found 'June'"),
        (
            {"conversation": [{"turn": 1, "speaker": "bot", "message": "x", "share_memory": False}]},
            "the speaker 'bot' is unknown",
        ),
        (
            {"conversation": [{"turn": 1, "speaker": "user_agent", "message": " ", "share_memory": False}]},
            "turn 1: the message is empty",
        ),
    ],
)
def test_another_layout_says_expected_and_found(
    write_memora: Write, memora_session: Make, change: dict[str, Any], fault: str
) -> None:
    root = write_memora("weekly", [{**memora_session(1, "writer", TALK), **change}])
    with pytest.raises(InputError, match=fault):
        list(MemoraSource(root, "weekly").sessions())


def test_a_cut_file_is_named_with_the_good_sessions(write_memora: Write, memora_session: Make) -> None:
    root = write_memora("weekly", [memora_session(number, "writer", TALK) for number in (1, 2)])
    broken = root / "memora/data/weekly/writer/conversations/session_0002.json"
    broken.write_text(broken.read_text()[:-20])
    with pytest.raises(InputError, match=r"session_0002\.json is not valid JSON.*; 1 sessions before it are good"):
        list(MemoraSource(root, "weekly").sessions())


def test_real_weekly_counts(real_data: Path) -> None:
    sessions = list(MemoraSource(real_data, "weekly").sessions())
    labels = [label.keep for labelled in sessions for label in labelled.labels.values()]
    assert (len(sessions), len(labels), sum(labels)) == (1551, 11860, 1613)
    assert len({labelled.person for labelled in sessions}) == 10
    moments = [turn.timestamp for labelled in sessions[:155] for turn in labelled.session.turns]
    assert len(set(moments)) == len(moments)
