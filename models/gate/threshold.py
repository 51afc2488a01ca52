"""Choosing the admission threshold (SLICE-Mem C.3): by recall, F-beta, a budget of kept turns, or a sweep.

SLICE-Mem runs the whole pipeline at nine thresholds and takes the one with the highest end-to-end score, on the set
that it then reports. The rules here choose on validation instead; the sweep takes any scoring function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engrain.models.gate.metrics import Floats
from engrain.models.gate.threshold_rule import ThresholdRule
from engrain.runtime.bundle import ThresholdChoice
from engrain.runtime.errors import InputError

SWEEP = tuple(round(0.1 * step, 1) for step in range(1, 10))
"""C.3's nine thresholds."""


def choose_threshold(labels: Sequence[bool], scores: Floats, rule: ThresholdRule, *, on: str) -> ThresholdChoice:
    """The threshold that `rule` gives on N validation scores; `on` names the set in the record of the choice."""
    truth = np.asarray(labels, dtype=bool)
    if not truth.any() or truth.all():
        raise InputError(f"{on}: all {len(truth)} labels are of one class, so no threshold can be chosen on them")
    if rule.method == "recall":
        value = _for_recall(truth, scores, rule.recall)
        return ThresholdChoice(value=value, chosen_by=f"highest that keeps {rule.recall:.2%} of positives, on {on}")
    if rule.method == "kept_share":
        value = _for_share(scores, rule.kept_share)
        return ThresholdChoice(value=value, chosen_by=f"lowest that keeps at most {rule.kept_share:.2%}, on {on}")
    if rule.method == "f_beta":
        candidates = np.unique(scores)
        values = [f_beta(truth, scores, float(at), rule.beta) for at in candidates]
        best = float(candidates[int(np.argmax(values))])
        return ThresholdChoice(value=best, chosen_by=f"highest F{rule.beta:g} ({max(values):.4f}), on {on}")
    return sweep(lambda at: f_beta(truth, scores, at, rule.beta), name=f"F{rule.beta:g} on {on}")


def sweep(score: Callable[[float], float], *, name: str, thresholds: Sequence[float] = SWEEP) -> ThresholdChoice:
    """The threshold with the highest score of all tried, the lowest of equals; every point is in the record.

    `score` may be anything that a threshold decides: a validation measure, or a whole benchmark run.
    """
    if not thresholds:
        raise InputError("a sweep needs at least one threshold")
    points = tuple((float(at), float(score(at))) for at in thresholds)
    if not all(np.isfinite(value) for _, value in points):
        raise InputError(f"{name}: a score is not finite: {points}")
    best, value = max(points, key=lambda point: (point[1], -point[0]))
    return ThresholdChoice(value=best, chosen_by=f"highest {name} ({value:.4f}) of {len(points)}", sweep=points)


def f_beta(truth: NDArray[np.bool_], scores: Floats, threshold: float, beta: float) -> float:
    """(1 + b2) P R / (b2 P + R) of the turns at or above the threshold; 0 when nothing is right."""
    kept = scores >= threshold
    hits = float((kept & truth).sum())
    weighted = (1 + beta**2) * hits
    return weighted / (beta**2 * float(truth.sum()) + float(kept.sum())) if hits else 0.0


def _for_recall(truth: NDArray[np.bool_], scores: Floats, recall: float) -> float:
    positive = np.sort(scores[truth])[::-1]
    # Guard against 0.999... of a whole number of positives.
    needed = max(1, int(np.ceil(recall * len(positive) - 1e-9)))
    return float(positive[needed - 1])


def _for_share(scores: Floats, share: float) -> float:
    most = int(np.floor(share * len(scores) + 1e-9))
    values = np.unique(scores)
    kept = len(scores) - np.searchsorted(np.sort(scores), values, side="left")
    allowed = values[kept <= most]
    if not len(allowed):
        raise InputError(f"no threshold keeps at most {share:.2%} of {len(scores)}: the highest scores are equal")
    return float(allowed[0])
