"""LoCoMo in its published layout, small and generated, and the real file."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.locomo import LocomoSource
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role

Json = dict[str, Any]


def locomo_sample() -> Json:
    """One conversation in LoCoMo's layout, with the oddities of the published file."""
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Mel",
            "speaker_b": "Jon",
            "session_10_date_time": "9:00 am on 1 June, 2023",
            "session_10": [{"dia_id": "D10:1", "speaker": "Jon", "text": "I left my job."}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"dia_id": "D2:1", "speaker": "Mel", "text": "Look!", "blip_caption": "a dog on a beach"},
                {"dia_id": "D2:2", "speaker": "Jon", "text": "", "blip_caption": "a cat"},
                {"dia_id": "D2:3", "speaker": "Mel", "text": "Cute."},
            ],
            "session_11_date_time": "9:00 am on 2 June, 2023",
        },
        "qa": [
            {"question": "What did Mel show?", "answer": "a dog", "evidence": ["D2:1; D2:03"], "category": 1},
            {"question": "When?", "answer": 2023, "evidence": ["D:10:1", "D", "D9:9"], "category": 2},
            {"question": "Why did Mel quit?", "adversarial_answer": "boredom", "evidence": ["D10:1"], "category": 5},
        ],
    }


def write(tmp_path: Path, data: Any) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_sessions_in_order_with_captions_times_and_roles(tmp_path: Path) -> None:
    source = LocomoSource(write(tmp_path, [locomo_sample()]), time_zone="America/New_York")
    sessions = list(source.sessions())
    assert [labelled.session.id for labelled in sessions] == ["conv-1/session_2", "conv-1/session_10"]
    turns = sessions[0].session.turns
    assert [turn.text for turn in turns] == [
        "Look! [shares a photo: a dog on a beach]",
        "[shares a photo: a cat]",
        "Cute.",
    ]
    assert turns[0].timestamp == datetime(2023, 5, 8, 17, 56, tzinfo=UTC)
    assert [(turn.timestamp - turns[0].timestamp).total_seconds() for turn in turns] == [0, 0.5, 1]
    assert {turn.role for turn in turns} == {Role.USER} and [turn.speaker for turn in turns] == ["Mel", "Jon", "Mel"]
    assert turns[2].id == "conv-1/D2:3" and sessions[0].person == "conv-1"
    assert source.dates_without_session == 1


def test_questions_with_tolerant_evidence(tmp_path: Path) -> None:
    first, second, third = LocomoSource(write(tmp_path, [locomo_sample()])).questions()
    assert first.evidence == ("conv-1/D2:1", "conv-1/D2:3")
    assert (first.category_name, first.malformed_entries, first.unusable_evidence) == ("multi-hop", 1, ())
    assert second.answer == "2023" and second.evidence == ("conv-1/D10:1",)
    assert second.unusable_evidence == ("D", "D9:9") and second.malformed_entries == 3
    assert (third.category_name, third.answer, third.malformed_entries) == ("adversarial", "", 0)


def test_a_conversation_can_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path, [locomo_sample(), {**locomo_sample(), "sample_id": "conv-2"}])
    source = LocomoSource(path, conversations=("conv-2",))
    assert source.conversations == ("conv-2",)
    with pytest.raises(InputError, match="has no conversation conv-9; it has conv-1, conv-2"):
        LocomoSource(path, conversations=("conv-9",))


def test_another_layout_says_expected_and_found(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected LoCoMo's list of conversations, found dict"):
        LocomoSource(write(tmp_path, {"data": []}))
    with pytest.raises(InputError, match=r"item 1: not LoCoMo's layout; expected .*sample_id.*found messages"):
        LocomoSource(write(tmp_path, [{"messages": []}]))
    sample = locomo_sample()
    sample["conversation"]["session_2"][0] = {"role": "user"}
    with pytest.raises(InputError, match=r"conv-1, session_2: .*expected .*dia_id.*found role"):
        LocomoSource(write(tmp_path, [sample]))
    with pytest.raises(InputError, match="is missing"):
        LocomoSource(tmp_path / "none.json")
    cut = write(tmp_path, [locomo_sample()])
    cut.write_text(cut.read_text()[:-30])
    with pytest.raises(InputError, match="is not valid JSON"):
        LocomoSource(cut)


def test_a_session_without_date_an_empty_turn_and_an_unknown_category(tmp_path: Path) -> None:
    sample = locomo_sample()
    del sample["conversation"]["session_2_date_time"]
    with pytest.raises(InputError, match="expected session_2_date_time"):
        list(LocomoSource(write(tmp_path, [sample])).sessions())
    sample = locomo_sample()
    sample["conversation"]["session_2"][2]["text"] = ""
    with pytest.raises(InputError, match="turn D2:3 has neither text nor a caption"):
        list(LocomoSource(write(tmp_path, [sample])).sessions())
    sample = locomo_sample()
    sample["qa"][0]["category"] = 7
    with pytest.raises(InputError, match=r"question 1: expected .*category 7"):
        list(LocomoSource(write(tmp_path, [sample])).questions())


def test_real_counts(real_data: Path) -> None:
    source = LocomoSource(real_data / "locomo" / "locomo5.json")
    sessions, questions = list(source.sessions()), list(source.questions())
    assert (len(sessions), sum(len(labelled.session.turns) for labelled in sessions)) == (128, 2760)
    assert Counter(question.category_name for question in questions) == {
        "single-hop": 418,
        "adversarial": 237,
        "temporal": 156,
        "multi-hop": 142,
        "open-domain": 46,
    }
    assert sum(question.malformed_entries for question in questions) == 4
    assert [question.unusable_evidence for question in questions if question.unusable_evidence] == [("D10:19",), ("D",)]


@pytest.mark.parametrize(
    ("stamp", "fault"), [("1:56 am on 1 January, 0001", "out of range"), ("noon", "'noon' is not")]
)
def test_a_time_that_cannot_be_names_the_session(tmp_path: Path, stamp: str, fault: str) -> None:
    sample = locomo_sample()
    sample["conversation"]["session_2_date_time"] = stamp
    source = LocomoSource(write(tmp_path, [sample]), time_zone="Asia/Tokyo")
    with pytest.raises(InputError, match=rf"locomo\.json, conv-1, session_2: .*{fault}"):
        list(source.sessions())


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b'["\\ud83d"]', "lacks its other half"), (b"[" * 100_000, "nested too deeply"), (b"\xff", "invalid start byte")],
)
def test_a_file_that_is_no_json_is_named(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "locomo.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"locomo\.json is not valid JSON \(.*{fault}"):
        LocomoSource(path)
