"""Small corpora with what the quality report is to find."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.runtime.schema import (
    AuxiliaryType,
    ContextDependence,
    GateExample,
    LabelSource,
    Role,
    Session,
    Split,
    Turn,
    Utterance,
    Vote,
)

Example = Callable[..., GateExample]
_TYPE = {True: AuxiliaryType.PERSONAL_SEMANTIC, False: AuxiliaryType.NON_MEMORY}


def make_example(
    number: int,
    text: str,
    *,
    label: bool = True,
    split: Split = Split.TRAIN,
    group: str = "",
    corpus: str = "c",
    votes: str = "",
) -> GateExample:
    """A gate example; `votes` is one letter a teacher, `y` or `n`."""
    return GateExample(
        id=f"t{number}",
        split=split,
        context=(Utterance(speaker="a", text="And you?"),),
        target=Utterance(speaker="u", text=text),
        label=label,
        label_source=LabelSource.AUTHORED,
        votes=tuple(make_vote(f"teacher{rater}", letter == "y") for rater, letter in enumerate(votes)),
        corpus=corpus,
        group=group or f"g{number}",
    )


def make_vote(teacher: str, admit: bool) -> Vote:
    """A vote with the type that goes with it."""
    return Vote(
        teacher=teacher,
        admit=admit,
        auxiliary_type=_TYPE[admit],
        context_dependence=ContextDependence.SELF_CONTAINED,
        confidence=0.9,
    )


def make_session(name: str, *user_texts: str) -> LabelledSession:
    """A session in which an assistant answers every user turn."""
    moment = datetime(2025, 6, 1, tzinfo=UTC)
    turns = []
    for number, text in enumerate(user_texts):
        for role, said in ((Role.USER, text), (Role.ASSISTANT, "As a language model I have no opinion about that.")):
            turns.append(
                Turn(
                    id=f"{name}/{number}/{role.value}",
                    session_id=name,
                    role=role,
                    speaker=role.value,
                    text=said,
                    timestamp=moment,
                )
            )
    return LabelledSession(Session(id=name, started_at=moment, turns=tuple(turns)), person=name)


@pytest.fixture
def example() -> Example:
    """Make a gate example."""
    return make_example


@pytest.fixture
def session() -> Callable[..., LabelledSession]:
    """Make a session from its user turns."""
    return make_session


@pytest.fixture
def vote() -> Callable[[str, bool], Vote]:
    """Make a vote."""
    return make_vote
