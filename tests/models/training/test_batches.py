"""Batch planning: every row once, equal steps, whole accumulation windows, little padding, the seed decides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrain.models.training.batches import MicroBatch, padding_share, plan_pass, sorted_batches, steps_per_pass
from engrain.runtime.errors import InputError


def plan(
    lengths: list[int], batch: int = 4, accumulate: int = 4, bucket: int = 8, seed: int = 1, epoch: int = 0
) -> list[MicroBatch]:
    return plan_pass(lengths, batch_size=batch, accumulate=accumulate, bucket_steps=bucket, seed=seed, epoch=epoch)


@given(st.integers(8, 400), st.integers(1, 9), st.integers(1, 8), st.integers(1, 5))
def test_a_pass_holds_every_row_once_in_whole_equal_steps(rows: int, batch: int, accumulate: int, bucket: int) -> None:
    lengths = [1 + row * 7 % 30 for row in range(rows)]
    batches = plan(lengths, batch, accumulate, bucket)
    assert sorted(row for part in batches for row in part.rows) == list(range(rows))
    assert len(batches) == steps_per_pass(rows, batch, accumulate) * accumulate
    assert all(1 <= len(part.rows) <= max(batch, 2) for part in batches)
    steps = [batches[start : start + accumulate] for start in range(0, len(batches), accumulate)]
    for step in steps:
        assert {part.step_examples for part in step} == {sum(len(part.rows) for part in step)}
    sizes = [step[0].step_examples for step in steps]
    assert max(sizes) <= max(batch, 2) * accumulate
    assert max(sizes) - min(sizes) <= accumulate + 1


def test_seed_and_epoch_decide_the_order() -> None:
    lengths = list(range(1, 101))
    assert plan(lengths) == plan(lengths)
    assert plan(lengths) != plan(lengths, seed=2)
    assert plan(lengths) != plan(lengths, epoch=1)


def test_bucketing_leaves_little_padding() -> None:
    rng = np.random.default_rng(0)
    lengths = [int(value) for value in rng.lognormal(3.5, 0.5, 2000).clip(5, 128)]
    share = padding_share(lengths, [part.rows for part in plan(lengths, 16, 1, bucket=32)])
    shuffled = [tuple(rng.permutation(2000)[start : start + 16]) for start in range(0, 2000, 16)]
    assert share < 0.10 < 0.4 < padding_share(lengths, shuffled)


def test_sorted_batches_hold_every_row_once_longest_first() -> None:
    batches = sorted_batches([3, 9, 1, 9, 4], 2)
    assert batches == [(1, 3), (4, 0), (2,)]


def test_padding_share_counts_pads() -> None:
    assert padding_share([2, 4], [(0, 1)]) == 0.25
    assert padding_share([], []) == 0.0


def test_too_few_examples_for_one_window_are_refused() -> None:
    with pytest.raises(InputError, match="lower accumulate"):
        plan([1, 2, 3])
