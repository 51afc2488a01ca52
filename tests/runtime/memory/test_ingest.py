from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from engrain.runtime.errors import InputError
from engrain.runtime.ingest import make_scope, read_messages
from engrain.runtime.schema import Role, Turn

ANA = make_scope("ana")
NOON = datetime(2026, 5, 8, 12, 0, tzinfo=UTC)
PARIS = timezone(timedelta(hours=2))


def read(messages: Any, **options: Any) -> list[Turn]:
    return read_messages(messages, ANA, **({"timestamp": NOON} | options))


def test_a_text_is_one_user_message() -> None:
    [turn] = read("I moved.")

    assert (turn.role, turn.speaker, turn.text, turn.timestamp) == (Role.USER, "user", "I moved.", NOON)
    assert turn.session_id == "day 2026-05-08"


def test_messages_without_a_time_follow_half_a_second_apart() -> None:
    later = "2026-05-08T14:30:00+02:00"
    turns = read(
        [
            {"role": "user", "content": "a", "name": "Ana"},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
            {"role": "user", "content": "d", "timestamp": later},
            "e",
        ]
    )

    assert [turn.text for turn in turns] == ["a", "b\nc", "d", "e"]
    assert [turn.speaker for turn in turns] == ["Ana", "assistant", "user", "user"]
    offsets = [(turn.timestamp - NOON).total_seconds() for turn in turns]
    assert offsets == [0, 0.5, 1800, 1800.5]
    assert turns[3].timestamp.utcoffset() == timedelta(hours=2)


def test_identity_is_scope_session_time_role_and_text() -> None:
    base = read("I ran.")[0].id

    assert read("I ran.", timestamp=NOON.astimezone(PARIS), session_id="day 2026-05-08")[0].id == base
    others = [
        read("I ran!")[0],
        read("I ran.", timestamp=NOON + timedelta(microseconds=1))[0],
        read("I ran.", session_id="s")[0],
        read({"role": "assistant", "content": "I ran."})[0],
        read_messages("I ran.", make_scope("ben"), timestamp=NOON)[0],
        read_messages("I ran.", make_scope("ana", "coach"), session_id="day 2026-05-08", timestamp=NOON)[0],
    ]
    assert len({base, *(turn.id for turn in others)}) == 7
    assert read({"content": "x", "id": "m1"})[0].id == "m1"


def test_the_run_is_the_session_when_none_is_given() -> None:
    assert read_messages("x", make_scope("ana", run_id="r7"))[0].session_id == "r7"


def test_halves_of_a_surrogate_pair_are_joined() -> None:
    assert read("party \ud83d\ude42 time\x00")[0].text == "party 🙂 time\x00"


def turn(**changes: Any) -> Turn:
    values = {"id": "t1", "session_id": "s1", "role": "user", "speaker": "Ana", "text": "hi", "timestamp": NOON}
    return Turn(**values | changes)


@pytest.mark.parametrize(
    ("messages", "options", "message"),
    [
        ([], {}, "no messages"),
        ("  \n", {}, "message 1: the text is empty"),
        (["a", {"role": "user", "content": ""}], {}, "message 2: the text is empty"),
        ([{"role": "robot", "content": "x"}], {}, "role 'robot' is unknown; it must be one of user, assistant, system"),
        ([{"role": "user", "content": None}], {}, "message 1: the text is NoneType"),
        ([{"role": "user", "text": "x"}], {}, "unknown key text"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], {}, "'image_url' cannot be remembered"),
        ([7], {}, "message 1: int is no message"),
        ("x", {"timestamp": datetime(2026, 5, 8)}, "timestamp: 2026-05-08T00:00:00 has no time zone"),
        ([{"content": "x", "timestamp": "2026-05-08T10:00"}], {}, "message 1: .* has no time zone"),
        ([{"content": "x", "timestamp": "yesterday"}], {}, "message 1: 'yesterday' is not a timestamp"),
        ([{"content": "x", "timestamp": 7}], {}, "message 1: 7 is no time"),
        ("cut \ud83d", {}, r"message 1: character 4 is a lone surrogate \(U\+D83D\)"),
        ([{"content": "x", "id": ""}], {}, "message 1: id must be"),
        ([{"content": "x", "id": "m"}, {"content": "y", "id": "m"}], {}, "message 2: the id 'm'"),
        ("x", {"session_id": " "}, "session_id must be"),
        (turn(), {"session_id": "s2"}, "of session 's1', not 's2'"),
    ],
)
def test_bad_messages_are_refused_naming_the_place(messages: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(messages, **options)


@pytest.mark.parametrize("ids", [("",), (None,), (7,), ("ana", ""), ("ana", None, "\ud83d"), ("a\ud83d\ude42",)])
def test_bad_owners_are_refused(ids: tuple[Any, ...]) -> None:
    with pytest.raises(InputError):
        make_scope(*ids)
