"""Fit a gate's calibration on validation scores: temperature, or isotonic regression.

Temperature scaling (one number, by the likelihood) also gets a bias here: equation 3 weighs positives by w+ and the
corpus holds more of them than a stream of dialogue, and no temperature alone can undo such a shift.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engrain.models.gate.metrics import Floats
from engrain.runtime.errors import InputError
from engrain.runtime.gate_calibration import Calibration, CalibrationMethod, logit

# Fewer of one class leave isotonic steps that are single examples.
_LEAST = 10
_ROUNDS = 200
# A weak pull towards T = 1, b = 0: separable scores would otherwise run off to T = 0.
_RIDGE = 1e-3


def fit_calibration(
    labels: Sequence[bool], scores: Floats, method: CalibrationMethod, *, fitted_on: str = ""
) -> Calibration:
    """Calibration of raw probabilities (N) against labels (N).

    Raises `InputError` when either class has fewer than ten examples.
    """
    check_calibration(labels, method)
    if method == "none":
        return Calibration()
    truth = np.asarray(labels, dtype=np.float64)
    name = fitted_on or f"{len(truth)} validation examples"
    if method == "temperature":
        slope, bias = _logistic(logit(scores), truth)
        return Calibration(method=method, temperature=1.0 / slope, bias=bias / slope, fitted_on=name)
    return Calibration(method=method, points=_isotonic(scores, truth), fitted_on=name)


def check_calibration(labels: Sequence[bool], method: CalibrationMethod) -> None:
    """Raise `InputError` where a calibration could not be fitted: known from the labels, before any training."""
    positives = sum(labels)
    if method != "none" and min(positives, len(labels) - positives) < _LEAST:
        raise InputError(
            f"calibration by {method} wants {_LEAST} examples of each class, but {len(labels)} validation examples "
            f"hold {positives} positives; give more, or set calibration=none"
        )


def _logistic(logits: Floats, truth: Floats) -> tuple[float, float]:
    """Slope (positive) and bias of the likeliest p = sigmoid(slope * logit + bias), by damped Newton steps."""
    design = np.stack([logits, np.ones_like(logits)], axis=1)
    start = np.array([1.0, 0.0])
    weights, strength = start.copy(), _RIDGE * len(truth)

    def objective(at: Floats) -> float:
        z = design @ at
        return float((np.logaddexp(0.0, z) - truth * z).sum() + strength * ((at - start) ** 2).sum() / 2)

    for _ in range(_ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -500, 500)))
        gradient = design.T @ (p - truth) + strength * (weights - start)
        curvature = (design * (p * (1 - p))[:, None]).T @ design + strength * np.eye(2)
        step, size, now = np.linalg.solve(curvature, gradient), 1.0, objective(weights)
        while objective(weights - size * step) > now and size > 1e-6:
            size /= 2
        weights = weights - size * step
        if float(np.abs(size * step).max()) < 1e-10:
            break
    return max(float(weights[0]), 1e-3), float(weights[1])


def _isotonic(scores: Floats, truth: Floats) -> tuple[tuple[float, float], ...]:
    """The corners of the isotonic fit, strictly rising in the raw score, from 0 to 1."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, truth)
    corners: NDArray[np.float64] = np.stack([fitted.X_thresholds_, fitted.y_thresholds_], axis=1)
    points = [(float(raw), float(value)) for raw, value in corners]
    if points[0][0] > 0.0:
        points.insert(0, (0.0, points[0][1]))
    if points[-1][0] < 1.0:
        points.append((1.0, points[-1][1]))
    return tuple(points)
