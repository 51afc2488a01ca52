"""Drawing candidates from sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.sources.registry import open_source
from engrain.data_builders.teachers.candidates import draw_candidates
from engrain.data_builders.teachers.settings import CandidateSettings
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role, Session, Turn

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def session(number: int, turns: int = 6) -> LabelledSession:
    """Alternating assistant and user turns, each with words of its own."""
    name = f"s{number:02d}"
    made = tuple(
        Turn(
            id=f"{name}-{place}",
            session_id=name,
            role=Role.USER if place % 2 else Role.ASSISTANT,
            speaker="ann" if place % 2 else "bot",
            text=f"{name} says {place}",
            timestamp=NOON,
        )
        for place in range(turns)
    )
    return LabelledSession(Session(id=name, started_at=NOON, turns=made), person=f"p{number // 2}")


SESSIONS = [session(number) for number in range(20)]


def test_only_user_turns_with_what_came_before_in_the_order_of_the_corpus() -> None:
    drawn = draw_candidates(SESSIONS, corpus="c", context=3, settings=CandidateSettings(count=60))
    assert (drawn.sessions, drawn.user_turns, len(drawn.candidates)) == (20, 60, 60)
    last = drawn.candidates[2]
    assert last.id == "s00-5" and last.group == "c/p0"
    assert [said.text for said in last.context] == ["s00 says 2", "s00 says 3", "s00 says 4"]
    assert [one.id for one in drawn.candidates] == sorted(one.id for one in drawn.candidates)


def test_a_draw_is_seeded_and_even_over_the_corpus() -> None:
    def ids(seed: int) -> list[str]:
        settings = CandidateSettings(count=20, seed=seed)
        return [one.id for one in draw_candidates(SESSIONS, corpus="c", context=5, settings=settings).candidates]

    assert ids(42) == ids(42) != ids(43)
    late = sum(name >= "s10" for seed in range(200) for name in ids(seed))
    assert 0.45 < late / (200 * 20) < 0.55, "the second half of the corpus is drawn as often as the first"


def test_groups_may_be_sessions_and_repeated_turns_are_counted_once() -> None:
    settings = CandidateSettings(count=60, group_by="session")
    drawn = draw_candidates([*SESSIONS, SESSIONS[3]], corpus="c", context=5, settings=settings)
    assert drawn.candidates[0].group == "c/s00" and drawn.repeated == 3


def test_fewer_turns_than_asked_is_an_error_with_the_counts() -> None:
    with pytest.raises(InputError, match="c: 61 candidates were asked for, but 20 sessions hold 60 distinct"):
        draw_candidates(SESSIONS, corpus="c", context=5, settings=CandidateSettings(count=61))


def test_sessions_read_can_be_bounded() -> None:
    settings = CandidateSettings(count=5, sessions=4)
    assert draw_candidates(iter(SESSIONS), corpus="c", context=5, settings=settings).sessions == 4


@pytest.mark.parametrize(("name", "folder", "turns"), [("msc", "msc", 13_582), ("esconv", "esconv", 3_201)])
def test_real_corpora_fill_the_papers_candidates(real_data: Path, name: str, folder: str, turns: int) -> None:
    source = open_source(name, real_data / folder)
    drawn = draw_candidates(source.sessions(), corpus=source.info.name, context=5, settings=CandidateSettings())
    assert (len(drawn.candidates), drawn.user_turns) == (600, turns)
    assert len({one.group for one in drawn.candidates}) > 190 and max(len(one.context) for one in drawn.candidates) == 5
    assert all(one.group.startswith(f"{name}/") and one.group.count(f"{name}/") == 1 for one in drawn.candidates)
