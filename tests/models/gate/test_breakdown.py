"""Slices, reliability, curve and errors of scores, against small cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss

from engrain.models.gate.breakdown import by_slice, pr_curve, reliability, slice_measures, slice_names, worst_errors
from engrain.runtime.errors import InputError
from engrain.runtime.schema import ContextDependence, GateExample, LabelSource, Split, Utterance

LABELS = [True, True, False, False, True, False]
SCORES = np.array([0.9, 0.2, 0.8, 0.1, 0.55, 0.3])


def example(number: int, name: str = "weekly/ann/s1/t01", text: str | None = None) -> GateExample:
    return GateExample(
        id=f"{name}-{number}",
        split=Split.TEST,
        context=(Utterance(speaker="bot", text="What else?"),),
        target=Utterance(speaker="user", text=text or f"turn {number}"),
        label=LABELS[number],
        label_source=LabelSource.RELEASED,
        context_dependence=ContextDependence.SELF_CONTAINED if number % 2 else None,
        corpus="tiny",
        group="weekly/ann/s1",
    )


def test_a_slice_is_measured_alone_and_may_hold_one_class() -> None:
    parts = by_slice(LABELS, SCORES, 0.5, ["a", "a", "a", "b", "c", "b"])
    assert list(parts) == ["a", "b", "c"]
    assert (parts["a"].turns, parts["a"].positives, parts["a"].kept_share) == (3, 2, pytest.approx(2 / 3))
    assert parts["a"].auprc == pytest.approx(average_precision_score([1, 1, 0], [0.9, 0.2, 0.8]))
    assert (parts["a"].recall, parts["a"].precision) == (0.5, 0.5)
    assert (parts["b"].auprc, parts["b"].recall, parts["b"].precision) == (None, None, None)
    assert (parts["c"].auprc, parts["c"].recall) == (None, 1.0)
    assert slice_measures([], np.zeros(0), 0.5).kept_share == 0.0
    with pytest.raises(InputError, match="one of each a row"):
        by_slice(LABELS, SCORES, 0.5, ["a"])


def test_reliability_by_hand() -> None:
    found = reliability(LABELS, SCORES, bins=2)
    assert [(one.turns, one.positive_share) for one in found.bins] == [
        (3, pytest.approx(1 / 3)),
        (3, pytest.approx(2 / 3)),
    ]
    assert found.ece == pytest.approx((3 * abs(0.2 - 1 / 3) + 3 * abs(0.75 - 2 / 3)) / 6)
    assert found.brier == pytest.approx(brier_score_loss(LABELS, SCORES))
    assert [one.low for one in reliability([True, False], np.array([1.0, 0.0])).bins] == [0.0, 0.9]


def test_the_curve_ends_at_full_recall() -> None:
    curve = pr_curve(LABELS, SCORES)
    recalls = [recall for recall, _ in curve]
    assert recalls == sorted(recalls)
    assert curve[0] == (0.0, 1.0)
    assert curve[-1][0] == 1.0
    rng = np.random.default_rng(0)
    assert len(pr_curve((rng.random(5000) < 0.3).tolist(), rng.random(5000), points=50)) < 110


def test_errors_are_the_surest_first_and_a_text_stands_once() -> None:
    rows = [example(number) for number in range(6)]
    found = worst_errors(rows, SCORES, 0.5)
    assert [(one.id[-1], one.label) for one in found] == [("1", True), ("2", False)]
    assert (found[0].context, found[0].probability) == ("What else?", 0.2)
    same = [example(number, text="the same") for number in range(6)]
    assert len(worst_errors(same, SCORES, 0.85, count=5)) == 1
    assert worst_errors(rows, SCORES, 0.0, count=1)[0].id[-1] == "2"


def test_ways_to_divide_are_those_that_divide() -> None:
    rows = [example(number, f"weekly/{'ann' if number < 3 else 'bob'}/s1/t0{number}") for number in range(6)]
    ways = slice_names(rows, {"weekly/ann/s1": "chat"}, frozenset({"turn 0"}))
    assert set(ways) == {"context dependence", "person", "in training"}
    assert ways["person"] == ["ann"] * 3 + ["bob"] * 3
    assert ways["in training"][0] == "seen word for word"
    assert ways["context dependence"][:2] == ["", "self_contained"]
