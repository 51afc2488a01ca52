"""Windows are chosen by mean loss; measures agree with scikit-learn; the bootstrap is paired and covers the truth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score

from engrain.models.gate import windows
from engrain.models.gate.windows import MEASURES, choose_window, paired_bootstrap, report_measures, spread
from engrain.runtime.errors import InputError

RNG = np.random.default_rng(0)
TRUTH = RNG.random(150) < 0.56
GOOD = np.clip(RNG.normal(0.4, 0.2, 150) + 0.3 * TRUTH, 0, 1)
POOR = np.clip(GOOD + RNG.normal(0, 0.35, 150), 0, 1)


def test_the_lowest_mean_loss_is_chosen_and_the_smaller_window_of_equals() -> None:
    assert choose_window({1: [0.3, 0.1], 3: [0.15, 0.15], 5: [0.1, 0.2]}) == 3
    assert choose_window({5: [0.2], 1: [0.2]}) == 1
    with pytest.raises(InputError, match="at least one run"):
        choose_window({1: []})


@pytest.mark.parametrize("scores", [GOOD, POOR, np.round(GOOD, 1)])
def test_measures_agree_with_scikit_learn(scores: np.ndarray) -> None:
    found = report_measures(TRUTH, scores)
    kept = scores >= 0.5
    assert found == pytest.approx(
        {
            "auprc": average_precision_score(TRUTH, scores),
            "precision": precision_score(TRUTH, kept),
            "recall": recall_score(TRUTH, kept),
            "f1": f1_score(TRUTH, kept),
            "macro_f1": f1_score(TRUTH, kept, average="macro"),
        }
    )


def test_a_resample_by_weights_is_the_resample_itself() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 150, size=150)
    weights = np.bincount(rows, minlength=150).astype(np.float64)[None]
    found = {name: float(value[0]) for name, value in windows._weighted(TRUTH, GOOD, weights).items()}
    assert found == pytest.approx(report_measures(TRUTH[rows], GOOD[rows]))


def test_intervals_hold_the_difference_and_see_a_clear_one() -> None:
    found = paired_bootstrap(TRUTH, {1: GOOD, 3: POOR, 5: GOOD}, 1, resamples=2000)
    assert {(one.other, one.measure) for one in found} == {(k, name) for k in (3, 5) for name in MEASURES}
    for one in found:
        assert one.low <= one.difference <= one.high
        if one.other == 5:  # The same scores: a paired resample has no difference at all.
            assert (one.low, one.difference, one.high) == (0.0, 0.0, 0.0)
    assert next(one for one in found if (one.other, one.measure) == (3, "auprc")).decided
    assert found == paired_bootstrap(TRUTH, {1: GOOD, 3: POOR, 5: GOOD}, 1, resamples=2000)


def test_single_class_sets_are_refused() -> None:
    with pytest.raises(InputError, match="single class"):
        paired_bootstrap(np.ones(4, dtype=bool), {1: GOOD[:4]}, 1)


def test_resamples_never_hold_one_class() -> None:
    truth = np.array([True] + [False] * 5)
    scores = np.linspace(0, 1, 6)
    for one in paired_bootstrap(truth, {1: scores, 3: scores[::-1]}, 1, resamples=500):
        assert np.isfinite([one.low, one.high]).all()


def test_spread_is_mean_and_sample_deviation() -> None:
    assert spread([1.0, 3.0]).model_dump() == pytest.approx({"mean": 2.0, "deviation": 2**0.5})
    assert spread([1.0]).deviation == 0.0
