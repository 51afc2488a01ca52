"""What every benchmark becomes: groups of sessions, one memory each, and questions with their evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from engrain.data_builders.sources.memora_questions import Criterion, EvidenceValue
from engrain.runtime.schema import Session

EvidenceUnit = Literal["turn", "session"]
PartOfData = Literal["development", "reporting", "all"]


@dataclass(frozen=True)
class Question:
    """One question. `evidence` holds ids of turns or of sessions, as the benchmark gives them.

    `answer` is the reference, empty where `criteria` stand in its place (Memora); `abstention`: the conversation has no
    answer, and saying so is right. `remembered` and `forgotten` are the values behind Memora's criteria.
    """

    id: str
    group: str
    task: str
    question: str
    asked_at: datetime
    answer: str = ""
    evidence: tuple[str, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    remembered: tuple[EvidenceValue, ...] = ()
    forgotten: tuple[EvidenceValue, ...] = ()
    abstention: bool = False


@dataclass(frozen=True)
class Provenance:
    """Which files a run read. `pinned`: their hashes are the known ones. `partial`: what is missing, if anything."""

    files: dict[str, str]
    pinned: bool
    partial: str
    traps: tuple[str, ...]

    def label(self) -> str:
        """The words that stand under every table."""
        words = ["pinned files" if self.pinned else "unpinned files"]
        return ", ".join(words + ([self.partial] if self.partial else []))


@dataclass(frozen=True)
class Suite:
    """A benchmark in memory. `sessions_of` reads one group's sessions when they are needed.

    `development` names the groups that tuning may see; everything else is for reporting.
    """

    name: str
    groups: tuple[str, ...]
    questions: tuple[Question, ...]
    sessions_of: Callable[[str], Sequence[Session]]
    unit: EvidenceUnit
    provenance: Provenance
    scored_by: Literal["criteria", "answer"]
    development: frozenset[str] = field(default_factory=frozenset)

    def part_of(self, group: str) -> PartOfData:
        """The part of the data that a group belongs to."""
        return "development" if group in self.development else "reporting"

    def restricted(self, groups: Sequence[str], questions: int | None) -> Suite:
        """The same with these groups, and at most so many questions of each; the provenance says so."""
        kept: list[Question] = []
        for group in groups:
            own = [question for question in self.questions if question.group == group]
            kept += own[:questions]
        notes = [self.provenance.partial] if self.provenance.partial else []
        if len(groups) < len(self.groups):
            notes.append(f"{len(groups)} of {len(self.groups)} groups")
        if len(kept) < sum(question.group in set(groups) for question in self.questions):
            notes.append(f"at most {questions} questions a group")
        provenance = replace(self.provenance, partial="; ".join(notes))
        return replace(self, groups=tuple(groups), questions=tuple(kept), provenance=provenance)

    def session_of_turns(self) -> dict[str, str]:
        """Session id by turn id, over all groups. Reads every session: ask once a run."""
        return {
            turn.id: session.id
            for group in self.groups
            for session in self.sessions_of(group)
            for turn in session.turns
        }


def file_hashes(paths: Sequence[Path], root: Path) -> dict[str, str]:
    """SHA-256 of every file by its path below `root`."""
    return {path.relative_to(root).as_posix(): _sha256(path) for path in paths}


def combined(hashes: dict[str, str]) -> str:
    """One hash over many files: what a pin of a folder is."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
