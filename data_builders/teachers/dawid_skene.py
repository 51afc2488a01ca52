"""Dawid and Skene's model of annotators (1979) for yes-or-no votes: each teacher has a rate of error of its own.

Expectation-maximisation by hand, thirty lines: the kept library for it brings torch, transformers and pandas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NO_VOTE = -1
_SMOOTHING = 1.0
"""Votes added to each cell of a teacher's confusion matrix, so that one without errors is not taken as certain."""


@dataclass(frozen=True)
class DawidSkene:
    """Posterior of yes for each item, and each teacher's estimated behaviour."""

    posterior: Floats
    """N: probability that the item is a yes."""
    prevalence: float
    sensitivity: Floats
    """T: probability that the teacher says yes to a yes."""
    specificity: Floats
    """T: probability that the teacher says no to a no."""
    rounds: int


def fit(votes: NDArray[np.int8], *, most_rounds: int = 200, tolerance: float = 1e-6) -> DawidSkene:
    """Fit to `votes`, N x T with 1 yes, 0 no, -1 no vote. Starts from the share of yes votes.

    Deterministic. An item without votes gets the prevalence.
    """
    yes, no = (votes == 1).astype(np.float64), (votes == 0).astype(np.float64)
    cast = yes.sum(axis=1) + no.sum(axis=1)
    posterior = np.divide(yes.sum(axis=1), cast, out=np.full(len(votes), 0.5), where=cast > 0)
    rounds = 0
    for _ in range(most_rounds):
        rounds += 1
        prevalence, sensitivity, specificity = _maximise(posterior, yes, no)
        updated = _expect(prevalence, sensitivity, specificity, yes, no)
        moved = float(np.abs(updated - posterior).max(initial=0.0))
        posterior = updated
        if moved < tolerance:
            break
    prevalence, sensitivity, specificity = _maximise(posterior, yes, no)
    return DawidSkene(posterior, prevalence, sensitivity, specificity, rounds)


def _maximise(posterior: Floats, yes: Floats, no: Floats) -> tuple[float, Floats, Floats]:
    """Prevalence and both rates from the posteriors, with smoothing."""
    positive, negative = posterior[:, None], 1.0 - posterior[:, None]
    true_yes, missed = (positive * yes).sum(axis=0), (positive * no).sum(axis=0)
    true_no, false_yes = (negative * no).sum(axis=0), (negative * yes).sum(axis=0)
    prevalence = (posterior.sum() + _SMOOTHING) / (len(posterior) + 2 * _SMOOTHING)
    sensitivity = (true_yes + _SMOOTHING) / (true_yes + missed + 2 * _SMOOTHING)
    specificity = (true_no + _SMOOTHING) / (true_no + false_yes + 2 * _SMOOTHING)
    return float(prevalence), sensitivity, specificity


def _expect(prevalence: float, sensitivity: Floats, specificity: Floats, yes: Floats, no: Floats) -> Floats:
    """Posteriors from the rates, in logarithms."""
    if_yes = np.log(prevalence) + yes @ np.log(sensitivity) + no @ np.log1p(-sensitivity)
    if_no = np.log1p(-prevalence) + yes @ np.log1p(-specificity) + no @ np.log(specificity)
    posterior: Floats = 1.0 / (1.0 + np.exp(np.clip(if_no - if_yes, -700, 700)))
    return posterior
