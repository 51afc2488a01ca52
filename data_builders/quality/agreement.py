"""Chance-corrected agreement of raters on nominal labels, each with a bootstrap interval over the items.

`ratings` is `N x R`: one row an item, one column a rater, whole numbers as category codes and `MISSING` where a rater
gave none. Every statistic depends only on how often each pattern of a row occurs. Resampling items with replacement is
therefore one multinomial draw over the patterns, and ten thousand resamples cost little more than one.

`nan` means undefined: every rating is in one category, so chance agreement is 1 (Cohen 1960; Fleiss 1971;
Krippendorff, Content Analysis, chapter 12).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engrain.runtime.errors import InputError

MISSING = -1
"""Code of a rating that was not given."""

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Statistic = Callable[[Codes, Floats], Floats]
"""From patterns `P x R` and their weights `B x P` to `B` values."""


def fleiss_kappa(ratings: ArrayLike) -> float:
    """Fleiss' kappa of `N x R` ratings by any number of raters.

    Raises `InputError` when a rating is missing (leave the item out, or use Krippendorff's alpha) or raters are fewer
    than two.
    """
    return _value(fleiss, ratings)


def krippendorff_alpha(ratings: ArrayLike) -> float:
    """Krippendorff's alpha of `N x R` nominal ratings; items with fewer than two ratings do not count.

    Raises `InputError` for fewer than two raters.
    """
    return _value(krippendorff, ratings)


def cohen_kappa(ratings: ArrayLike) -> float:
    """Cohen's kappa of `N x 2` ratings; items that one of the two did not rate do not count.

    Raises `InputError` unless there are two raters.
    """
    return _value(cohen, ratings)


def bootstrap_interval(
    statistic: Statistic, ratings: ArrayLike, *, resamples: int = 10_000, level: float = 0.95, seed: int = 42
) -> tuple[float, float]:
    """Percentile interval of a statistic (`fleiss`, `krippendorff` or `cohen`) over resampled items.

    Resamples in which the statistic is undefined do not count; both ends are `nan` when that is all of them. SLICE-Mem
    C.1 resamples 10,000 times.
    """
    patterns, counts = _patterns(ratings)
    if not len(counts):
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(int(counts.sum()), counts / counts.sum(), size=resamples).astype(np.float64)
    values = statistic(patterns, weights)
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def fleiss(patterns: Codes, weights: Floats) -> Floats:
    """Kappa = (P - P_e) / (1 - P_e): mean agreeing pairs of raters an item, against pooled category shares squared."""
    raters = patterns.shape[1]
    if raters < 2:
        raise InputError(f"Fleiss' kappa needs two raters or more, found {raters}")
    if (patterns == MISSING).any():
        raise InputError("Fleiss' kappa needs every rating; leave incomplete items out, or use Krippendorff's alpha")
    counts = _category_counts(patterns)
    pairs = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    total = weights.sum(axis=1)
    shares = weights @ counts / (raters * total[:, None])
    return _corrected(weights @ pairs / total, (shares**2).sum(axis=1))


def krippendorff(patterns: Codes, weights: Floats) -> Floats:
    """Alpha = 1 - D_o / D_e from the coincidences of values within items, each item weighted by its ratings."""
    if patterns.shape[1] < 2:
        raise InputError(f"Krippendorff's alpha needs two raters or more, found {patterns.shape[1]}")
    counts = _category_counts(patterns)
    given = counts.sum(axis=1)
    pairable = given > 1
    counts, given, weights = counts[pairable], given[pairable], weights[:, pairable]
    agreeing = (counts * (counts - 1)).sum(axis=1) / (given - 1)
    by_category = weights @ counts
    total = by_category.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = weights @ agreeing / total
        expected = (by_category * (by_category - 1)).sum(axis=1) / (total * (total - 1))
    return _corrected(observed, expected)


def cohen(patterns: Codes, weights: Floats) -> Floats:
    """Kappa = (p_o - p_e) / (1 - p_e), chance being the product of the two raters' own category shares."""
    if patterns.shape[1] != 2:
        raise InputError(f"Cohen's kappa compares two raters, found {patterns.shape[1]}")
    both = (patterns != MISSING).all(axis=1)
    patterns, weights = patterns[both], weights[:, both]
    categories = np.unique(patterns)
    first, second = (patterns[:, [side]] == categories for side in (0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = weights / weights.sum(axis=1, keepdims=True)
    observed = weights @ (patterns[:, 0] == patterns[:, 1])
    return _corrected(observed, ((weights @ first) * (weights @ second)).sum(axis=1))


def _value(statistic: Statistic, ratings: ArrayLike) -> float:
    patterns, counts = _patterns(ratings)
    return float(statistic(patterns, counts[None, :])[0]) if len(counts) else float("nan")


def _patterns(ratings: ArrayLike) -> tuple[Codes, Floats]:
    """Distinct rows `P x R`, and how often each occurs."""
    codes = np.asarray(ratings, dtype=np.int64)
    if codes.ndim != 2:
        raise InputError(f"ratings must be items x raters, found an array of shape {codes.shape}")
    patterns, counts = np.unique(codes, axis=0, return_counts=True)
    return patterns, counts.astype(np.float64)


def _category_counts(patterns: Codes) -> Floats:
    """`P x C`: ratings of each pattern in each category that occurs."""
    categories = np.unique(patterns[patterns != MISSING])
    return np.asarray((patterns[:, :, None] == categories).sum(axis=1), dtype=np.float64)


def _corrected(observed: Floats, expected: Floats) -> Floats:
    """(observed - expected) / (1 - expected), `nan` where chance agreement is already complete."""
    room = 1.0 - expected
    with np.errstate(divide="ignore", invalid="ignore"):
        corrected: Floats = np.where(room > np.finfo(float).eps * 8, (observed - expected) / room, np.nan)
    return corrected
