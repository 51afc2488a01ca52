"""Which examples make which batch: equal optimiser steps, similar lengths together, the same for the same seed.

Steps are computed here rather than left to the trainer. All optimiser steps of a pass have the same number of
examples (give or take one), and every one has exactly `accumulate` micro-batches, so the last accumulation window is
not scaled differently from the others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from engrain.runtime.errors import InputError

Part = TypeVar("Part")


@dataclass(frozen=True)
class MicroBatch:
    """Rows of one forward pass, and the number of examples in the whole optimiser step it belongs to."""

    rows: tuple[int, ...]
    step_examples: int


def steps_per_pass(examples: int, batch_size: int, accumulate: int) -> int:
    """Optimiser steps of one pass over the data: at most `batch_size * accumulate` examples each.

    With `batch_size` 1 a rest that cannot fill a step joins the others, so that no micro-batch is empty.
    """
    if examples < accumulate:
        raise InputError(f"{examples} training examples cannot fill accumulate={accumulate} batches; lower accumulate")
    return min(math.ceil(examples / (batch_size * accumulate)), examples // accumulate)


def plan_pass(
    lengths: Sequence[int], *, batch_size: int, accumulate: int, bucket_steps: int, seed: int, epoch: int
) -> list[MicroBatch]:
    """One pass over all rows, in order; `accumulate` consecutive micro-batches make one optimiser step.

    Rows are shuffled, then sorted by length within groups of `bucket_steps` steps; the micro-batches of a group are
    shuffled before they are dealt to its steps, so a step is not made of one length only when accumulate > 1.
    """
    rng = random.Random(f"{seed}/{epoch}")
    order = list(range(len(lengths)))
    rng.shuffle(order)
    total = steps_per_pass(len(order), batch_size, accumulate)
    plan: list[MicroBatch] = []
    for first in range(0, total, bucket_steps):
        steps = min(bucket_steps, total - first)
        group = order[first * len(order) // total : (first + steps) * len(order) // total]
        # The sort is stable: rows of one length stay shuffled, so batches differ from pass to pass.
        group.sort(key=lambda row: lengths[row])
        batches = _split(group, steps * accumulate)
        rng.shuffle(batches)
        for place in range(0, len(batches), accumulate):
            step = batches[place : place + accumulate]
            plan.extend(MicroBatch(tuple(rows), sum(map(len, step))) for rows in step)
    return plan


def rank_share(batches: Sequence[Part], rank: int, size: int) -> list[Part]:
    """Every `size`-th micro-batch from `rank` on: a rank's part of a plan made with `accumulate * size` a step.

    As every step has exactly `accumulate * size` micro-batches, each rank gets `accumulate` of each, and a run on
    `size` processes takes the very steps of one process with `size` times the accumulation.
    """
    return [batches[place] for place in range(rank, len(batches), size)]


def evaluation_share(lengths: Sequence[int], rank: int, size: int) -> list[int]:
    """A rank's rows of an evaluation: as many on every rank, so the last ranks may repeat a row, and all of them once.

    Rows are dealt in order of length; `drop_repeats` counts a repeated one once.
    """
    order = [row for batch in sorted_batches(lengths, 1) for row in batch]
    each = math.ceil(len(order) / size)
    return [order[min(place, len(order) - 1)] for place in range(rank, each * size, size)]


def sorted_batches(lengths: Sequence[int], batch_size: int) -> list[tuple[int, ...]]:
    """All rows once, longest first, `batch_size` at a time: for evaluation, where order does not matter."""
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    return [tuple(order[start : start + batch_size]) for start in range(0, len(order), batch_size)]


def padding_share(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> float:
    """Share of positions that hold padding when every batch is padded to its longest row."""
    real = sum(lengths[row] for rows in batches for row in rows)
    padded = sum(max(lengths[row] for row in rows) * len(rows) for rows in batches if rows)
    return 1.0 - real / padded if padded else 0.0


def _split(rows: Sequence[int], parts: int) -> list[Sequence[int]]:
    """Consecutive parts whose sizes differ by one at most."""
    return [rows[part * len(rows) // parts : (part + 1) * len(rows) // parts] for part in range(parts)]
