"""How far people agree with the teachers and with one another on an audit set (SLICE-Mem C.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from pydantic import Field

from engrain.data_builders.quality.agreement import (
    MISSING,
    bootstrap_interval,
    cohen,
    cohen_kappa,
    krippendorff_alpha,
)
from engrain.data_builders.teachers.audit import AuditItem
from engrain.runtime.schema import ContextDependence, Contract

TEACHERS = "teachers"
"""The majority of the teachers, as one more rater."""

Labels = Mapping[str, bool]


class Agreement(Contract):
    """Two raters on the turns that both judged."""

    first: str
    second: str
    turns: int
    agreeing: int
    kappa: float | None = Field(description="Cohen's kappa; None where it is undefined.")
    low: float | None = Field(description="Lower end of its 95% bootstrap interval.")
    high: float | None = Field(description="Upper end.")


class AuditReport(Contract):
    """Agreement of everybody with everybody."""

    turns: int
    judged: dict[str, int] = Field(description="Turns with yes or no, by annotator.")
    positives: dict[str, int] = Field(description="Turns with yes, by annotator.")
    with_teachers: tuple[Agreement, ...] = Field(description="Each annotator against the teachers' majority.")
    by_dependence: dict[str, tuple[Agreement, ...]] = Field(description="The same, by context dependence.")
    with_each_teacher: tuple[Agreement, ...]
    between_people: tuple[Agreement, ...]
    alpha: float | None = Field(description="Krippendorff's alpha of all annotators; None for fewer than two.")


def audit_report(items: Sequence[AuditItem], people: Mapping[str, Labels], *, resamples: int = 10_000) -> AuditReport:
    """Compare annotators' labels with the teachers' and with each other's; `resamples` as in C.2."""
    teachers = sorted({vote.teacher for item in items for vote in item.votes})
    single = {teacher: _of_teacher(items, teacher) for teacher in teachers}

    def against(part: Sequence[AuditItem]) -> tuple[Agreement, ...]:
        whole = _of_majority(part)
        return tuple(_agreement(name, labels, TEACHERS, whole, resamples) for name, labels in people.items())

    return AuditReport(
        turns=len(items),
        judged={name: len(labels) for name, labels in people.items()},
        positives={name: sum(labels.values()) for name, labels in people.items()},
        with_teachers=against(items),
        by_dependence={
            kind.value: against([item for item in items if item.context_dependence is kind])
            for kind in ContextDependence
        },
        with_each_teacher=tuple(
            _agreement(name, labels, teacher, given, resamples)
            for name, labels in people.items()
            for teacher, given in single.items()
        ),
        between_people=tuple(
            _agreement(first, people[first], second, people[second], resamples)
            for first, second in combinations(people, 2)
        ),
        alpha=_alpha(items, people),
    )


def _of_teacher(items: Sequence[AuditItem], teacher: str) -> dict[str, bool]:
    return {item.candidate.id: vote.admit for item in items for vote in item.votes if vote.teacher == teacher}


def _of_majority(items: Sequence[AuditItem]) -> dict[str, bool]:
    return {item.candidate.id: label for item in items if (label := item.teacher_label) is not None}


def _agreement(first: str, one: Labels, second: str, other: Labels, resamples: int) -> Agreement:
    ratings = [(int(one[name]), int(other[name])) for name in one if name in other]
    agreeing = sum(a == b for a, b in ratings)
    if not ratings:
        return Agreement(first=first, second=second, turns=0, agreeing=0, kappa=None, low=None, high=None)
    low, high = bootstrap_interval(cohen, ratings, resamples=resamples)
    return Agreement(
        first=first,
        second=second,
        turns=len(ratings),
        agreeing=agreeing,
        kappa=_finite(cohen_kappa(ratings)),
        low=_finite(low),
        high=_finite(high),
    )


def _alpha(items: Sequence[AuditItem], people: Mapping[str, Labels]) -> float | None:
    if len(people) < 2:
        return None
    names = [item.candidate.id for item in items]
    ratings = [[int(labels[name]) if name in labels else MISSING for labels in people.values()] for name in names]
    return _finite(krippendorff_alpha(ratings))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
