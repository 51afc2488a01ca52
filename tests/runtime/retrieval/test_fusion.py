from __future__ import annotations

import numpy as np
import pytest

from engrain.runtime.retrieval.dense import VectorMatrix
from engrain.runtime.retrieval.fusion import best_slots, reciprocal_rank_fusion
from engrain.runtime.retrieval.neighbours import Neighbours


def test_best_slots_are_ordered_allowed_and_above_the_floor() -> None:
    scores = np.array([0.5, 2.0, 2.0, 0.0, 9.0], dtype=np.float32)
    allowed = np.array([True, True, True, True, False])

    assert best_slots(scores, allowed, 10, floor=0.0) == [1, 2, 0]
    assert best_slots(scores, allowed, 1) == [1]
    assert best_slots(scores, allowed, 10) == [1, 2, 0, 3]
    assert best_slots(scores, np.zeros(5, bool), 3) == []


def test_ties_at_the_edge_are_cut_by_slot() -> None:
    assert best_slots(np.ones(100, dtype=np.float32), np.ones(100, bool), 3) == [0, 1, 2]


def test_fusion_by_hand() -> None:
    fused = reciprocal_rank_fusion({"lexical": [7, 3], "dense": [3, 9]}, {"lexical": 1.0, "dense": 0.5}, k=60)

    assert [slot for slot, _ in fused] == [3, 7, 9]
    assert dict(fused) == pytest.approx({3: 1 / 62 + 0.5 / 61, 7: 1 / 61, 9: 0.5 / 62})


def test_a_candidate_of_any_one_route_survives() -> None:
    fused = reciprocal_rank_fusion({"lexical": [1], "dense": [2]}, {"lexical": 1.0, "dense": 0.1}, k=5)

    assert {slot for slot, _ in fused} == {1, 2}


def test_the_matrix_grows_and_gives_cosines() -> None:
    matrix = VectorMatrix(3)
    rows = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    assert [matrix.add(row) for row in rows] == list(range(200))

    assert matrix.scores(rows[5]) == pytest.approx(rows @ rows[5], rel=1e-5)


def test_neighbours_follow_time_within_a_session_whatever_the_order_of_arrival() -> None:
    neighbours = Neighbours()
    neighbours.add("s", 30.0, 1, 0)
    neighbours.add("s", 10.0, 2, 1)
    neighbours.add("other", 15.0, 3, 2)
    neighbours.add("s", 20.0, 4, 3)

    previous, following = neighbours.around()
    assert previous.tolist() == [3, -1, -1, 1]
    assert following.tolist() == [-1, 3, -1, 0]

    neighbours.remove("s", 20.0, 4, 3)
    previous, following = neighbours.around()
    assert previous.tolist() == [1, -1, -1, -1]
    assert following.tolist() == [-1, 0, -1, -1]
