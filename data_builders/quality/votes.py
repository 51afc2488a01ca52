"""How far raters agree on a corpus: on admission, auxiliary type and context dependence, by corpus and by type.

Statistics are over every turn that was rated, also those that the consensus then refused: among the admitted ones
alone agreement is complete by construction (SLICE-Mem A.1).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from pydantic import Field

from engrain.data_builders.quality.agreement import (
    MISSING,
    Codes,
    Statistic,
    bootstrap_interval,
    cohen,
    cohen_kappa,
    fleiss,
    fleiss_kappa,
    krippendorff,
    krippendorff_alpha,
)
from engrain.runtime.schema import AuxiliaryType, ContextDependence, Contract, GateExample, Vote

LISTED = 50
"""Turns without agreement that a report names; all are counted."""

_ADMISSION = "admission"
_FIELDS: Mapping[str, Callable[[Vote], int]] = {
    _ADMISSION: lambda vote: int(vote.admit),
    "auxiliary type": lambda vote: list(AuxiliaryType).index(vote.auxiliary_type),
    "context dependence": lambda vote: list(ContextDependence).index(vote.context_dependence),
}


@dataclass(frozen=True, slots=True)
class RatedTurn:
    """A turn with the votes that it got, at most one a rater."""

    id: str
    corpus: str
    text: str
    votes: tuple[Vote, ...]

    @classmethod
    def of(cls, example: GateExample) -> RatedTurn:
        """The votes of a gate example."""
        return cls(example.id, example.corpus, example.target.text, example.votes)


class Estimate(Contract):
    """A statistic with its bootstrap interval; None where it is undefined."""

    value: float | None
    low: float | None = Field(description="Lower end of the 95% percentile interval.")
    high: float | None = Field(description="Upper end.")
    items: int = Field(description="Turns that count.")


class PairAgreement(Contract):
    """Two raters on the turns that both rated."""

    first: str
    second: str
    agreeing: float | None = Field(description="Share of the turns on which they agree.")
    kappa: Estimate = Field(description="Cohen's kappa.")


class FieldAgreement(Contract):
    """Agreement on one field of a vote."""

    field: str
    unanimous: float | None = Field(description="Share of turns with two votes or more on which all agree.")
    fleiss: Estimate = Field(description="Fleiss' kappa over the turns that every rater rated.")
    alpha: Estimate = Field(description="Krippendorff's nominal alpha over all turns with two votes or more.")
    pairs: tuple[PairAgreement, ...]


class SliceAgreement(Contract):
    """Agreement on a part of the turns."""

    slice: str = Field(description="`all`, or `corpus: ...`, or `type: ...` (the type that most votes name).")
    turns: int
    fields: tuple[FieldAgreement, ...]


class Rater(Contract):
    """What one rater did."""

    name: str
    votes: int
    admitted: float = Field(description="Share of its votes that admit.")
    confidence: float = Field(description="Mean confidence as the rater states it.")
    types: dict[AuxiliaryType, int]


class Disagreement(Contract):
    """A turn whose raters do not agree on admission."""

    id: str
    corpus: str
    text: str
    admitting: tuple[str, ...]
    rejecting: tuple[str, ...]


class AgreementReport(Contract):
    """Agreement of all raters on all turns, and on every corpus and type."""

    turns: int = Field(description="Turns with two votes or more.")
    single: int = Field(description="Turns with one vote, which say nothing about agreement.")
    raters: tuple[Rater, ...]
    slices: tuple[SliceAgreement, ...]
    disagreeing: int = Field(description="Turns whose raters do not agree on admission.")
    disagreements: tuple[Disagreement, ...] = Field(description=f"The first {LISTED} of them.")

    def field(self, name: str = _ADMISSION, part: str = "all") -> FieldAgreement:
        """One field's agreement on one slice."""
        found = next(one for one in self.slices if one.slice == part)
        return next(one for one in found.fields if one.field == name)


def agreement(rated: Iterable[RatedTurn], *, resamples: int = 10_000, seed: int = 42) -> AgreementReport | None:
    """Agreement of the votes; None when no turn has two."""
    voted = [turn for turn in rated if turn.votes]
    turns = [turn for turn in voted if len(turn.votes) > 1]
    if not turns:
        return None
    names = sorted({vote.teacher for turn in turns for vote in turn.votes})
    parts = {name: _slice(name, members, names, resamples, seed) for name, members in _parts(turns).items()}
    disputed = [turn for turn in turns if len({vote.admit for vote in turn.votes}) > 1]
    return AgreementReport(
        turns=len(turns),
        single=len(voted) - len(turns),
        raters=tuple(_rater(name, turns) for name in names),
        slices=tuple(parts.values()),
        disagreeing=len(disputed),
        disagreements=tuple(_disagreement(turn) for turn in disputed[:LISTED]),
    )


def majority_type(votes: Sequence[Vote]) -> AuxiliaryType | None:
    """The type that more than half of the votes name (SLICE-Mem A.1), else None."""
    kind, count = Counter(vote.auxiliary_type for vote in votes).most_common(1)[0]
    return kind if 2 * count > len(votes) else None


def _parts(turns: Sequence[RatedTurn]) -> dict[str, list[RatedTurn]]:
    parts: dict[str, list[RatedTurn]] = {"all": list(turns)}
    for corpus in sorted({turn.corpus for turn in turns}):
        parts[f"corpus: {corpus}"] = [turn for turn in turns if turn.corpus == corpus]
    by_type: dict[AuxiliaryType | None, list[RatedTurn]] = {kind: [] for kind in (*AuxiliaryType, None)}
    for turn in turns:
        by_type[majority_type(turn.votes)].append(turn)
    parts.update({f"type: {kind or 'no majority'}": members for kind, members in by_type.items() if members})
    return parts


def _slice(name: str, turns: Sequence[RatedTurn], raters: Sequence[str], resamples: int, seed: int) -> SliceAgreement:
    present = [rater for rater in raters if any(vote.teacher == rater for turn in turns for vote in turn.votes)]
    fields = []
    for field, code in _FIELDS.items():
        fields.append(_field(field, _codes(turns, present, code), present, resamples, seed))
    return SliceAgreement(slice=name, turns=len(turns), fields=tuple(fields))


def _codes(turns: Sequence[RatedTurn], raters: Sequence[str], code: Callable[[Vote], int]) -> Codes:
    """`N x R` category codes."""
    column = {rater: number for number, rater in enumerate(raters)}
    codes = np.full((len(turns), len(raters)), MISSING, dtype=np.int64)
    for row, turn in enumerate(turns):
        for vote in turn.votes:
            codes[row, column[vote.teacher]] = code(vote)
    return codes


def _field(name: str, codes: Codes, raters: Sequence[str], resamples: int, seed: int) -> FieldAgreement:
    def estimate(statistic: Statistic, value: Callable[[Codes], float], rows: Codes) -> Estimate:
        low, high = bootstrap_interval(statistic, rows, resamples=resamples, seed=seed)
        return Estimate(value=_finite(value(rows)), low=_finite(low), high=_finite(high), items=len(rows))

    pairs = []
    for first, second in combinations(range(len(raters)), 2):
        both = codes[:, [first, second]]
        both = both[(both != MISSING).all(axis=1)]
        same = float((both[:, 0] == both[:, 1]).mean()) if len(both) else None
        kappa = estimate(cohen, cohen_kappa, both)
        pairs.append(PairAgreement(first=raters[first], second=raters[second], agreeing=same, kappa=kappa))
    lowest = np.where(codes == MISSING, np.iinfo(np.int64).max, codes).min(axis=1)
    return FieldAgreement(
        field=name,
        unanimous=float((lowest == codes.max(axis=1)).mean()),
        fleiss=estimate(fleiss, fleiss_kappa, codes[(codes != MISSING).all(axis=1)]),
        alpha=estimate(krippendorff, krippendorff_alpha, codes),
        pairs=tuple(pairs),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rater(name: str, turns: Sequence[RatedTurn]) -> Rater:
    votes = [vote for turn in turns for vote in turn.votes if vote.teacher == name]
    return Rater(
        name=name,
        votes=len(votes),
        admitted=sum(vote.admit for vote in votes) / len(votes),
        confidence=sum(vote.confidence for vote in votes) / len(votes),
        types=dict(Counter(vote.auxiliary_type for vote in votes)),
    )


def _disagreement(turn: RatedTurn) -> Disagreement:
    return Disagreement(
        id=turn.id,
        corpus=turn.corpus,
        text=turn.text,
        admitting=tuple(vote.teacher for vote in turn.votes if vote.admit),
        rejecting=tuple(vote.teacher for vote in turn.votes if not vote.admit),
    )
