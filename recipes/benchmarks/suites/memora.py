"""Memora as a benchmark: one memory a persona, questions scored by criteria, evidence session by session."""

from __future__ import annotations

from datetime import UTC, datetime, time
from functools import lru_cache
from pathlib import Path

from engrain.data_builders.sources.memora import MemoraSource, find_split
from engrain.data_builders.sources.memora_questions import MemoraQuestion, memora_questions
from engrain.recipes.benchmarks.suites.suite import Provenance, Question, Suite, combined, file_hashes
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Session

PERSONAS = 10
DEVELOPMENT = frozenset({"academic_researcher", "business_executive", "content_writer"})
PINS = {"weekly": "3ed210109a168c13d3b14f5aa8a1e3c6c49766ed639b1f522861746ec4046634"}
"""Hash over the known files of a split, by split."""
TRAPS = (
    "a forgotten value's session id names the session that deleted or updated it, not the one that stated it",
    "the deleting turn usually repeats the value: stale leakage is counted apart from it",
    "kept and forgotten values share turns; calendar questions have no forgotten value; dislikes are to be remembered",
    "some remembered values never occur word for word in the dialogue",
)


def load(path: Path, split: str = "weekly") -> Suite:
    """Read one split of Memora below `path`; raises `InputError` when it is not there or a file is cut."""
    folder = find_split(path, split)
    if folder is None:
        raise InputError(f"no split '{split}' of Memora below {path}; expected <split>/<persona>/conversations")
    given = list(memora_questions(path, split))
    personas = tuple(dict.fromkeys(question.persona for question in given))
    hashes = file_hashes(sorted(folder.rglob("*.json")), folder)
    partial = f"{len(personas)} of {PERSONAS} personas" if len(personas) < PERSONAS else ""

    @lru_cache(maxsize=2)
    def sessions_of(group: str) -> tuple[Session, ...]:
        return tuple(labelled.session for labelled in MemoraSource(path, split, personas=(group,)).sessions())

    return Suite(
        name=f"memora-{split}",
        groups=personas,
        questions=tuple(_question(one) for one in given),
        sessions_of=sessions_of,
        unit="session",
        provenance=Provenance({split: combined(hashes)}, combined(hashes) == PINS.get(split), partial, TRAPS),
        scored_by="criteria",
        development=DEVELOPMENT,
    )


@lru_cache(maxsize=1)
def released_labels(path: Path, split: str) -> dict[str, bool]:
    """Whether the release marks a user turn as memory, by turn id: an oracle gate, and said so where it is used."""
    return {
        turn_id: label.keep
        for labelled in MemoraSource(path, split).sessions()
        for turn_id, label in labelled.labels.items()
    }


def _question(given: MemoraQuestion) -> Question:
    return Question(
        id=given.id,
        group=given.persona,
        task=given.task,
        question=given.question,
        # Asked at the end of its day: everything said on that day counts.
        asked_at=datetime.combine(given.asked_on, time.max, UTC),
        evidence=given.evidence_sessions,
        criteria=given.criteria,
        remembered=given.remembered,
        forgotten=given.forgotten,
    )
