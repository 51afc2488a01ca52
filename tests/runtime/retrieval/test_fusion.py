from __future__ import annotations

import numpy as np
import pytest

from engrain.runtime.retrieval.candidates import best_of
from engrain.runtime.retrieval.fusion import reciprocal_rank_fusion
from engrain.runtime.retrieval.neighbours import Neighbours


def test_the_best_are_ordered_and_ties_at_the_edge_are_cut_by_slot() -> None:
    slots, scores = np.array([4, 1, 2, 9], np.int32), np.array([0.5, 2.0, 2.0, 3.0], np.float32)

    assert best_of(slots, scores, 10).slots.tolist() == [9, 1, 2, 4]
    assert best_of(slots, scores, 2).slots.tolist() == [9, 1]
    assert best_of(np.arange(100, dtype=np.int32)[::-1], np.ones(100, np.float32), 3).slots.tolist() == [0, 1, 2]
    assert len(best_of(slots[:0], scores[:0], 3)) == 0


def test_fusion_by_hand() -> None:
    fused = reciprocal_rank_fusion({"lexical": [7, 3], "dense": [3, 9]}, {"lexical": 1.0, "dense": 0.5}, k=60)

    assert [slot for slot, _ in fused] == [3, 7, 9]
    assert dict(fused) == pytest.approx({3: 1 / 62 + 0.5 / 61, 7: 1 / 61, 9: 0.5 / 62})


def test_a_candidate_of_any_one_route_survives() -> None:
    fused = reciprocal_rank_fusion({"lexical": [1], "dense": [2]}, {"lexical": 1.0, "dense": 0.1}, k=5)

    assert {slot for slot, _ in fused} == {1, 2}


def test_neighbours_follow_time_within_a_session_whatever_the_order_of_arrival() -> None:
    neighbours = Neighbours()
    neighbours.add("s", 30.0, 1, 0)
    neighbours.add("s", 10.0, 2, 1)
    neighbours.add("other", 15.0, 3, 2)
    neighbours.add("s", 20.0, 4, 3)

    previous, following = neighbours.around(np.arange(4, dtype=np.int32))
    assert previous.tolist() == [3, -1, -1, 1]
    assert following.tolist() == [-1, 3, -1, 0]

    assert neighbours.moved() == {0, 1, 2, 3}
    neighbours.remove("s", 20.0, 4, 3)
    assert neighbours.moved() == {0, 1}
    previous, following = neighbours.around(np.arange(4, dtype=np.int32))
    assert previous.tolist() == [1, -1, -1, -1]
    assert following.tolist() == [-1, 0, -1, -1]
