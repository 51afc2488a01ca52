"""A first stage learns plain words, keeps the positives that it must, and survives its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engrain.models.gate.cascade import fit_first_stage
from engrain.runtime.errors import InputError
from engrain.runtime.gate_cascade import BUCKETS, FirstStage, features
from engrain.runtime.schema import GateExample

Rows = Callable[..., list[GateExample]]


def test_it_keeps_every_validation_positive_and_rejects_something(make_rows: Rows, tmp_path: Path) -> None:
    train, validation = make_rows(400), make_rows(120, "validation")
    stage = fit_first_stage(train, validation, recall=1.0, strength=10.0)
    other = make_rows(300, "other")
    passed = [stage.passes(row.target.text) for row in other]
    assert all(stage.passes(row.target.text) for row in validation if row.label)
    assert all(kept for kept, row in zip(passed, other, strict=True) if row.label)
    assert sum(passed) < 200
    stage.save(tmp_path / "stage.npy")
    again = FirstStage.load(tmp_path / "stage.npy")
    assert [again.logit(row.target.text) for row in other] == pytest.approx(
        [stage.logit(row.target.text) for row in other], abs=1e-5
    )


def test_a_lower_recall_cuts_higher(make_rows: Rows) -> None:
    train, validation = make_rows(200), make_rows(60, "validation")
    cuts = [fit_first_stage(train, validation, recall=recall).cut for recall in (1.0, 0.9, 0.6)]
    assert cuts == sorted(cuts)
    assert cuts[0] < cuts[2]


def test_features_are_words_pairs_and_length_once_each() -> None:
    assert np.array_equal(features("Tea TEA tea"), features("tea tea tea"))
    assert len(features("don’t stop")) == 4  # Two words, one pair, one length class.
    assert np.array_equal(features("don’t stop"), features("don't stop"))
    assert len(features("")) == 1
    assert features("a b c d e f g").max() < BUCKETS
    assert len(features("我 喜欢")) >= 4


def test_a_set_of_one_class_is_refused(make_rows: Rows) -> None:
    with pytest.raises(InputError, match="training examples have one label"):
        fit_first_stage([row for row in make_rows(20) if row.label], make_rows(20, "validation"))
