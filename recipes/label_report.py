"""Counts of a labelling run, by corpus and by teacher, and how they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engrain.data_builders.teachers.candidates import Drawn
from engrain.data_builders.teachers.records import Annotation
from engrain.recipes import console


def corpus_counts(drawn: Drawn, found: Sequence[Annotation]) -> dict[str, Any]:
    """What was drawn of a corpus and what became of it."""
    accepted = [one for one in found if one.verdict.accepted]
    refused = Counter(one.verdict.rejected_because.value for one in found if one.verdict.rejected_because)
    types = Counter(str(one.verdict.auxiliary_type or "none") for one in accepted)
    return {
        "sessions": drawn.sessions,
        "user_turns": drawn.user_turns,
        "repeated": drawn.repeated,
        "candidates": len(found),
        "accepted": len(accepted),
        "positives": sum(bool(one.verdict.label) for one in accepted),
        "refused": dict(refused),
        "types": dict(types),
    }


@dataclass
class _TeacherCounts:
    """How a teacher answered."""

    valid: int = 0
    corrected: int = 0
    invalid: int = 0
    unanswered: int = 0
    admitted: int = 0


def teacher_counts(found: Sequence[Annotation]) -> dict[str, dict[str, int]]:
    """How each teacher answered."""
    counts: dict[str, _TeacherCounts] = {}
    for result in (result for one in found for result in one.results):
        own = counts.setdefault(result.teacher, _TeacherCounts())
        own.valid += result.vote is not None
        own.corrected += result.vote is not None and result.attempts > 1
        own.invalid += result.vote is None and not result.failure
        own.unanswered += bool(result.failure)
        own.admitted += result.vote is not None and result.vote.admit
    return {teacher: asdict(own) for teacher, own in counts.items()}


def show(document: Mapping[str, Any]) -> None:
    """Print the counts as tables; calls that got no answer are named as what another run would ask again."""
    columns = ("corpus", "candidates", "accepted", "positives", "refused")
    rows = [
        (corpus, *(part[name] for name in columns[1:4]), ", ".join(f"{n} {why}" for why, n in part["refused"].items()))
        for corpus, part in document["corpora"].items()
    ]
    console.show_table("consensus", columns, rows)
    names = ("valid", "corrected", "invalid", "unanswered", "admitted")
    teachers = [(name, *(part[each] for each in names)) for name, part in document["teachers"].items()]
    console.show_table("teachers", ("teacher", *names), teachers)
    unanswered = sum(part["unanswered"] for part in document["teachers"].values())
    if unanswered:
        console.say(f"{unanswered} calls got no answer; run the same command again to ask only those")
