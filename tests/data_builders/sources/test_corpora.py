"""Public corpora in their published layouts, small and generated, and the real files where they are present."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.chat import ChatSource
from engrain.data_builders.sources.conversation_chronicles import ConversationChroniclesSource
from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.sources.esconv import EsconvSource
from engrain.data_builders.sources.led import LedSource
from engrain.data_builders.sources.msc import MscPersonaSource, MscSource
from engrain.data_builders.sources.reader import START, DialogueSource
from engrain.data_builders.sources.taskmaster2 import DOMAINS, Taskmaster2Source
from engrain.data_builders.sources.ultrachat import UltraChatSource
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role

Json = dict[str, Any]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write rows as lines, or as a list when the name ends in `.json`; the root is returned."""

    def written(name: str, *rows: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(rows, indent=2) if name.endswith(".json") else "\n".join(map(json.dumps, rows))
        path.write_text(text, encoding="utf-8")
        return tmp_path

    return written


def texts(labelled: LabelledSession) -> list[tuple[str, Role, str]]:
    return [(turn.speaker, turn.role, turn.text) for turn in labelled.session.turns]


def msc_turns(*ids: str | None) -> list[Json]:
    return [{"text": f"text {n}"} | ({"id": name} if name else {}) for n, name in enumerate(ids)]


def msc_row(previous: list[Json], *ids: str) -> Json:
    return {
        "dialog": msc_turns(*ids),
        "metadata": {"initial_data_id": "train_7", "session_id": len(previous)},
        "previous_dialogs": previous,
        "personas": [[], []],
    }


def test_msc_sessions_with_session_one_and_their_distances(write: Write) -> None:
    first = {"dialog": msc_turns(None, None, None), "time_num": 3, "time_unit": "hours"}
    second = {"dialog": msc_turns("Speaker 1", "Speaker 2"), "time_num": 2, "time_unit": "days"}
    write("msc/msc_dialogue/session_2/train.txt", msc_row([first], "43567", "Speaker 2", "Speaker 1"))
    root = write("msc/msc_dialogue/session_3/train.txt", msc_row([first, second], "Speaker 1", "Speaker 2"))
    source = MscSource(root)
    sessions = list(source.sessions())
    assert [(labelled.session.id, labelled.session.started_at - START) for labelled in sessions] == [
        ("msc/train/train_7/session_1", timedelta(0)),
        ("msc/train/train_7/session_2", timedelta(hours=3)),
        ("msc/train/train_7/session_3", timedelta(days=2, hours=3)),
    ]
    assert {labelled.person for labelled in sessions} == {"msc/train/train_7"}
    assert [turn.speaker for turn in sessions[0].session.turns] == ["Speaker 1", "Speaker 2", "Speaker 1"]
    assert [turn.speaker for turn in sessions[1].session.turns] == ["Speaker 1", "Speaker 2", "Speaker 1"]
    assert source.counts["speakers_by_order"] == 1, "only where an id is given, and is no speaker's"
    assert {turn.role for labelled in sessions for turn in labelled.session.turns} == {Role.USER}
    assert "notes" not in sessions[0].metadata


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"dialog": [{"id": "Speaker 1"}]}, "dialog 1: not MSC's layout; expected an object with text; found id"),
        ({"metadata": None}, "metadata: not MSC's layout.*found null"),
        ({"previous_dialogs": [{"dialog": [], "time_num": "x"}]}, "'x' 'day' is no time between two sessions"),
        ({"previous_dialogs": [{"dialog": [], "time_num": float("inf")}]}, "inf 'day' is no time"),
        ({"previous_dialogs": [{"dialog": 4}]}, "expected `dialog` to be a list, found a number"),
    ],
)
def test_msc_faults(write: Write, change: Json, fault: str) -> None:
    root = write("session_2/train.txt", msc_row([{"dialog": []}], "Speaker 1") | change)
    with pytest.raises(InputError, match=fault):
        list(MscSource(root).sessions())


def test_msc_persona_summaries_are_notes(write: Write) -> None:
    turns = [
        {"text": "I keep bees.", "id": "bot_0", "persona_text": "I keep bees."},
        {"text": "Nice!", "id": "bot_1", "persona_text": " "},
        {"text": "Yes.", "id": "bot_0"},
    ]
    row = {"dialog": turns, "initial_data_id": "valid_1", "init_personachat": {}, "followup": "", "newfact": ""}
    write("msc_personasummary/session_1/valid.txt", row)
    root = write("msc_personasummary/session_2/valid.txt", row)
    first, second = MscPersonaSource(root).sessions()
    assert first.metadata["notes"] == {"msc-persona/valid/valid_1/session_1/t01": "I keep bees."}
    assert (first.person, first.session.id) == (second.person, "msc-persona/valid/valid_1/session_1")
    assert second.session.started_at - first.session.started_at == timedelta(days=1)
    assert [turn.speaker for turn in first.session.turns] == ["Speaker 1", "Speaker 2", "Speaker 1"]


def event(kind: str, verb: str | None = None) -> Json:
    words = {"tokens": verb or kind, "tokens_id": "1" if verb else ""}
    return {"event_type": {"Class": kind, "Verb": words, "explicit": verb is not None}, "participant": {}, "status": {}}


CAR = "New car ? __eou__ I bought it . __eou__ And sold the old one . __eou__"


@pytest.mark.parametrize("first", [0, 1])
def test_led_takes_its_words_from_daily_dialog(write: Write, first: int) -> None:
    bought, sold = event("buy", "bought"), event("sell")
    labels = {"dialog_id": 4, "events": [[], [bought], [bought, sold]], "coreferences": []}
    root = write("LifeEventDialog_train.jsonl", labels | {"DailyDialog_id": 1 + first})
    lines = ["Hi . __eou__ Bye . __eou__ Bye . __eou__", CAR, "A \u2028 b . __eou__ C . __eou__ D . __eou__"]
    (root / "dailydialog").mkdir()
    (root / "dailydialog" / "dialogues_text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (only,) = LedSource(root).sessions()
    assert texts(only) == [
        ("S1", Role.USER, "New car ?"),
        ("S2", Role.USER, "I bought it ."),
        ("S1", Role.USER, "And sold the old one ."),
    ]
    assert only.metadata["notes"] == {"led/train/4/t02": "buy", "led/train/4/t03": "sell"}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"DailyDialog_id": 9, "events": []}, "for 0 turns, do not fit DailyDialog's dialogue 9"),
        ({"DailyDialog_id": 0, "events": [[]]}, r"for 1 turns, do not fit DailyDialog's dialogue 0, which has 3"),
        ({"DailyDialog_id": 0, "events": [[], [event("x", "fly")], []]}, "do not fit DailyDialog's dialogue 0"),
        ({"DailyDialog_id": "0", "events": [[]]}, "DailyDialog_id as a number"),
        ({"DailyDialog_id": 0, "events": [[], ["x"], []]}, r"event: not LED's layout.*found a string"),
        ({"DailyDialog_id": 0, "events": [[], None, []]}, "expected a list of events for each turn, found None"),
        ({"DailyDialog_id": 0, "events": [None, [event("x")], []]}, "expected a list of events for each turn"),
    ],
)
def test_led_faults(write: Write, row: Json, fault: str) -> None:
    root = write("LifeEventDialog_valid.jsonl", {"dialog_id": 1} | row)
    with pytest.raises(InputError, match=r"put DailyDialog's dialogues_text\.txt beside them|DailyDialog_id as"):
        list(LedSource(root).sessions())
    (root / "dialogues_text.txt").write_text(CAR + "\n")
    with pytest.raises(InputError, match=fault):
        list(LedSource(root).sessions())


def test_esconv_in_its_three_forms(write: Write) -> None:
    said = [{"speaker": "seeker", "annotation": {}, "content": "I lost my job.\n"}]
    said.append({"speaker": "supporter", "annotation": {"strategy": "Question"}, "content": "When?"})
    write("ESConv.json", {"emotion_type": "fear", "problem_type": "job crisis", "situation": "s", "dialog": said})
    short = [{"text": "I lost it.", "speaker": "usr"}, {"text": "When?", "speaker": "sys", "strategy": "Question"}]
    write("train.txt", {"emotion_type": "fear", "dialog": short})
    failed = [{"speaker": "speaker", "content": "hey"}, {"speaker": "listener", "content": "hi"}]
    root = write("FailedESConv.json", {"dialog": failed})
    (only,) = EsconvSource(root).sessions()
    assert texts(only) == [("seeker", Role.USER, "I lost my job."), ("supporter", Role.ASSISTANT, "When?")]
    assert only.metadata["problem_type"] == "job crisis" and only.session.id == "esconv/all/00001"
    (only,) = EsconvSource(root, splits=["train"]).sessions()
    assert texts(only) == [("usr", Role.USER, "I lost it."), ("sys", Role.ASSISTANT, "When?")]
    (only,) = EsconvSource(root, splits=["failed"]).sessions()
    assert [turn.role for turn in only.session.turns] == [Role.USER, Role.ASSISTANT]
    write("ESConv.json", {"dialog": [{"speaker": "seeker"}]})
    with pytest.raises(InputError, match=r"ESConv\.json, line 2: turn 1: expected its text to be a string"):
        list(EsconvSource(root).sessions())


def episode(**changes: Any) -> Json:
    row: Json = {"dataID": "episode-5", "relationship": "Co-workers", "summary": ["s"] * 5}
    row["time_interval"] = ["Start", "A few days after", "A couple of years after", "Later", "A few hours after"]
    for ordinal in ("first", "second", "third", "fourth", "fifth"):
        row[f"{ordinal}_session_dialogue"] = [f"{ordinal}?", "yes"]
        row[f"{ordinal}_session_speakers"] = ["Co-worker A", "Co-worker B"]
    return row | changes


def test_conversation_chronicles_episodes(write: Write) -> None:
    source = ConversationChroniclesSource(write("valid.jsonl", episode()))
    sessions = list(source.sessions())
    assert [labelled.session.id for labelled in sessions] == [
        f"conversation-chronicles/valid/episode-5/session_{n}" for n in range(1, 6)
    ]
    days = [(labelled.session.started_at - START) / timedelta(days=1) for labelled in sessions]
    assert days == [0, 3, 733, 734, 734.125] and source.counts == {"unknown_intervals": 1}
    assert texts(sessions[1])[0] == ("Co-worker A", Role.USER, "second?")
    assert sessions[0].metadata["relationship"] == "Co-workers"


def test_conversation_chronicles_faults(write: Write) -> None:
    with pytest.raises(InputError, match="second_session: expected as many speakers as turns"):
        list(ConversationChroniclesSource(write("valid.jsonl", episode(second_session_speakers=["A"]))).sessions())
    row = episode()
    del row["fifth_session_speakers"]
    with pytest.raises(InputError, match="not Conversation Chronicles's layout; expected an object with dataID"):
        list(ConversationChroniclesSource(write("valid.jsonl", row)).sessions())


def test_taskmaster_domains(write: Write) -> None:
    said = [
        {"index": 0, "speaker": "ASSISTANT", "text": "Hello?"},
        {"index": 1, "speaker": "USER", "text": "A flight."},
    ]
    row = {"conversation_id": "dlg-1", "instruction_id": "flight-3", "utterances": said}
    write("TM-2-2020/data/flights.json", row)
    root = write("TM-2-2020/data/music.json", row | {"conversation_id": "dlg-2"})
    write("TM-2-2020/ontology/flights.json", {"not": "a dialogue"})
    source = Taskmaster2Source(root)
    first, second = source.sessions()
    assert source.splits == ("flights", "music")
    assert (first.session.id, second.session.id) == ("taskmaster-2/flights/dlg-1", "taskmaster-2/music/dlg-2")
    assert texts(first) == [("ASSISTANT", Role.ASSISTANT, "Hello?"), ("USER", Role.USER, "A flight.")]
    assert first.metadata["instruction"] == "flight-3"
    with pytest.raises(InputError, match=r"needs food-ordering: .*sports: .*found splits flights, music"):
        Taskmaster2Source(root, splits=DOMAINS)
    assert len(Taskmaster2Source(root, splits=DOMAINS, allow_missing=DOMAINS).missing_splits) == 5


@pytest.mark.parametrize(
    "row",
    [
        {"id": "7", "data": ["What?", "That."]},
        {"prompt": "What?", "prompt_id": "7", "messages": [{"role": "user", "content": "What?"}]},
        {"session_id": "7", "turns": [{"role": "user", "content": "What?"}]},
    ],
)
def test_ultrachat_in_its_forms(write: Write, row: Json) -> None:
    (only,) = UltraChatSource(write("train_0.jsonl", row)).sessions()
    assert only.session.id == "ultrachat/train/7"
    assert texts(only)[0] == ("user", Role.USER, "What?")
    assert all(turn.role is Role.ASSISTANT for turn in only.session.turns[1:])


def test_chats_in_both_forms(write: Write) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "1"}]}
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "here"}]
    openai = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "name": "Ada", "content": parts},
        {"role": "assistant", "content": None},
        call,
        {"role": "tool", "content": "42"},
    ]
    sharegpt = {"id": "g1", "system": "Kind.", "conversations": [{"from": "human", "value": "Hi"}]}
    root = write("a.jsonl", {"messages": openai}, sharegpt)
    root = write("b.json", {"conversations": [{"from": "gpt", "value": "Hello"}]})
    source = ChatSource(root)
    first, second, third = source.sessions()
    assert texts(first) == [
        ("system", Role.SYSTEM, "Be brief."),
        ("Ada", Role.USER, "Look\nhere"),
        ("tool", Role.SYSTEM, "42"),
    ]
    assert texts(second) == [("system", Role.SYSTEM, "Kind."), ("human", Role.USER, "Hi")]
    assert texts(third) == [("gpt", Role.ASSISTANT, "Hello")]
    assert [one.session.id for one in (first, second, third)] == [
        "chat/all/a/row_1",
        "chat/all/g1",
        "chat/all/b/row_1",
    ]
    assert source.counts == {"parts_without_text": 1, "empty_turns": 2}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"prompt": "x"}, r"expected an object with messages \(or conversations\); found prompt"),
        ([{"role": "user"}], "expected an object with keys; found a list"),
        ({"messages": [{"content": "x"}]}, "messages 1: .*expected an object with role; found content"),
        ({"messages": [{"role": "user"}]}, "message: .*expected an object with role, content; found role"),
        ({"messages": [{"role": "alien", "content": "x"}]}, "'alien' is unknown; the role map has assistant"),
        ({"messages": [{"role": "user", "content": 7}]}, "turn 1: expected its text to be a string, found 7"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "content: .*expected an object with type"),
        ({"messages": "x"}, "expected `messages` to be a list, found a string"),
    ],
)
def test_chat_faults(write: Write, row: Any, fault: str) -> None:
    root = write("chat.jsonl", {"messages": [{"role": "user", "content": "ok"}]}, row)
    with pytest.raises(InputError, match=fault) as caught:
        list(ChatSource(root / "chat.jsonl").sessions())
    assert "chat.jsonl, line 2: " in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "folder", "sessions", "turns", "users"),
    [
        (MscSource, "msc", 1000, 13665, 13665),
        (MscPersonaSource, "msc", 500, 5897, 5897),
        (LedSource, "led", 659, 2991, 2991),
        (EsconvSource, "esconv", 211, 6328, 3244),
        (Taskmaster2Source, "taskmaster2", 5, 149, 66),
        (UltraChatSource, "ultrachat", 400, 4028, 2014),
    ],
)
def test_real_counts(
    real_data: Path, kind: type[DialogueSource], folder: str, sessions: int, turns: int, users: int
) -> None:
    read = list(kind(real_data / folder).sessions())
    roles = Counter(turn.role for labelled in read for turn in labelled.session.turns)
    ids = {turn.id for labelled in read for turn in labelled.session.turns}
    assert (len(read), roles.total(), roles[Role.USER], len(ids)) == (sessions, turns, users, turns)


def test_real_failed_esconv(real_data: Path) -> None:
    source = EsconvSource(real_data / "esconv", splits=["failed"])
    roles = Counter(turn.role for labelled in source.sessions() for turn in labelled.session.turns)
    assert roles == {Role.USER: 2853, Role.ASSISTANT: 2377}
