"""The gate's loss and its validation measures, each computed once over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Floats = NDArray[np.float64]


def positive_weight(labels: Sequence[bool], largest: float = 10.0) -> float:
    """w+ = clip(N- / N+, 1, w_max) over the training labels (SLICE-Mem equation 3; w_max = 10 in B.1)."""
    positives = sum(labels)
    if positives == 0:
        raise ValueError("no positive label, so the weight of the positive class is undefined")
    return float(min(max((len(labels) - positives) / positives, 1.0), largest))


def weighted_bce_sum(logits: Tensor, labels: Tensor, w_plus: float, weights: Tensor | None = None) -> Tensor:
    """Sum over B of -[w+ y log p + (1 - y) log(1 - p)], from logits (SLICE-Mem equation 3 before the 1/N).

    `labels` may lie between 0 and 1 (soft labels); `weights`, B, multiply each example's loss and are 1 in the paper.

    Dividing by the number of examples, not by the sum of weights, is the caller's part: only the caller knows how
    many examples the whole optimiser step has.
    """
    weight = torch.tensor(w_plus, dtype=torch.float32, device=logits.device)
    return functional.binary_cross_entropy_with_logits(
        logits.float(), labels.float(), weight=weights, pos_weight=weight, reduction="sum"
    )


def drop_repeats(rows: NDArray[np.int64], *columns: NDArray[Any]) -> tuple[NDArray[np.int64], ...]:
    """Keep each row id once, ordered by id: samplers repeat rows to give every rank the same number."""
    kept, first = np.unique(rows, return_index=True)
    return (kept, *(column[first] for column in columns))


def validation_measures(logits: Floats, labels: Floats, w_plus: float) -> dict[str, float]:
    """`bce` (unweighted, selects the checkpoint as in B.1), `objective` (equation 3) and `auprc` over all rows."""
    from sklearn.metrics import average_precision_score

    # log(1 + e^x) without overflow: the negative log-likelihoods of both classes from the logits.
    miss_positive, miss_negative = np.logaddexp(0.0, -logits), np.logaddexp(0.0, logits)
    plain = labels * miss_positive + (1.0 - labels) * miss_negative
    weighted = w_plus * labels * miss_positive + (1.0 - labels) * miss_negative
    return {
        "bce": float(plain.mean()),
        "objective": float(weighted.mean()),
        "auprc": float(average_precision_score(labels, logits)),
    }
