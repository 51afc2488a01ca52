"""Every reader against every small damage: a valid file in which one value is replaced by another kind, or removed.

It is read, or refused with one `InputError` that names the file. Nothing else may come out of a reader.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.locomo import LocomoSource
from engrain.data_builders.sources.registry import SOURCES, open_source
from engrain.runtime.errors import InputError

STRANGE: tuple[Any, ...] = (None, 5, -1, 10**25, float("inf"), True, "", "x", [], [None], ["x"], [{}], {}, {"a": 1})
ORDINALS = ("first", "second", "third", "fourth", "fifth")
MOMENT = "2026-01-09T19:12:00+01:00"

# Name, file below the root, and a valid document: one row of a JSONL file, or the list of a JSON file.
SAMPLES: dict[str, tuple[str, Any]] = {
    "msc": (
        "session_2/valid.txt",
        {
            "dialog": [{"id": "Speaker 1", "text": "Hi"}],
            "metadata": {"initial_data_id": "v"},
            "previous_dialogs": [{"dialog": [{"text": "Ho"}], "time_num": 2, "time_unit": "days"}],
        },
    ),
    "msc-persona": (
        "personasummary_session_2_valid.txt",
        {"dialog": [{"id": "bot_0", "text": "I row.", "persona_text": "I row."}], "initial_data_id": "v"},
    ),
    "led": (
        "led_joined_with_dailydialog_text.jsonl",
        {
            "split": "train",
            "dialog_id": 1,
            "DailyDialog_id": 2,
            "turns": [{"speaker": "S1", "text": "Hi", "new_events": [{"event_type": {"Class": "go"}}]}],
        },
    ),
    "esconv": ("ESConv.json", [{"situation": "s", "dialog": [{"speaker": "seeker", "content": "Hi"}]}]),
    "conversation-chronicles": (
        "valid.jsonl",
        {"dataID": "e", "relationship": "r", "time_interval": ["Start", "A few days after"]}
        | {f"{ordinal}_session_dialogue": ["Hi"] for ordinal in ORDINALS}
        | {f"{ordinal}_session_speakers": ["A"] for ordinal in ORDINALS},
    ),
    "taskmaster-2": (
        "music.json",
        [{"conversation_id": "d", "instruction_id": "i", "utterances": [{"speaker": "USER", "text": "Hi"}]}],
    ),
    "ultrachat": ("train_0.jsonl", {"id": "7", "data": ["What?", "That."]}),
    "chat": (
        "chat.jsonl",
        {
            "id": "c",
            "system": "s",
            "messages": [
                {"role": "user", "name": "A", "content": [{"type": "text", "text": "Hi"}], "timestamp": MOMENT}
            ],
        },
    ),
    "jsonl": (
        "own.jsonl",
        {
            "session_id": "s",
            "user_id": "u",
            "started_at": MOMENT,
            "turns": [
                {"id": "t", "role": "user", "speaker": "A", "text": "Hi", "timestamp": MOMENT, "gate": {"keep": True}}
            ],
        },
    ),
    "locomo": (
        "locomo.json",
        [
            {
                "sample_id": "c",
                "conversation": {
                    "session_2_date_time": "1:56 pm on 8 May, 2023",
                    "session_2": [{"dia_id": "D2:1", "speaker": "M", "text": "Hi", "blip_caption": "a dog"}],
                },
                "qa": [{"question": "q", "answer": "a", "evidence": ["D2:1"], "category": 1}],
            }
        ],
    ),
    "longmemeval": (
        "longmemeval.json",
        [
            {
                "question_id": "a_abs",
                "question_type": "multi-session",
                "question": "How many?",
                "question_date": "2023/05/20 (Sat) 02:21",
                "answer": 2,
                "answer_session_ids": ["s1"],
                "haystack_session_ids": ["s1", "s1"],
                "haystack_dates": ["2023/05/01 (Mon) 10:00", "2023/05/02 (Tue) 10:00"],
                "haystack_sessions": [[{"role": "user", "content": "Hi", "has_answer": True}], []],
            }
        ],
    ),
    "memora": (
        "weekly/cook/conversations/session_0001.json",
        {
            "session_id": 1,
            "date": "2025-06-01",
            "persona": "cook",
            "conversation": [{"turn": 1, "speaker": "user_agent", "message": "Hi", "share_memory": True}],
        },
    ),
}
ROOTS = {
    "chat": "chat.jsonl",
    "jsonl": "own.jsonl",
    "locomo": "locomo.json",
    "longmemeval": "longmemeval.json",
    "memora": "weekly",
}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from places(below, (*at, key))


def damaged(value: Any, at: tuple[Any, ...], change: Any) -> Any:
    """`value` with `change` at a place; `...` takes the place away."""
    if not at:
        return change
    value = copy.deepcopy(value)
    holder = value
    for key in at[:-1]:
        holder = holder[key]
    if change is ...:
        del holder[at[-1]]
    else:
        holder[at[-1]] = change
    return value


def damages(value: Any) -> Iterator[Any]:
    for at in places(value):
        for change in (*STRANGE, *([...] if at else [])):
            yield damaged(value, at, change)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_damaged_file_is_read_or_refused_with_its_name(name: str, tmp_path: Path) -> None:
    file, sample = SAMPLES[name]
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    outcomes = {"read": 0, "refused": 0}
    for document in [sample, *damages(sample)]:
        path.write_text(json.dumps(document))
        try:
            source = open_source(name, tmp_path / ROOTS.get(name, ""))
            read = list(source.sessions())
            if isinstance(source, LocomoSource):
                list(source.questions())
        except InputError as error:
            assert str(tmp_path) in str(error), document
            outcomes["refused"] += 1
        else:
            assert len({turn.id for one in read for turn in one.session.turns}) == sum(
                len(one.session.turns) for one in read
            )
            outcomes["read"] += 1
        if document is sample:
            assert outcomes == {"read": 1, "refused": 0}
    assert outcomes["refused"] > 20


def test_every_corpus_is_damaged_here() -> None:
    assert set(SAMPLES) == set(SOURCES)
