"""A gate's scores taken apart: by slices of a set, by calibration, along the PR curve, and the errors worth reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from engrain.models.gate.metrics import Floats
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, GateExample

BINS = 10


class SliceMeasures(Contract):
    """One part of an evaluation set."""

    turns: int
    positives: int
    auprc: float | None = Field(description="None where the part has labels of one class only.")
    kept_share: float
    recall: float | None = Field(description="None without a positive.")
    precision: float | None = Field(description="None when nothing is kept.")


class ReliabilityBin(Contract):
    """Turns whose probability falls between `low` and `high`."""

    low: float
    high: float
    turns: int
    mean_probability: float
    positive_share: float


class Reliability(Contract):
    """How far probabilities can be taken at their word."""

    ece: float = Field(description="Expected calibration error: mean |probability - share of positives| over bins.")
    brier: float = Field(description="Mean squared difference of probability and label.")
    bins: tuple[ReliabilityBin, ...]


class GateError(Contract):
    """A turn that the gate got wrong, with what was said before it."""

    id: str
    label: bool
    probability: float
    context: str
    target: str
    corpus: str


def slice_measures(labels: Sequence[bool], scores: Floats, threshold: float) -> SliceMeasures:
    """Measure N scores against N labels of any mixture; what is undefined is None."""
    from sklearn.metrics import average_precision_score

    truth: NDArray[np.bool_] = np.asarray(labels, dtype=bool)
    kept = scores >= threshold
    hits, positives = int((kept & truth).sum()), int(truth.sum())
    both = 0 < positives < len(truth)
    return SliceMeasures(
        turns=len(truth),
        positives=positives,
        auprc=float(average_precision_score(truth, scores)) if both else None,
        kept_share=float(kept.mean()) if len(truth) else 0.0,
        recall=hits / positives if positives else None,
        precision=hits / int(kept.sum()) if kept.any() else None,
    )


def by_slice(
    labels: Sequence[bool], scores: Floats, threshold: float, names: Sequence[str]
) -> dict[str, SliceMeasures]:
    """Measures of every distinct name, in alphabetical order; `names`, N, says which part each row belongs to."""
    if not len(labels) == len(scores) == len(names):
        raise InputError(f"{len(labels)} labels, {len(scores)} scores and {len(names)} names; give one of each a row")
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return {
        name: slice_measures([labels[row] for row in places], scores[places], threshold)
        for name, places in sorted(rows.items())
    }


def reliability(labels: Sequence[bool], scores: Floats, bins: int = BINS) -> Reliability:
    """Reliability in `bins` bins of equal width; empty bins are left out."""
    truth = np.asarray(labels, dtype=np.float64)
    place = np.minimum((scores * bins).astype(np.int64), bins - 1)
    found = []
    for number in range(bins):
        inside = place == number
        if inside.any():
            found.append(
                ReliabilityBin(
                    low=number / bins,
                    high=(number + 1) / bins,
                    turns=int(inside.sum()),
                    mean_probability=float(scores[inside].mean()),
                    positive_share=float(truth[inside].mean()),
                )
            )
    gap = sum(one.turns * abs(one.mean_probability - one.positive_share) for one in found)
    return Reliability(
        ece=gap / len(truth) if len(truth) else 0.0,
        brier=float(((scores - truth) ** 2).mean()) if len(truth) else 0.0,
        bins=tuple(found),
    )


def pr_curve(labels: Sequence[bool], scores: Floats, points: int = 200) -> tuple[tuple[float, float], ...]:
    """(recall, precision) along the curve, recall rising, thinned to at most `points`."""
    from sklearn.metrics import precision_recall_curve

    precision, recall, _ = precision_recall_curve(np.asarray(labels, dtype=bool), scores)
    pairs = list(zip(recall[::-1].tolist(), precision[::-1].tolist(), strict=True))
    step = max(1, len(pairs) // points)
    return (*pairs[::step], pairs[-1])


def worst_errors(
    examples: Sequence[GateExample], scores: Floats, threshold: float, count: int = 20
) -> tuple[GateError, ...]:
    """The wrong decisions that the gate is surest of: rejected positives lowest first, then kept negatives highest
    first, at most `count` of each kind; a text stands once."""
    missed = [row for row, one in enumerate(examples) if one.label and scores[row] < threshold]
    wrong = [row for row, one in enumerate(examples) if not one.label and scores[row] >= threshold]
    missed.sort(key=lambda row: (scores[row], examples[row].id))
    wrong.sort(key=lambda row: (-scores[row], examples[row].id))
    return tuple(
        _error(examples[row], float(scores[row]))
        for rows in (missed, wrong)
        for row in _distinct(examples, rows)[:count]
    )


def slice_names(
    examples: Sequence[GateExample], kinds: Mapping[str, str], seen: frozenset[str]
) -> dict[str, list[str]]:
    """Name of each row's part, by way of dividing: corpus, label source, context dependence, person, session type, and
    whether the very text was trained on.

    `kinds` maps a group (a session) to its type, `seen` holds the training targets. A way that does not divide the set
    is left out. The person is the second part of an id of the form `split/person/session/turn`.
    """
    ways = {
        "corpus": [one.corpus for one in examples],
        "label source": [one.label_source.value for one in examples],
        "context dependence": [one.context_dependence.value if one.context_dependence else "" for one in examples],
        "person": [one.id.split("/")[1] if one.id.count("/") == 3 else "" for one in examples],
        "session type": [kinds.get(one.group, "") for one in examples],
        "in training": ["seen word for word" if one.target.text in seen else "not seen" for one in examples],
    }
    return {way: names for way, names in ways.items() if len(set(names)) > 1}


def _distinct(examples: Sequence[GateExample], rows: Sequence[int]) -> list[int]:
    first: dict[str, int] = {}
    for row in rows:
        first.setdefault(examples[row].target.text, row)
    return list(first.values())


def _error(example: GateExample, probability: float) -> GateError:
    return GateError(
        id=example.id,
        label=example.label,
        probability=probability,
        context=example.context[-1].text if example.context else "",
        target=example.target.text,
        corpus=example.corpus,
    )
