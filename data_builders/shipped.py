"""The corpus that ships with Engrain: dialogues written for it, for the quickstart and for tests only.

Sessions with gate labels, gold dimensional records and questions with evidence, of people who do not exist. No figure
of quality may be taken from it: it is small, and written by the authors of the project.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from engrain.data_builders.config import ShippedSplit
from engrain.data_builders.sources.dialogue import LabelledSession, SourceInfo
from engrain.data_builders.sources.json_files import read_rows
from engrain.data_builders.sources.jsonl import DEFAULT_ROLES, JsonlSource
from engrain.runtime.errors import InputError
from engrain.runtime.schema import (
    AwareDatetime,
    Contract,
    Dimensions,
    ExtractedRecord,
    Identifier,
    MemoryType,
    Split,
    Text,
)
from engrain.runtime.timestamps import parse_timestamp, record_interval

Row = TypeVar("Row")
HELD_OUT = ("jonas", "mara")
"""People whose sessions nothing is trained on: one writes in chat style, the other in full sentences."""

INFO = SourceInfo(
    name="shipped",
    licence="Apache-2.0",
    citation="Written for Engrain; the people are invented.",
    roles=dict(DEFAULT_ROLES),
    time_zone="stated",
)


class QuestionKind(StrEnum):
    """What a question asks for."""

    SINGLE_FACT = "single_fact"
    MULTI_SESSION = "multi_session"
    TEMPORAL = "temporal"
    CHANGED_FACT = "changed_fact"
    PREFERENCE = "preference"
    ASSISTANT_SAID = "assistant_said"
    UNANSWERABLE = "unanswerable"


class GoldRecord(Contract):
    """One dimensional record as an author wrote it, with the turn that states it."""

    id: Identifier
    user_id: Identifier
    session_id: Identifier
    source_turn_id: Identifier
    content: Text
    memory_type: MemoryType
    time: str = ""
    location: str = ""
    reason: str = ""
    purpose: str = ""
    keywords: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = Field(default=(), description="Records that this one makes outdated.")

    def extracted(self, source_id: int) -> ExtractedRecord:
        """The record as an extractor should write it when its turn is message `source_id` of a window."""
        dimension = Dimensions(
            memory_type=self.memory_type,
            time=self.time,
            location=self.location,
            reason=self.reason,
            purpose=self.purpose,
            keywords=self.keywords,
        )
        return ExtractedRecord(source_id=source_id, content=self.content, dimension=dimension)


class Question(Contract):
    """A question asked after a person's last session, with the turns that answer it."""

    id: Identifier
    user_id: Identifier
    asked_at: AwareDatetime
    kind: QuestionKind
    question: Text
    answer: str
    evidence: tuple[str, ...] = Field(description="Turn ids; empty when the question cannot be answered.")


@dataclass(frozen=True)
class ShippedCorpus:
    """The whole corpus in memory: sessions in file order, records and questions."""

    sessions: tuple[LabelledSession, ...]
    records: tuple[GoldRecord, ...]
    questions: tuple[Question, ...]
    info: SourceInfo = INFO

    @property
    def people(self) -> tuple[str, ...]:
        """People in order of first appearance."""
        return tuple(dict.fromkeys(labelled.person for labelled in self.sessions))

    def sessions_of(self, person: str) -> tuple[LabelledSession, ...]:
        """One person's sessions in time order."""
        own = (labelled for labelled in self.sessions if labelled.person == person)
        return tuple(sorted(own, key=lambda labelled: labelled.session.started_at))

    def questions_of(self, people: Iterable[str]) -> tuple[Question, ...]:
        """The questions of some people."""
        wanted = frozenset(people)
        return tuple(question for question in self.questions if question.user_id in wanted)

    def held_out(self, settings: ShippedSplit) -> tuple[str, ...]:
        """People of the test split. Raises `InputError` for an unknown name, or when nobody is left to train on."""
        chosen = HELD_OUT if settings.held_out is None else settings.held_out
        unknown = sorted(set(chosen) - set(self.people))
        if unknown:
            raise InputError(f"held_out: {', '.join(unknown)} is not in the corpus; it has {', '.join(self.people)}")
        if set(chosen) == set(self.people):
            raise InputError("held_out names everybody in the corpus; leave somebody to train on")
        return tuple(chosen)

    def splits(self, settings: ShippedSplit) -> dict[str, Split]:
        """Session id to split: held-out people test; a share of each other person's sessions, at least one, validate.

        A person with a single session gives it to training. Gate and extractor share this division. With
        `held_out_sessions` everybody's latest sessions test instead; see `_splits_by_session`.
        """
        if settings.held_out_sessions is not None:
            return self._splits_by_session(settings, settings.held_out_sessions)
        held_out = self.held_out(settings)
        splits: dict[str, Split] = {}
        for person in self.people:
            names = [labelled.session.id for labelled in self.sessions_of(person)]
            if person in held_out:
                splits.update(dict.fromkeys(names, Split.TEST))
                continue
            wanted = max(1, round(settings.validation_share * len(names)))
            rng = random.Random(f"{settings.seed}/{person}")
            validating = set(rng.sample(names, min(wanted, len(names) - 1)))
            splits.update({name: Split.VALIDATION if name in validating else Split.TRAIN for name in names})
        return splits

    def _splits_by_session(self, settings: ShippedSplit, share: float) -> dict[str, Split]:
        """A share of each person's sessions, the latest, test; of all others a share, at least one, validates.

        Nobody loses the only session to the test. Raises `InputError` when nothing is left to test or to train on.
        """
        splits: dict[str, Split] = {}
        for person in self.people:
            names = [labelled.session.id for labelled in self.sessions_of(person)]
            first = len(names) - min(round(share * len(names)), len(names) - 1)
            splits.update({name: Split.TRAIN if at < first else Split.TEST for at, name in enumerate(names)})
        others = [name for name, split in splits.items() if split is Split.TRAIN]
        wanted = max(1, round(settings.validation_share * len(others)))
        if len(others) == len(splits) or wanted >= len(others):
            raise InputError(
                f"held_out_sessions {share} leaves {len(splits) - len(others)} sessions to test and {len(others)} for "
                "training and validation; the corpus is too small for it"
            )
        validating = random.Random(f"{settings.seed}/sessions").sample(others, wanted)
        return splits | dict.fromkeys(validating, Split.VALIDATION)


def load_shipped(folder: Path | None = None) -> ShippedCorpus:
    """Read the corpus that is installed with the package, or one of the same form from `folder`.

    Raises `InputError` for a missing or broken file (with its line), a time outside the schema's forms, or a reference
    to a turn or record that does not exist.
    """
    sessions = _read("sessions.jsonl", folder, lambda path: tuple(JsonlSource(path, info=INFO).sessions()))
    turn_ids = {turn.id for labelled in sessions for turn in labelled.session.turns}
    records = _read("records.jsonl", folder, lambda path: _unique(read_rows(path, _record(turn_ids)), path))
    questions = _read("questions.jsonl", folder, lambda path: _unique(read_rows(path, _question(turn_ids)), path))
    known = {record.id for record in records}
    for record in records:
        _require_known(record.supersedes, known, f"record '{record.id}', supersedes")
    return ShippedCorpus(sessions, records, questions)


def _read(name: str, folder: Path | None, read: Callable[[Path], tuple[Row, ...]]) -> tuple[Row, ...]:
    if folder is not None:
        return read(folder / name)
    with as_file(files("engrain.data_builders").joinpath("corpus", name)) as path:
        return read(path)


def _record(turn_ids: set[str]) -> Callable[[Any], GoldRecord]:
    def build(value: Any) -> GoldRecord:
        record = GoldRecord.model_validate(value)
        _require_known((record.source_turn_id,), turn_ids, f"record '{record.id}', source_turn_id")
        if record.time:
            record_interval(record.time, UTC)
        return record

    return build


def _question(turn_ids: set[str]) -> Callable[[Any], Question]:
    def build(value: Any) -> Question:
        if isinstance(value, dict) and isinstance(value.get("asked_at"), str):
            value = {**value, "asked_at": _aware(value["asked_at"])}
        question = Question.model_validate(value)
        _require_known(question.evidence, turn_ids, f"question '{question.id}', evidence")
        return question

    return build


def _aware(text: str) -> datetime:
    return parse_timestamp(text, None)


Identified = TypeVar("Identified", GoldRecord, Question)


def _unique(rows: Iterable[Identified], path: Path) -> tuple[Identified, ...]:
    found: dict[str, Identified] = {}
    for row in rows:
        if row.id in found:
            raise InputError(f"{path}: the id '{row.id}' was used before; ids must be unique in the file")
        found[row.id] = row
    return tuple(found.values())


def _require_known(names: Iterable[str], known: set[str], place: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"{place}: {', '.join(unknown)} does not exist")
