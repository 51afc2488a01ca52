"""Conversation groups: which sessions belong together, and which only share boilerplate."""

from __future__ import annotations

from datetime import UTC, datetime

from engrain.data_builders.groups import conversation_groups
from engrain.data_builders.sources.dialogue import LabelledSession, TurnLabel
from engrain.runtime.schema import LabelSource, Role, Session, Turn

START = datetime(2026, 1, 1, tzinfo=UTC)


def long(text: str) -> str:
    return f"{text}, and this turn goes on for more than sixty characters, as it has to."


def make(name: str, *texts: str, positive: tuple[str, ...] = ()) -> LabelledSession:
    turns = tuple(
        Turn(id=f"{name}-{n}", session_id=name, role=Role.USER, speaker="u", text=text, timestamp=START)
        for n, text in enumerate(texts)
    )
    labels = {turn.id: TurnLabel(keep=turn.text in positive, source=LabelSource.RELEASED) for turn in turns}
    return LabelledSession(Session(id=name, started_at=START, turns=turns), "p", labels)


def test_sessions_with_most_long_turns_in_common_are_one_group() -> None:
    a, b, c, d = (long(word) for word in "abcd")
    groups = conversation_groups([make("s2", a, b, c), make("s1", a, b, d), make("s3", c, d)])
    assert groups == {"s1": "s1", "s2": "s1", "s3": "s3"}


def test_one_shared_turn_is_not_enough_unless_it_carries_memory() -> None:
    a, b, c = (long(word) for word in "abc")
    assert len(set(conversation_groups([make("s1", a, b), make("s2", a, c)]).values())) == 2
    together = [make("s1", a, b, positive=(a,)), make("s2", a, c)]
    assert set(conversation_groups(together).values()) == {"s1"}


def test_short_turns_and_boilerplate_say_nothing() -> None:
    short = [make(f"s{n}", "Hi!", "Fine, thanks.", long(str(n)), positive=("Hi!",)) for n in range(3)]
    assert len(set(conversation_groups(short).values())) == 3
    everywhere = [make(f"s{n:02d}", long("a"), long("b")) for n in range(60)]
    assert len(set(conversation_groups(everywhere).values())) == 60


def test_groups_join_through_a_third_session() -> None:
    a, b, c, d = (long(word) for word in "abcd")
    groups = conversation_groups([make("s1", a, b), make("s2", a, b, c, d), make("s3", c, d)])
    assert set(groups.values()) == {"s1"}
