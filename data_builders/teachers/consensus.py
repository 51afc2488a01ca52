"""Votes to a label (SLICE-Mem A.1): who enters the pool, with which label, and why the others do not.

The paper's policy is `unanimous`: every teacher gave a valid answer and all agree on admission; agreement on the
auxiliary fields is not required. `majority` and `dawid_skene` keep more, with more doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from engrain.data_builders.teachers import dawid_skene
from engrain.data_builders.teachers.records import Annotation, Candidate, Rejection, TeacherResult, Verdict
from engrain.data_builders.teachers.settings import ConsensusSettings, Policy
from engrain.runtime.schema import AuxiliaryType, Vote

Choice = TypeVar("Choice")
Results = Sequence[TeacherResult]


def annotate(
    candidates: Sequence[Candidate], results: Sequence[Results], settings: ConsensusSettings
) -> tuple[Annotation, ...]:
    """A verdict for every candidate; Dawid-Skene learns the teachers' rates from all of them together."""
    verdicts = _POLICIES[settings.policy](results, settings)
    return tuple(
        Annotation(candidate=candidate, results=tuple(given), verdict=verdict)
        for candidate, given, verdict in zip(candidates, results, verdicts, strict=True)
    )


def majority(choices: Iterable[Choice]) -> Choice | None:
    """The choice of more than half, else None."""
    counts = Counter(choices)
    if not counts:
        return None
    choice, count = counts.most_common(1)[0]
    return choice if 2 * count > counts.total() else None


def _unanimous(results: Sequence[Results], settings: ConsensusSettings) -> list[Verdict]:
    return [_unanimous_one(given) for given in results]


def _unanimous_one(given: Results) -> Verdict:
    if (missing := _missing(given, wanted=len(given))) is not None:
        return missing
    votes = _votes(given)
    if len({vote.admit for vote in votes}) > 1:
        return _rejected(Rejection.DISAGREEMENT, _split(votes), votes)
    return _accepted(votes[0].admit, votes)


def _majority(results: Sequence[Results], settings: ConsensusSettings) -> list[Verdict]:
    return [_majority_one(given, settings) for given in results]


def _majority_one(given: Results, settings: ConsensusSettings) -> Verdict:
    if (missing := _missing(given, wanted=min(settings.min_votes, len(given)))) is not None:
        return missing
    votes = _votes(given)
    label = majority(vote.admit for vote in votes)
    return _rejected(Rejection.DISAGREEMENT, _split(votes), votes) if label is None else _accepted(label, votes)


def _dawid_skene(results: Sequence[Results], settings: ConsensusSettings) -> list[Verdict]:
    table = np.full((len(results), max((len(given) for given in results), default=0)), dawid_skene.NO_VOTE, np.int8)
    for row, given in enumerate(results):
        for column, result in enumerate(given):
            if result.vote is not None:
                table[row, column] = int(result.vote.admit)
    posterior = dawid_skene.fit(table).posterior
    return [_posterior_one(given, float(yes), settings) for given, yes in zip(results, posterior, strict=True)]


def _posterior_one(given: Results, yes: float, settings: ConsensusSettings) -> Verdict:
    if (missing := _missing(given, wanted=min(settings.min_votes, len(given)))) is not None:
        return missing
    votes, label = _votes(given), yes >= 0.5
    certainty = yes if label else 1.0 - yes
    if certainty < settings.min_certainty:
        detail = f"{_split(votes)}; certainty {certainty:.3f} is below {settings.min_certainty:g}"
        return _rejected(Rejection.UNCERTAIN, detail, votes, certainty)
    return _accepted(label, votes, certainty)


_POLICIES: dict[Policy, Callable[[Sequence[Results], ConsensusSettings], list[Verdict]]] = {
    Policy.UNANIMOUS: _unanimous,
    Policy.MAJORITY: _majority,
    Policy.DAWID_SKENE: _dawid_skene,
}


def _votes(given: Results) -> list[Vote]:
    return [result.vote for result in given if result.vote is not None]


def _missing(given: Results, wanted: int) -> Verdict | None:
    """The rejection of a candidate with too few valid votes; an answer that never came is told from an invalid one."""
    votes = _votes(given)
    if votes and len(votes) >= wanted:
        return None
    without = [result for result in given if result.vote is None]
    because = Rejection.NO_ANSWER if any(result.failure for result in without) else Rejection.INVALID_ANSWER
    detail = "; ".join(f"{result.teacher}: {result.failure or ', '.join(result.faults)}" for result in without)
    return _rejected(because, detail, votes)


def _split(votes: Sequence[Vote]) -> str:
    return ", ".join(f"{vote.teacher} {'yes' if vote.admit else 'no'}" for vote in votes)


def _rejected(because: Rejection, detail: str, votes: Sequence[Vote], certainty: float | None = None) -> Verdict:
    return Verdict(
        rejected_because=because,
        detail=detail,
        certainty=certainty,
        auxiliary_type=majority(vote.auxiliary_type for vote in votes),
        context_dependence=majority(vote.context_dependence for vote in votes),
    )


def _accepted(label: bool, votes: Sequence[Vote], certainty: float | None = None) -> Verdict:
    memory_type = majority(vote.auxiliary_type for vote in votes)
    if label and memory_type is AuxiliaryType.NON_MEMORY:
        # Dawid-Skene can overrule the many; A.1 forbids an admitted turn of this type.
        memory_type = None
    return Verdict(
        label=label,
        certainty=certainty,
        auxiliary_type=memory_type,
        context_dependence=majority(vote.context_dependence for vote in votes),
    )
