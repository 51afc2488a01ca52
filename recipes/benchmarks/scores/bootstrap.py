"""Paired bootstrap between two systems over the same questions, and the interval of one mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engrain.runtime.errors import InputError

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


def paired_difference(
    left: Sequence[float], right: Sequence[float], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Interval of mean(left) - mean(right), both resampled with the same questions.

    Raises `InputError` when the two do not have the same, non-zero number of questions.
    """
    if len(left) != len(right) or not left:
        raise InputError(f"a paired bootstrap needs the same questions on both sides; got {len(left)} and {len(right)}")
    differences = np.asarray(left, dtype=float) - np.asarray(right, dtype=float)
    generator = np.random.default_rng(seed)
    count = len(differences)
    sizes = [min(_CHUNK, resamples - start) for start in range(0, resamples, _CHUNK)]
    means = np.concatenate([differences[generator.integers(0, count, (size, count))].mean(axis=1) for size in sizes])
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(differences.mean()), float(low), float(high))
