"""LongMemEval as a benchmark: one memory an item, evidence session by session, abstentions apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from engrain.data_builders.sources.longmemeval import LongMemEvalSource
from engrain.recipes.benchmarks.suites.suite import Provenance, Question, Suite, file_hashes
from engrain.runtime.schema import Session

ITEMS = 500
PINS = {"ac0fdcdcae33845517e67724193594b24421c2ffbc367cb328e9dec80d2d8fef": "100 items of LongMemEval-S, cleaned"}
"""SHA-256 of the known files."""
TRAPS = (
    "items whose id ends in _abs have no answer: they are in no recall, and counted",
    "dates are local and carry no zone; UTC is assumed",
    "a session may stand in several items' haystacks, and its dates differ there",
)


def load(path: Path) -> Suite:
    """Read LongMemEval's file; `path` is the JSON file, or a folder that holds exactly one."""
    found = sorted(path.glob("*.json")) if path.is_dir() else [path]
    file = found[0] if len(found) == 1 else path
    source = LongMemEvalSource(file)
    given = list(source.questions())
    hashes = file_hashes([file], file.parent)
    partial = f"{len(given)} of {ITEMS} items" if len(given) < ITEMS else ""

    @lru_cache(maxsize=1)
    def every_item() -> dict[str, tuple[Session, ...]]:
        return {question.id: tuple(one.session for one in sessions) for question, sessions in source.items()}

    def sessions_of(group: str) -> Sequence[Session]:
        return every_item()[group]

    return Suite(
        name="longmemeval",
        groups=tuple(question.id for question in given),
        questions=tuple(
            Question(
                id=question.id,
                group=question.id,
                task="abstention" if question.abstention else question.question_type,
                question=question.question,
                asked_at=question.asked_at,
                answer=question.answer,
                evidence=() if question.abstention else question.evidence,
                abstention=question.abstention,
            )
            for question in given
        ),
        sessions_of=sessions_of,
        unit="session",
        provenance=Provenance(hashes, all(digest in PINS for digest in hashes.values()), partial, TRAPS),
        scored_by="answer",
    )
