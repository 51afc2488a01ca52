"""Votes to verdicts, each policy, and what is said of the refused."""

from __future__ import annotations

import numpy as np
import pytest
from label_samples import candidate, result

from engrain.data_builders.teachers import dawid_skene
from engrain.data_builders.teachers.consensus import annotate, majority
from engrain.data_builders.teachers.records import Rejection, TeacherResult, Verdict
from engrain.data_builders.teachers.settings import ConsensusSettings, Policy
from engrain.runtime.schema import AuxiliaryType, ContextDependence

UNANIMOUS = ConsensusSettings()


def verdict(*results: TeacherResult, settings: ConsensusSettings = UNANIMOUS) -> Verdict:
    [annotation] = annotate([candidate("x")], [results], settings)
    assert annotation.results == results
    return annotation.verdict


def test_unanimous_on_admission_enters_the_pool_whatever_the_types() -> None:
    kinds = ("prospective", "personal_semantic", "autobiographical_episodic")
    found = verdict(*(result(f"t{n}", True, kind) for n, kind in enumerate(kinds)))
    assert found.label is True and found.auxiliary_type is None


def test_the_type_is_the_majoritys() -> None:
    found = verdict(
        result("a", False, "non_memory"),
        result("b", False, "non_memory", "context_dependent"),
        result("c", False, "autobiographical_episodic", "context_dependent"),
    )
    assert (found.label, found.auxiliary_type) == (False, AuxiliaryType.NON_MEMORY)
    assert found.context_dependence is ContextDependence.CONTEXT_DEPENDENT


def test_disagreement_and_invalid_answers_are_refused_with_the_reason() -> None:
    split = verdict(result("a", True), result("b", True), result("c", False))
    assert (split.accepted, split.rejected_because) == (False, Rejection.DISAGREEMENT)
    assert split.detail == "a yes, b yes, c no" and split.auxiliary_type is AuxiliaryType.PERSONAL_SEMANTIC
    invalid = verdict(result("a", True), result("b", True), result("c", None))
    assert invalid.rejected_because is Rejection.INVALID_ANSWER and invalid.detail == "c: confidence is 7"
    down = TeacherResult(teacher="c", attempts=1, failure="timeout: no answer within 9 s")
    assert verdict(result("a", True), result("b", True), down).rejected_because is Rejection.NO_ANSWER


def test_majority_wants_enough_votes_and_no_tie() -> None:
    settings = ConsensusSettings(policy=Policy.MAJORITY, min_votes=2)
    assert verdict(result("a", True), result("b", True), result("c", False), settings=settings).label is True
    assert verdict(result("a", False), result("b", False), result("c", None), settings=settings).label is False
    tie = verdict(result("a", True), result("b", False), result("c", None), settings=settings)
    assert tie.rejected_because is Rejection.DISAGREEMENT
    alone = verdict(result("a", True), result("b", None), result("c", None), settings=settings)
    assert alone.rejected_because is Rejection.INVALID_ANSWER


@pytest.mark.parametrize(("choices", "expected"), [([1, 1, 2], 1), ([1, 2], None), ([], None), ([1, 2, 3], None)])
def test_majority_is_more_than_half(choices: list[int], expected: int | None) -> None:
    assert majority(choices) == expected


def planted(rates: list[tuple[float, float]], items: int, prevalence: float) -> tuple[np.ndarray, np.ndarray]:
    """True labels and votes of teachers with given sensitivity and specificity."""
    rng = np.random.default_rng(7)
    truth = rng.random(items) < prevalence
    chance = rng.random((items, len(rates)))
    yes = np.array([sensitivity for sensitivity, _ in rates])
    no = np.array([specificity for _, specificity in rates])
    votes = np.where(truth[:, None], chance < yes, chance >= no)
    return truth, votes.astype(np.int8)


def test_dawid_skene_finds_planted_rates_and_beats_the_majority() -> None:
    rates = [(0.97, 0.96), (0.75, 0.7), (0.7, 0.75), (0.65, 0.7), (0.72, 0.65)]
    truth, votes = planted(rates, 6000, 0.3)
    fitted = dawid_skene.fit(votes)
    assert fitted.sensitivity == pytest.approx([rate for rate, _ in rates], abs=0.05)
    assert fitted.specificity == pytest.approx([rate for _, rate in rates], abs=0.05)
    assert fitted.prevalence == pytest.approx(0.3, abs=0.03)
    modelled, counted = (fitted.posterior >= 0.5) == truth, (votes.sum(axis=1) >= 3) == truth
    assert modelled.mean() > counted.mean() + 0.04
    assert np.array_equal(dawid_skene.fit(votes).posterior, fitted.posterior)


def test_one_step_of_dawid_skene_by_hand() -> None:
    """Two items, two teachers who agree: first posteriors 1 and 0; smoothing adds one vote to every cell."""
    fitted = dawid_skene.fit(np.array([[1, 1], [0, 0]], np.int8), most_rounds=1)
    # Rates (1 + 1) / (1 + 2) = 2/3 and prevalence (1 + 1) / (2 + 2) = 1/2: odds of yes for two yes votes are 4.
    assert fitted.posterior == pytest.approx([0.8, 0.2])


def test_missing_votes_and_items_without_any() -> None:
    votes = np.array([[1, -1], [0, 0], [1, 1], [-1, -1]], np.int8)
    fitted = dawid_skene.fit(votes)
    assert fitted.posterior[0] > 0.5 > fitted.posterior[1]
    assert fitted.posterior[3] == pytest.approx(fitted.prevalence, abs=0.05)


def test_dawid_skene_as_a_policy_refuses_what_is_uncertain() -> None:
    truth, votes = planted([(0.95, 0.95), (0.9, 0.9), (0.55, 0.55)], 400, 0.5)
    results = [tuple(result(f"t{n}", bool(cast)) for n, cast in enumerate(row)) for row in votes]
    settings = ConsensusSettings(policy=Policy.DAWID_SKENE, min_certainty=0.9)
    found = annotate([candidate(f"x{n}") for n in range(400)], results, settings)
    kept = [(one.verdict, bool(label)) for one, label in zip(found, truth, strict=True) if one.verdict.accepted]
    refused = [one.verdict for one in found if not one.verdict.accepted]
    assert 250 < len(kept) < 400 and {one.rejected_because for one in refused} == {Rejection.UNCERTAIN}
    assert all(one.certainty is not None and one.certainty >= 0.9 for one, _ in kept)
    assert sum(one.label == label for one, label in kept) / len(kept) > 0.95
    overruled = [one for one, _ in kept if one.label and one.auxiliary_type is AuxiliaryType.NON_MEMORY]
    assert not overruled, "an admitted turn is never of type non_memory"
