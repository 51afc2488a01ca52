"""The adapter that everything compared stands behind: build a group's memory, then find entries for its questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from engrain.recipes.benchmarks.suites.suite import Question
from engrain.runtime.retrieval.surface import spoken
from engrain.runtime.schema import Session, Turn


@dataclass(frozen=True)
class Found:
    """One entry of a ranking, best first: its text as a reader sees it, and the turns that it comes from."""

    text: str
    turn_ids: tuple[str, ...]
    at: str = ""
    score: float = 0.0

    def document(self) -> dict[str, Any]:
        """The entry as JSON."""
        return asdict(self)

    @classmethod
    def read(cls, document: dict[str, Any]) -> Found:
        """The entry that `document` wrote."""
        return cls(document["text"], tuple(document["turn_ids"]), document["at"], document["score"])


class System(Protocol):
    """One row of a table. A folder holds one group's memory and nothing else."""

    name: str
    exercised: str
    """What of the system is exercised: the whole, or its retriever or store alone."""

    def identity(self) -> dict[str, Any]:
        """Everything that decides its results; hashed into the cache's keys."""
        ...

    def construct(self, group: str, sessions: Sequence[Session], folder: Path) -> dict[str, int]:
        """Build the memory of one group in an empty folder; returns counts of what became of its turns."""
        ...

    def consolidate(self, group: str, folder: Path) -> dict[str, int] | None:
        """Consolidate what was built; None for a system, or a variant, without such a stage."""
        ...

    def retrieve(self, group: str, folder: Path, questions: Sequence[Question], depth: int) -> list[list[Found]]:
        """The ranking of every question, at most `depth` entries each."""
        ...


def shown_time(moment: datetime) -> str:
    """When something was said, as readers and reports see it."""
    return moment.strftime("%Y-%m-%d %H:%M")


def told(turn: Turn) -> str:
    """A turn as every system is given it: with its speaker's name in front where there is one (LoCoMo)."""
    return spoken(turn.speaker, turn.text)


def remembered_turns(sessions: Sequence[Session]) -> list[Turn]:
    """The user turns of a group, in order: what every system is given to remember."""
    return [turn for session in sessions for turn in session.turns if turn.role.value == "user"]
