"""What a gate's scores are worth on a labelled set (SLICE-Mem C.1-C.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract

# SLICE-Mem C.4: at its deployed threshold the paper's gate keeps 1,608 of Memora weekly's 1,613 positives.
PAPER_RECALL = 1608 / 1613


class GateMeasures(Contract):
    """Scores against labels; shares are between 0 and 1."""

    turns: int
    positives: int
    prevalence: float
    auprc: float = Field(description="Average precision over all turns.")
    threshold: float
    kept_share: float = Field(description="Share of turns at or above the threshold (equation 1).")
    recall: float
    precision: float
    f1: float
    kept_at_paper_recall: float = Field(
        description="Smallest kept share at which the paper's share of positives (1,608 of 1,613) is kept."
    )


def measure_gate(labels: Sequence[bool], scores: NDArray[np.float64], threshold: float) -> GateMeasures:
    """Measure N scores against N labels. Raises `InputError` when the labels are of one class or scores are NaN."""
    from sklearn.metrics import average_precision_score

    truth: NDArray[Any] = np.asarray(labels, dtype=bool)
    positives = int(truth.sum())
    if positives in (0, len(truth)):
        raise InputError(f"{len(truth)} labels of a single class: average precision needs both; use another set")
    if not np.isfinite(scores).all():
        raise InputError(f"{int((~np.isfinite(scores)).sum())} of {len(scores)} scores are not finite")
    kept = scores >= threshold
    hits = int((kept & truth).sum())
    recall = hits / positives
    precision = hits / int(kept.sum()) if kept.any() else 0.0
    return GateMeasures(
        turns=len(truth),
        positives=positives,
        prevalence=positives / len(truth),
        auprc=float(average_precision_score(truth, scores)),
        threshold=threshold,
        kept_share=float(kept.mean()),
        recall=recall,
        precision=precision,
        f1=2 * precision * recall / (precision + recall) if hits else 0.0,
        kept_at_paper_recall=kept_share_at_recall(truth, scores, PAPER_RECALL),
    )


def kept_share_at_recall(truth: NDArray[Any], scores: NDArray[np.float64], recall: float) -> float:
    """Smallest share of turns that a threshold keeps while it keeps `recall` of the positives."""
    positive_scores = np.sort(scores[truth])[::-1]
    # Guard against 0.999... of a whole number of positives.
    needed = int(np.ceil(recall * len(positive_scores) - 1e-9))
    cut = positive_scores[max(needed, 1) - 1]
    return float((scores >= cut).mean())
