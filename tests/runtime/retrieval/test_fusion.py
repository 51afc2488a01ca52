"""Three ways to one order."""

from __future__ import annotations

import pytest

from engrain.runtime.retrieval.fusion import ordered_concatenation, reciprocal_rank_fusion, weighted_sum

CONTENT = {1: "I adopted a dog", 2: "We went to Rome", 3: "i  adopted a DOG", 4: "A cat"}


def test_reciprocal_rank_fusion_adds_weighted_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion({"lexical": [7, 3], "dense": [3, 9]}, {"lexical": 1.0, "dense": 0.5}, k=10.0)

    assert fused == [
        (3, pytest.approx(1 / 12 + 0.5 / 11)),
        (7, pytest.approx(1 / 11)),
        (9, pytest.approx(0.5 / 12)),
    ]


def test_equal_fused_scores_go_by_slot() -> None:
    fused = reciprocal_rank_fusion({"lexical": [5], "dense": [2]}, {"lexical": 1.0, "dense": 1.0}, k=1.0)

    assert [slot for slot, _ in fused] == [2, 5]


def test_weighted_sum_orders_by_the_sum_and_then_by_slot() -> None:
    scores = {"lexical": [0.5, 0.2, 0.2], "dense": [0.1, 0.9, 0.9]}

    fused = weighted_sum(scores, {"lexical": 1.0, "dense": 0.5}, [4, 9, 2])

    assert fused == [(2, pytest.approx(0.65)), (9, pytest.approx(0.65)), (4, pytest.approx(0.55))]


def test_ordered_concatenation_drops_later_repeats_of_a_content() -> None:
    rankings = {"dense": [3, 4], "lexical": [1, 2], "dimension": [2]}

    fused = ordered_concatenation(rankings, ("lexical", "dimension", "dense"), CONTENT.__getitem__)

    assert fused == [(1, 1.0), (2, 0.5), (4, pytest.approx(1 / 3))]


def test_the_order_of_routes_is_configured() -> None:
    rankings = {"dense": [4], "lexical": [1]}

    assert [slot for slot, _ in ordered_concatenation(rankings, ("dense", "lexical"), CONTENT.__getitem__)] == [4, 1]
    assert [slot for slot, _ in ordered_concatenation(rankings, ("lexical",), CONTENT.__getitem__)] == [1]
