"""Paired bootstrap between two systems over the same questions, and the interval of one mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.errors import InputError

Array = NDArray[np.float64]
RESAMPLES = 10_000
"""SLICE-Mem C.2 resamples its 150 examples 10,000 times."""
_CHUNK = 500


@dataclass(frozen=True)
class Interval:
    """A mean (or a difference of means) with its percentile interval."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the difference is told apart from none at this level."""
        return self.low > 0 or self.high < 0


def mean_interval(values: Sequence[float], *, level: float = 0.95, seed: int = 0) -> Interval:
    """Bootstrap interval of a mean."""
    return paired_difference(values, [0.0] * len(values), level=level, seed=seed)


def grouped_interval(groups: Sequence[Sequence[float]], *, level: float = 0.95, seed: int = 0) -> Interval:
    """Interval of the mean over groups of each group's mean; values are resampled within their group (FAMA).

    Raises `InputError` without groups or with an empty one.
    """
    if not groups or not all(groups):
        raise InputError("a bootstrap over groups needs at least one group, and a value in each")
    generator = np.random.default_rng(seed)
    resampled = [_resampled_means(np.asarray(group, dtype=float), RESAMPLES, generator) for group in groups]
    mean = float(np.mean([np.mean(group) for group in groups]))
    return _interval(mean, np.mean(resampled, axis=0), level)


def paired_difference(
    left: Sequence[float], right: Sequence[float], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Interval of mean(left) - mean(right), both resampled with the same questions.

    Raises `InputError` when the two do not have the same, non-zero number of questions.
    """
    if len(left) != len(right) or not left:
        raise InputError(f"a paired bootstrap needs the same questions on both sides; got {len(left)} and {len(right)}")
    differences = np.asarray(left, dtype=float) - np.asarray(right, dtype=float)
    means = _resampled_means(differences, resamples, np.random.default_rng(seed))
    return _interval(float(differences.mean()), means, level)


def _resampled_means(values: Array, resamples: int, generator: np.random.Generator) -> Array:
    count = len(values)
    sizes = [min(_CHUNK, resamples - start) for start in range(0, resamples, _CHUNK)]
    return np.concatenate([values[generator.integers(0, count, (size, count))].mean(axis=1) for size in sizes])


def _interval(mean: float, means: Array, level: float) -> Interval:
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(mean, float(low), float(high))
