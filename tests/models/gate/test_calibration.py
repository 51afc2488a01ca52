"""Calibration makes probabilities honest and keeps their order; what it cannot be fitted on is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engrain.models.gate.breakdown import reliability
from engrain.models.gate.calibration import fit_calibration
from engrain.runtime.errors import InputError
from engrain.runtime.gate_calibration import Calibration, CalibrationMethod, logit


def overconfident(count: int, seed: int) -> tuple[list[bool], np.ndarray]:
    """Labels drawn from true probabilities, and scores that are three times too sure and shifted up."""
    rng = np.random.default_rng(seed)
    true = rng.normal(-1.0, 1.2, size=count)
    labels = rng.random(count) < 1 / (1 + np.exp(-true))
    return labels.tolist(), 1 / (1 + np.exp(-(3 * true + 1.5)))


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_calibration_lowers_the_error_on_rows_that_it_was_not_fitted_on(method: CalibrationMethod) -> None:
    labels, scores = overconfident(4000, 0)
    fitted = fit_calibration(labels, scores, method)
    held, raw = overconfident(4000, 1)
    before, after = reliability(held, raw), reliability(held, fitted.apply(raw))
    assert before.ece > 0.1
    assert after.ece < 0.03
    assert after.brier < before.brier


def test_temperature_finds_the_distortion() -> None:
    fitted = fit_calibration(*overconfident(20_000, 2), "temperature")
    assert fitted.temperature == pytest.approx(3.0, rel=0.1)
    assert fitted.bias == pytest.approx(-1.5, abs=0.2)
    assert fitted.fitted_on == "20000 validation examples"


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_order_is_kept_and_results_are_probabilities(raw: list[float]) -> None:
    scores = np.sort(np.array(raw))
    labels, known = overconfident(300, 3)
    for method in ("none", "temperature", "isotonic"):
        read = fit_calibration(labels, known, method).apply(scores)
        assert (np.diff(read) >= 0).all()
        assert ((read >= 0) & (read <= 1)).all()


def test_nothing_changes_without_calibration() -> None:
    scores = np.array([0.0, 0.3, 1.0])
    assert fit_calibration([True, False], scores[:2], "none") == Calibration()
    assert Calibration().apply(scores) is scores


def test_separable_scores_do_not_run_off() -> None:
    labels = [False] * 50 + [True] * 50
    fitted = fit_calibration(labels, np.array([0.01] * 50 + [0.99] * 50), "temperature")
    assert 0.05 < fitted.temperature < 5


def test_too_few_of_a_class_are_refused() -> None:
    with pytest.raises(InputError, match="30 validation examples hold 4 positives"):
        fit_calibration([True] * 4 + [False] * 26, np.linspace(0, 1, 30), "isotonic")


def test_a_falling_table_is_no_calibration() -> None:
    with pytest.raises(ValidationError, match="rise in both columns"):
        Calibration(method="isotonic", points=((0.0, 0.5), (1.0, 0.2)))
    with pytest.raises(ValidationError, match="at least two points"):
        Calibration(method="isotonic")


def test_a_calibration_survives_json() -> None:
    fitted = fit_calibration(*overconfident(200, 4), "isotonic")
    again = Calibration.model_validate_json(fitted.model_dump_json())
    np.testing.assert_array_equal(again.apply(np.linspace(0, 1, 7)), fitted.apply(np.linspace(0, 1, 7)))


def test_logit_is_finite_at_the_edges() -> None:
    assert np.isfinite(logit(np.array([0.0, 1.0]))).all()
