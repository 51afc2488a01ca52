"""Fit a cascade's first stage: logistic regression over hashed words, and a cut that keeps next to every positive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engrain.runtime.errors import InputError
from engrain.runtime.gate_cascade import BUCKETS, FirstStage, features
from engrain.runtime.schema import GateExample

# The cut stays this many logits below what the validation rows ask for: a few hundred of them say little about the
# one positive in a thousand that is at stake. On Memora quarterly's turns that it was not fitted on, 6 of 13,532
# positives are lost with it, 46 with a margin of 1 and 204 with none (docs/measurements.md).
_MARGIN = 2.5


def fit_first_stage(
    train: Sequence[GateExample],
    validation: Sequence[GateExample],
    *,
    recall: float = 0.999,
    strength: float = 0.3,
    share: float = 0.0,
) -> FirstStage:
    """A first stage that rejects at most 1 - `recall` of the validation positives, less a margin.

    `strength` is the inverse of the L2 penalty; `share` of its logit is added to the encoder's. Raises
    `InputError` when either set has labels of one class only.
    """
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    for name, rows in (("training", train), ("validation", validation)):
        if len({row.label for row in rows}) < 2:
            raise InputError(f"all {len(rows)} {name} examples have one label; a first stage needs both")
    found = [features(row.target.text) for row in train]
    ends = np.cumsum([0, *(len(one) for one in found)])
    table = csr_matrix((np.ones(ends[-1]), np.concatenate(found), ends), shape=(len(found), BUCKETS))
    model = LogisticRegression(C=strength, max_iter=300, class_weight="balanced")
    model.fit(table, [row.label for row in train])
    stage = FirstStage(model.coef_[0].astype(np.float32), float(model.intercept_[0]), 0.0)
    positive = np.sort([stage.logit(row.target.text) for row in validation if row.label])
    lost = int(np.floor((1.0 - recall) * len(positive) + 1e-9))
    return FirstStage(stage.weights, stage.bias, float(positive[lost]) - _MARGIN, share)
