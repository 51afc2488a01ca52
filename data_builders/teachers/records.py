"""What is labelled and what came of it: candidates, each teacher's result, the verdict. Kept as JSONL, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from engrain.runtime.errors import InputError
from engrain.runtime.schema import AuxiliaryType, ContextDependence, Contract, Identifier, Utterance, Vote

Row = TypeVar("Row", bound=Contract)


class Candidate(Contract):
    """A user turn that may become a row of a gate corpus."""

    id: Identifier
    corpus: str
    group: Identifier = Field(description="Rows of one group are never split across train and validation.")
    context: tuple[Utterance, ...] = Field(
        description="Messages before, oldest first, speakers as the source names them."
    )
    target: Utterance


class TeacherResult(Contract):
    """What one teacher made of one candidate."""

    teacher: str
    vote: Vote | None = Field(default=None, description="Empty when no answer was valid.")
    reason: str = Field(default="", description="The teacher's rationale.")
    attempts: int = Field(description="Answers asked for, corrections included.")
    faults: tuple[str, ...] = Field(default=(), description="What was wrong with the last answer.")
    failure: str = Field(default="", description="Why the endpoint gave no answer at all; asked again by the next run.")


class Rejection(StrEnum):
    """Why a candidate is not in the pool."""

    INVALID_ANSWER = "invalid_answer"
    NO_ANSWER = "no_answer"
    DISAGREEMENT = "disagreement"
    UNCERTAIN = "uncertain"


class Verdict(Contract):
    """What the votes come to. `label` is set exactly when the candidate is accepted."""

    label: bool | None = None
    rejected_because: Rejection | None = None
    detail: str = Field(default="", description="The rejection in words: which teacher, which votes.")
    certainty: float | None = Field(default=None, description="Posterior of the label under Dawid-Skene.")
    auxiliary_type: AuxiliaryType | None = Field(default=None, description="Majority of the valid votes, else none.")
    context_dependence: ContextDependence | None = Field(default=None, description="Majority, else none.")

    @property
    def accepted(self) -> bool:
        """Whether the candidate is in the consensus pool."""
        return self.label is not None


class Annotation(Contract):
    """A candidate with every teacher's result and the verdict. Rejected ones are kept too."""

    candidate: Candidate
    results: tuple[TeacherResult, ...]
    verdict: Verdict

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The valid votes, in the order of the teachers."""
        return tuple(result.vote for result in self.results if result.vote is not None)


def write_rows(path: Path, rows: Iterable[Contract]) -> None:
    """Write one JSON line a row; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    with unfinished.open("w", encoding="utf-8") as stream:
        stream.writelines(row.model_dump_json() + "\n" for row in rows)
    unfinished.replace(path)


def read_rows(path: Path, kind: type[Row], *, whole: bool = True) -> tuple[Row, ...]:
    """Read what `write_rows` wrote. `InputError` names the line that is not a row.

    `whole=False` forgives a last line that was cut while it was appended.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(kind.model_validate(json.loads(line)))
        except ValueError as error:
            if number == len(lines) and not whole:
                break
            fault = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            raise InputError(f"{path}:{number}: not a {kind.__name__} ({fault}); {len(rows)} rows are good") from None
    return tuple(rows)
