"""Equation 3's weight and loss against their formulas, and measures computed once over distinct rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score

from engrain.models.gate.metrics import drop_repeats, positive_weight, validation_measures, weighted_bce_sum


@pytest.mark.parametrize(
    ("positives", "negatives", "expected"), [(170, 230, 230 / 170), (300, 100, 1.0), (1, 99, 10.0), (50, 50, 1.0)]
)
def test_positive_weight_is_the_clipped_class_ratio(positives: int, negatives: int, expected: float) -> None:
    assert positive_weight([True] * positives + [False] * negatives) == pytest.approx(expected)


def test_positive_weight_needs_a_positive() -> None:
    with pytest.raises(ValueError, match="no positive"):
        positive_weight([False])


def test_loss_is_equation_3_before_the_division() -> None:
    logits, labels = torch.tensor([2.0, -1.0, 0.5]), torch.tensor([1.0, 0.0, 1.0])
    p = torch.sigmoid(logits)
    expected = -(1.4 * torch.log(p[0]) + torch.log(1 - p[1]) + 1.4 * torch.log(p[2]))
    assert weighted_bce_sum(logits, labels, 1.4).item() == pytest.approx(expected.item(), rel=1e-6)


def test_measures_agree_with_the_formulas() -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=50), (rng.random(50) < 0.3).astype(np.float64)
    measures = validation_measures(logits, labels, 2.0)
    p = 1 / (1 + np.exp(-logits))
    assert measures["bce"] == pytest.approx(-np.mean(labels * np.log(p) + (1 - labels) * np.log(1 - p)))
    assert measures["objective"] == pytest.approx(-np.mean(2 * labels * np.log(p) + (1 - labels) * np.log(1 - p)))
    assert measures["auprc"] == average_precision_score(labels, logits)
    assert np.isfinite(validation_measures(np.array([1e4, -1e4]), np.array([0.0, 1.0]), 1.0)["bce"])


def test_repeated_rows_count_once() -> None:
    rows, logits = np.array([2, 0, 1, 0, 2]), np.array([0.2, 0.0, 0.1, 0.0, 0.2])
    kept, values = drop_repeats(rows, logits)
    assert kept.tolist() == [0, 1, 2]
    assert values.tolist() == [0.0, 0.1, 0.2]
