"""Comparing context windows (SLICE-Mem C.1, C.2): tables 3 and 4, and a paired bootstrap between windows.

The window with the lowest mean validation loss over seeds is taken. Reports use the fixed threshold 0.5. Intervals come
from resampling the same examples for both windows, on predictions averaged over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engrain.models.gate.metrics import Floats
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract

WINDOWS = (1, 3, 5)
"""k of C.1."""
REPORT_THRESHOLD = 0.5
RESAMPLES = 10_000
MEASURES = ("auprc", "precision", "recall", "f1", "macro_f1")
_CHUNK = 200


class Spread(Contract):
    """Mean and standard deviation (n - 1 in the denominator) over seeds."""

    mean: float
    deviation: float


class Difference(Contract):
    """A measure of the chosen window minus that of another, on the same examples."""

    window: int
    other: int
    measure: str
    difference: float
    low: float
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def choose_window(losses: Mapping[int, Sequence[float]]) -> int:
    """The window with the lowest mean validation loss over its seeds, the smaller of equals."""
    if not losses or not all(losses.values()):
        raise InputError("every window needs at least one run with a validation loss")
    return min(losses, key=lambda k: (float(np.mean(losses[k])), k))


def report_measures(truth: NDArray[np.bool_], scores: Floats, threshold: float = REPORT_THRESHOLD) -> dict[str, float]:
    """The measures of tables 3 and 4 for one run: AUPRC, and precision, recall, F1, macro-F1 at the threshold."""
    weights = np.ones((1, len(truth)))
    return {name: float(values[0]) for name, values in _weighted(truth, scores, weights, threshold).items()}


def spread(values: Sequence[float]) -> Spread:
    """Mean and deviation; one value has no deviation."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Spread(mean=float(np.mean(values)), deviation=deviation)


def paired_bootstrap(
    truth: NDArray[np.bool_],
    scores: Mapping[int, Floats],
    chosen: int,
    *,
    resamples: int = RESAMPLES,
    seed: int = 42,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Difference, ...]:
    """95% intervals of chosen minus other, each measure, each other window; `scores` are means over seeds.

    All windows see the same resamples. One that holds a single class is drawn again.
    """
    if truth.all() or not truth.any():
        raise InputError(f"{len(truth)} labels of a single class: a bootstrap of average precision needs both")
    others = [k for k in scores if k != chosen]
    samples: dict[tuple[int, str], list[Floats]] = {(k, name): [] for k in others for name in MEASURES}
    for done, weights in _resamples(truth, resamples, seed):
        mine = _weighted(truth, scores[chosen], weights)
        for k in others:
            theirs = _weighted(truth, scores[k], weights)
            for name in MEASURES:
                samples[k, name].append(mine[name] - theirs[name])
        if progress is not None:
            progress(done, resamples)
    return tuple(_difference(truth, scores, chosen, k, name, np.concatenate(samples[k, name])) for k, name in samples)


def _difference(
    truth: NDArray[np.bool_], scores: Mapping[int, Floats], chosen: int, other: int, name: str, drawn: Floats
) -> Difference:
    low, high = np.percentile(drawn, [2.5, 97.5])
    found = report_measures(truth, scores[chosen])[name] - report_measures(truth, scores[other])[name]
    return Difference(window=chosen, other=other, measure=name, difference=found, low=float(low), high=float(high))


def _resamples(truth: NDArray[np.bool_], resamples: int, seed: int) -> list[tuple[int, Floats]]:
    """How often each example is drawn, R x N, in chunks: a resample as weights costs no copy of the scores."""
    rng, chunks, done = np.random.default_rng(seed), [], 0
    size = len(truth)
    while done < resamples:
        count = min(_CHUNK, resamples - done)
        weights = rng.multinomial(size, np.full(size, 1 / size), size=count).astype(np.float64)
        one_class = ((weights @ truth) == 0) | ((weights @ ~truth) == 0)
        while one_class.any():
            weights[one_class] = rng.multinomial(size, np.full(size, 1 / size), size=int(one_class.sum()))
            one_class = ((weights @ truth) == 0) | ((weights @ ~truth) == 0)
        done += count
        chunks.append((done, weights))
    return chunks


def _weighted(
    truth: NDArray[np.bool_], scores: Floats, weights: Floats, threshold: float = REPORT_THRESHOLD
) -> dict[str, Floats]:
    """Measures of R weighted samples (R x N), R each."""
    order = np.argsort(-scores, kind="stable")
    drawn, positive = weights[:, order], truth[order]
    kept_so_far, hits_so_far = drawn.cumsum(axis=1), (drawn * positive).cumsum(axis=1)
    positives = hits_so_far[:, -1]
    # Average precision takes a step only where the score changes.
    last = np.append(np.diff(scores[order]) != 0, True)
    hits, kept = hits_so_far[:, last], kept_so_far[:, last]
    gained = np.diff(hits, axis=1, prepend=0.0)
    precision_at = np.divide(hits, kept, out=np.zeros_like(hits), where=kept > 0)
    auprc = (gained * precision_at).sum(axis=1) / positives
    above = scores >= threshold
    tp = weights @ (above & truth)
    fp, fn, tn = weights @ (above & ~truth), weights @ (~above & truth), weights @ (~above & ~truth)
    f1, f1_negative = _ratio(2 * tp, 2 * tp + fp + fn), _ratio(2 * tn, 2 * tn + fp + fn)
    return {
        "auprc": auprc,
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": f1,
        "macro_f1": (f1 + f1_negative) / 2,
    }


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
