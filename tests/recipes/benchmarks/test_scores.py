"""Scores against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from engrain.recipes.benchmarks.scores.answers import Verdict, accuracy, token_f1
from engrain.recipes.benchmarks.scores.bootstrap import grouped_interval, mean_interval, paired_difference
from engrain.recipes.benchmarks.scores.evidence import distinct, ndcg_at, precision_at, recall_at
from engrain.recipes.benchmarks.scores.fama import Criteria, score
from engrain.recipes.benchmarks.scores.values import occurs
from engrain.runtime.errors import InputError


@pytest.mark.parametrize(
    ("presence", "present", "forgetting", "absent", "expected"),
    [
        (2, 1, 1, 1, 0.5),  # nothing forgotten shows: MPA alone
        (2, 2, 2, 1, 1 - 0.5 * 0.5),
        (1, 1, 3, 0, 1 - 0.75),
        (3, 0, 1, 0, 0.0),  # never below zero
        (0, 0, 2, 0, 0.0),  # no presence criteria: MPA is 0
        (0, 0, 2, 2, 0.0),
        (4, 3, 0, 0, 0.75),  # no forgetting criteria: FAA is 1
        (0, 0, 0, 0, 0.0),  # neither: lambda is 0
    ],
)
def test_fama_of_a_question(presence: int, present: int, forgetting: int, absent: int, expected: float) -> None:
    question = Criteria("p", "t", presence, present, forgetting, absent)
    assert question.fama == pytest.approx(expected)


def test_fama_averages_within_personas_and_pools_the_diagnostics() -> None:
    questions = [
        Criteria("a", "x", 2, 1, 1, 1),
        Criteria("a", "y", 0, 0, 1, 0),
        Criteria("b", "x", 1, 1, 0, 0),
        Criteria("b", "x", 0, 0, 0, 0),
        Criteria("b", "y", 2, 2, 2, 1),
    ]
    result = score(questions)
    assert result.fama == pytest.approx(100 * (0.25 + 1.75 / 3) / 2)
    assert result.by_task == pytest.approx({"x": 100 * (0.5 + 0.5) / 2, "y": 100 * (0 + 0.75) / 2})
    assert result.mpa == pytest.approx(75.0)  # pooled: 1 of 2, and 3 of 3
    assert result.faa == pytest.approx(50.0)  # pooled: 1 of 2, and 1 of 2
    assert score([Criteria("a", "x", 1, 1, 0, 0)]).faa is None


def test_fama_leaves_questions_with_unread_verdicts_out_and_counts_them() -> None:
    result = score([Criteria("a", "x", 1, 1, 0, 0), Criteria("a", "x", 2, 1, 1, 0, unread=2)])
    assert (result.fama, result.mpa, result.questions, result.left_out, result.unread) == (100.0, 100.0, 1, 1, 2)
    with pytest.raises(ValueError, match="verdicts were read"):
        score([Criteria("a", "x", 1, 0, 0, 0, unread=1)])


def test_token_f1() -> None:
    assert token_f1("The blue bike!", "a blue bike") == 1.0
    assert token_f1("blue", "blue bike shed") == pytest.approx(2 * 1 * (1 / 3) / (1 + 1 / 3))
    assert token_f1("red", "blue") == 0.0
    assert token_f1("", "blue") == 0.0


def test_accuracy_leaves_unread_verdicts_out_and_counts_them() -> None:
    result = accuracy([Verdict("t", True, 1.0), Verdict("t", False, 0.0), Verdict("u", None), Verdict("u", True)])
    assert result.accuracy == pytest.approx(2 / 3)
    assert result.by_task == {"t": 0.5, "u": 1.0}
    assert (result.judged, result.unread, result.f1) == (3, 1, 0.5)


def test_evidence_in_a_ranking() -> None:
    ranking = [["x"], ["a"], ["a"], ["b", "c"]]
    assert recall_at(ranking, ["a", "b"], 2) == 0.5
    assert recall_at(ranking, ["a", "b"], 4) == 1.0
    assert precision_at(ranking, ["a", "b"], 10) == 0.3
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    assert ndcg_at(ranking, ["a", "b"], 10) == pytest.approx(gain / (1 + 1 / math.log2(3)))
    assert distinct(["s1", "s2", "s1", "s3"], 2) == ["s1", "s2"]


@pytest.mark.parametrize(
    ("value", "entry", "expected"),
    [
        ("180", "I walked 180.0 steps", True),
        ("1200", "It was $1,200.00 in all", True),
        ("20", "It was 1,200 in all", False),
        ("Schedule exercise time", "please schedule EXERCISE time!", True),
        ("Schedule exercise time", "exercise, then schedule time", False),
        ("Café Müller", "we met at Café  Müller.", True),
        (
            "Reduce cockpit display integration time by 40% for aerospace customers",
            "we reduce the cockpit display integration time by 40 for aerospace customers",
            True,
        ),
        ("Reduce cockpit display integration time by 40% for aerospace customers", "cockpit display", False),
        ("!!", "anything", False),
    ],
)
def test_values_in_an_entry(value: str, entry: str, expected: bool) -> None:
    assert occurs(value, [entry]) is expected


def test_a_long_value_is_not_put_together_from_several_entries() -> None:
    parts = ["reduce cockpit display integration", "time by 40 for aerospace customers"]
    assert not occurs("Reduce cockpit display integration time by 40% for aerospace customers", parts)


def test_bootstrap_is_paired_and_seeded() -> None:
    left, right = [1.0, 0.0, 1.0, 1.0] * 25, [0.9, -0.1, 0.9, 0.9] * 25
    interval = paired_difference(left, right)
    assert interval.mean == pytest.approx(0.1)
    assert interval.low == pytest.approx(0.1) and interval.high == pytest.approx(0.1)
    assert interval.excludes_zero
    wide = mean_interval([0.0, 1.0] * 50)
    assert wide.low < 0.5 < wide.high and 0.08 < wide.high - 0.5 < 0.12  # about 1.96 * 0.05
    assert wide == mean_interval([0.0, 1.0] * 50)
    with pytest.raises(InputError, match="same questions"):
        paired_difference([1.0], [])


def test_bootstrap_over_groups_weighs_groups_alike() -> None:
    assert grouped_interval([[1.0] * 9, [0.0]]).mean == 0.5  # not 0.9
    exact = grouped_interval([[1.0, 1.0], [0.0, 0.0, 0.0]])
    assert (exact.low, exact.high) == (0.5, 0.5)
    wide = grouped_interval([[0.0, 1.0] * 50, [0.5]])
    assert 0.04 < wide.high - 0.5 < 0.06  # half of about 1.96 * 0.05
    with pytest.raises(InputError, match="at least one group"):
        grouped_interval([[1.0], []])
