"""Agreement statistics: values worked by hand, and those of kept libraries on the same votes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engrain.data_builders.quality.agreement import (
    MISSING,
    bootstrap_interval,
    cohen,
    cohen_kappa,
    fleiss,
    fleiss_kappa,
    krippendorff,
    krippendorff_alpha,
)
from engrain.runtime.errors import InputError

# Fleiss (1971), by hand. Three raters, two categories, four items with 3-0, 2-1, 0-3, 1-2 votes.
# P_i = 1, 1/3, 1, 1/3: mean 2/3. Both categories have half of the votes: P_e = 1/2. Kappa = (2/3 - 1/2) / (1/2) = 1/3.
FOUR = [[0, 0, 0], [0, 0, 1], [1, 1, 1], [0, 1, 1]]


def random_votes(seed: int, items: int, raters: int, categories: int, missing: float = 0.0) -> np.ndarray:
    """Raters who copy a truth seven times in ten."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, categories, size=(items, 1))
    votes = np.where(rng.random((items, raters)) < 0.7, truth, rng.integers(0, categories, size=(items, raters)))
    return np.where(rng.random((items, raters)) < missing, MISSING, votes)


def test_fleiss_by_hand() -> None:
    assert fleiss_kappa(FOUR) == pytest.approx(1 / 3)


def test_cohen_by_hand() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o = 0.7, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5, kappa = 0.4.
    ratings = [[1, 1]] * 20 + [[1, 0]] * 5 + [[0, 1]] * 10 + [[0, 0]] * 15
    assert cohen_kappa(ratings) == pytest.approx(0.4)


def test_krippendorff_by_hand_with_missing_ratings() -> None:
    # Pairable values: item 1 has a a, item 2 a b, item 3 b b b; item 4, rated once, does not count.
    # Coincidences: aa 2, ab 1, ba 1, bb 3; n = 7, n_a = 3, n_b = 4. D_o = 2/7, D_e = 2 * 3 * 4 / (7 * 6) = 4/7.
    ratings = [[0, 0, MISSING], [0, MISSING, 1], [1, 1, 1], [MISSING, 0, MISSING]]
    assert krippendorff_alpha(ratings) == pytest.approx(1 - (2 / 7) / (4 / 7))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("raters", "categories"), [(2, 2), (3, 2), (3, 4), (6, 5)])
def test_statistics_equal_those_of_kept_libraries(seed: int, raters: int, categories: int) -> None:
    libraries = pytest.importorskip("statsmodels.stats.inter_rater")
    kept_alpha = pytest.importorskip("krippendorff")
    from sklearn.metrics import cohen_kappa_score

    votes = random_votes(seed, 80, raters, categories)
    table, _ = libraries.aggregate_raters(votes)
    assert fleiss_kappa(votes) == pytest.approx(libraries.fleiss_kappa(table), abs=1e-12)
    assert cohen_kappa(votes[:, :2]) == pytest.approx(cohen_kappa_score(votes[:, 0], votes[:, 1]), abs=1e-12)
    sparse = random_votes(seed, 80, raters, categories, missing=0.2)
    known = np.where(sparse == MISSING, np.nan, sparse).T
    expected = kept_alpha.alpha(reliability_data=known, level_of_measurement="nominal")
    assert krippendorff_alpha(sparse) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("statistic", "value"), [(fleiss, fleiss_kappa), (krippendorff, krippendorff_alpha)])
def test_the_interval_is_that_of_a_plain_bootstrap(statistic, value) -> None:  # type: ignore[no-untyped-def]
    votes = random_votes(3, 120, 3, 2)
    rng = np.random.default_rng(0)
    plain = [value(votes[rng.integers(0, len(votes), len(votes))]) for _ in range(2000)]
    low, high = bootstrap_interval(statistic, votes, resamples=20_000)
    assert low < value(votes) < high
    assert (low, high) == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])), abs=0.015)


def test_intervals_repeat_and_are_narrower_with_more_items() -> None:
    few, many = random_votes(1, 40, 2, 2), random_votes(1, 4000, 2, 2)
    assert bootstrap_interval(cohen, few) == bootstrap_interval(cohen, few)
    assert bootstrap_interval(cohen, few, seed=1) != bootstrap_interval(cohen, few)
    widths = [high - low for low, high in (bootstrap_interval(cohen, few), bootstrap_interval(cohen, many))]
    assert widths[0] > 5 * widths[1]


def test_one_category_alone_leaves_agreement_undefined() -> None:
    same = [[1, 1, 1]] * 5
    assert math.isnan(fleiss_kappa(same)) and math.isnan(krippendorff_alpha(same)) and math.isnan(cohen_kappa([[1, 1]]))
    assert all(map(math.isnan, bootstrap_interval(fleiss, same)))
    assert math.isnan(krippendorff_alpha([[0, MISSING], [MISSING, 1]]))
    assert math.isnan(cohen_kappa(np.empty((0, 2))))


def test_ratings_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(InputError, match="every rating"):
        fleiss_kappa([[0, MISSING], [1, 1]])
    with pytest.raises(InputError, match="two raters or more, found 1"):
        fleiss_kappa([[0], [1]])
    with pytest.raises(InputError, match="two raters or more"):
        krippendorff_alpha([[0], [1]])
    with pytest.raises(InputError, match="compares two raters, found 3"):
        cohen_kappa(FOUR)
    with pytest.raises(InputError, match="items x raters"):
        fleiss_kappa([0, 1])
