from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engrain.runtime.retrieval import dense
from engrain.runtime.retrieval.dense import VectorIndex


def rows(count: int, dimension: int = 16, seed: int = 0) -> NDArray[np.float32]:
    """Unit vectors around a few dozen centres, as sentences are around topics."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(40, dimension))
    vectors = centres[generator.integers(40, size=count)] + 0.6 * generator.normal(size=(count, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def exact(
    vectors: NDArray[np.float32], query: NDArray[np.float32], allowed: NDArray[np.bool_], depth: int
) -> list[int]:
    scores = np.where(allowed, vectors @ query, -np.inf)
    return np.argsort(-scores, kind="stable")[:depth].tolist()


def test_few_vectors_are_searched_exactly_and_the_forbidden_are_left_out() -> None:
    vectors = rows(200)
    index = VectorIndex(16)
    for vector in vectors:
        index.add(vector)
    allowed = np.arange(200) % 3 == 0

    found = index.best(vectors[5], allowed, 10)

    assert len(index) == 200 and index.clusters_read == (0, 0)
    assert found.slots.tolist() == exact(vectors, vectors[5], allowed, 10)
    assert found.scores == pytest.approx((vectors @ vectors[5])[found.slots], rel=1e-5)


def test_many_vectors_are_clustered_and_nearly_all_of_the_nearest_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "EXACT_BELOW", 1_000)
    vectors, everything = rows(6_000), np.ones(6_000, np.bool_)
    index = VectorIndex(16)
    index.extend(vectors[:4_000])
    index.best(vectors[0], everything, 5)
    read, clusters = index.clusters_read
    assert 0 < read < clusters == int(2 * np.sqrt(4_000))
    for start in range(4_000, 6_000, 100):  # in steps, so that newer rows are both outside and taken in
        index.extend(vectors[start : start + 100])
        index.best(vectors[start], everything, 5)

    for allowed in (everything, np.arange(6_000) % 4 == 0, np.arange(6_000) % 50 == 0):
        hits = 0
        for query in rows(100, seed=1):
            found = index.best(query, allowed, 20).slots.tolist()
            assert len(found) == 20 and allowed[found].all()
            hits += len(set(found) & set(exact(vectors, query, allowed, 20)))
        assert hits / 2_000 >= 0.98
    slots = np.array([5_999, 0, 3_999], np.int32)
    assert index.scores_of(vectors[7], slots) == pytest.approx(vectors[slots] @ vectors[7], rel=1e-5)


def test_the_same_vectors_give_the_same_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "EXACT_BELOW", 500)
    vectors, everything = rows(3_000), np.ones(3_000, np.bool_)
    found = []
    for _ in range(2):
        index = VectorIndex(16)
        index.extend(vectors)
        found.append([index.best(query, everything, 10).slots.tolist() for query in rows(20, seed=2)])

    assert found[0] == found[1]
