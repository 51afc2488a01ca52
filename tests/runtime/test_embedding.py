"""The runtime embedder on hand-made bundles: unit vectors, order, cuts counted, hashes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engrain.runtime.embedding import Embedder, OnnxEmbedder
from engrain.runtime.errors import BundleError
from engrain.runtime.gate import Gate

TEXTS = ["a b c", "d", "", "e f g h i j a b", "[SEP] a", "a " * 12]


@pytest.fixture
def embedder(make_bundle: Callable[..., Path]) -> OnnxEmbedder:
    return OnnxEmbedder.load(make_bundle("embedder", "embedder", max_length=10), threads=1)


def test_vectors_have_length_one_and_the_manifests_identity(embedder: OnnxEmbedder) -> None:
    held: Embedder = embedder
    vectors = held.embed(TEXTS)
    assert (held.identity, held.dimension) == ("tiny-embedder@0", 4)
    assert vectors.shape == (6, 4)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_a_vector_does_not_depend_on_order_or_company(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    np.testing.assert_allclose(embedder.embed(TEXTS[::-1]), vectors[::-1], atol=1e-6)
    np.testing.assert_allclose(np.concatenate([embedder.embed([text]) for text in TEXTS]), vectors, atol=1e-6)


def test_long_texts_lose_their_end_and_are_counted(embedder: OnnxEmbedder) -> None:
    long, short = embedder.embed(["a b c d e f g h i j", "a b c d e f g h"])
    assert embedder.texts_cut == 1
    np.testing.assert_allclose(long, short, atol=1e-6)


def test_no_text_gives_no_vector(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 4)


def test_another_kind_or_a_missing_dimension_is_refused(make_bundle: Callable[..., Path]) -> None:
    with pytest.raises(BundleError, match="lacks its dimension"):
        OnnxEmbedder.load(make_bundle("flat", "embedder", dimension=None))
    with pytest.raises(BundleError, match="not 'gate'"):
        Gate.load(make_bundle("embedder", "embedder"))
