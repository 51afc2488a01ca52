"""Each rule gives the threshold that its definition names, and says how it was chosen."""

from __future__ import annotations

import numpy as np
import pytest

from engrain.models.gate.threshold import SWEEP, choose_threshold, f_beta, sweep
from engrain.models.gate.threshold_rule import ThresholdRule
from engrain.runtime.errors import InputError

RNG = np.random.default_rng(0)
LABELS = (RNG.random(500) < 0.3).tolist()
SCORES = np.clip(RNG.normal(0.3, 0.15, 500) + 0.3 * np.array(LABELS), 0, 1)
TRUTH = np.array(LABELS)


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.997, 1.0])
def test_recall_is_reached_by_the_highest_threshold_that_can(recall: float) -> None:
    choice = choose_threshold(LABELS, SCORES, ThresholdRule(method="recall", recall=recall), on="a set")
    assert (SCORES[TRUTH] >= choice.value).mean() >= recall
    higher = np.nextafter(choice.value, 1.0)
    assert (SCORES[TRUTH] >= higher).mean() < recall
    assert "of positives, on a set" in choice.chosen_by


@pytest.mark.parametrize("share", [0.05, 0.2805, 1.0])
def test_a_budget_is_kept_by_the_lowest_threshold_that_can(share: float) -> None:
    choice = choose_threshold(LABELS, SCORES, ThresholdRule(method="kept_share", kept_share=share), on="a set")
    assert (choice.value <= SCORES).mean() <= share
    lower = [value for value in np.unique(SCORES) if value < choice.value]
    assert not lower or (lower[-1] <= SCORES).mean() > share


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_f_beta_agrees_with_scikit_learn_and_is_the_highest(beta: float) -> None:
    from sklearn.metrics import fbeta_score

    choice = choose_threshold(LABELS, SCORES, ThresholdRule(method="f_beta", beta=beta), on="a set")
    for at in (0.2, 0.45, choice.value):
        assert f_beta(TRUTH, SCORES, at, beta) == pytest.approx(fbeta_score(TRUTH, at <= SCORES, beta=beta))
    assert f_beta(TRUTH, SCORES, choice.value, beta) == max(f_beta(TRUTH, SCORES, float(at), beta) for at in SCORES)
    assert f_beta(TRUTH, SCORES, 2.0, beta) == 0.0


def test_a_sweep_takes_any_function_and_keeps_every_point() -> None:
    tried: list[float] = []

    def benchmark(threshold: float) -> float:
        tried.append(threshold)
        return 46.6 if threshold in (0.2, 0.3) else 40.0

    choice = sweep(benchmark, name="FAMA")
    assert tuple(tried) == SWEEP == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert choice.value == 0.2
    assert choice.chosen_by == "highest FAMA (46.6000) of 9"
    assert choice.sweep[1] == (0.2, 46.6)
    assert len(choice.sweep) == 9
    on_validation = choose_threshold(LABELS, SCORES, ThresholdRule(method="sweep"), on="a set")
    assert on_validation.value in SWEEP


def test_what_cannot_be_chosen_on_is_refused() -> None:
    with pytest.raises(InputError, match="all 3 labels are of one class"):
        choose_threshold([True] * 3, SCORES[:3], ThresholdRule(method="recall"), on="a set")
    with pytest.raises(InputError, match="highest scores are equal"):
        choose_threshold([True, False], np.ones(2), ThresholdRule(method="kept_share", kept_share=0.5), on="a set")
    with pytest.raises(InputError, match="not finite"):
        sweep(lambda _: float("nan"), name="FAMA")
    with pytest.raises(InputError, match="at least one"):
        sweep(lambda _: 0.0, name="FAMA", thresholds=())
