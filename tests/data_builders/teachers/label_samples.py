"""Candidates and teachers' results, made short."""

from __future__ import annotations

from engrain.data_builders.teachers.records import Candidate, TeacherResult
from engrain.runtime.schema import Utterance, Vote


def candidate(text: str, *context: tuple[str, str], name: str = "", corpus: str = "c", group: str = "") -> Candidate:
    """A candidate said by `ann`."""
    return Candidate(
        id=name or text,
        corpus=corpus,
        group=group or f"{corpus}/{name or text}",
        context=tuple(Utterance(speaker=speaker, text=said) for speaker, said in context),
        target=Utterance(speaker="ann", text=text),
    )


def result(teacher: str, admit: bool | None, kind: str = "", dependence: str = "self_contained") -> TeacherResult:
    """A teacher's result; `admit=None` is an invalid answer."""
    if admit is None:
        return TeacherResult(teacher=teacher, attempts=3, faults=("confidence is 7",))
    vote = Vote(
        teacher=teacher,
        admit=admit,
        auxiliary_type=kind or ("personal_semantic" if admit else "non_memory"),
        context_dependence=dependence,
        confidence=0.8,
        evidence=("x",),
    )
    return TeacherResult(teacher=teacher, vote=vote, attempts=1)
