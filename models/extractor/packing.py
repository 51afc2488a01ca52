"""Packing: several examples in one row, each blind to the others, so that hardly a position is padding.

A packed row is read with positions that start anew for each example and a block-diagonal attention mask, so every
example gets the activations and the loss it would get alone. Where all prompts begin with the same tokens (the system
message does), a row may hold that beginning once: every example sees it, it sees none of them.

Example, shared beginning of 2 tokens, two examples of 2 and 1 further tokens:

    token      p0 p1 | a0 a1 | b0
    position    0  1 |  2  3 |  2
    segment     0  0 |  1  1 |  2
    b0 attends p0 p1          b0
"""

from __future__ import annotations

import random
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engrain.models.extractor.data import IGNORED, Batch, EncodedExample
from engrain.models.training.batches import plan_pass
from engrain.runtime.extraction.local import shared_beginning

Pack = tuple[int, ...]
"""Rows of the encoded set that share one packed row."""


@dataclass(frozen=True)
class PackedBatch:
    """Packed rows of one forward pass."""

    packs: tuple[Pack, ...]


def common_beginning(examples: Sequence[EncodedExample]) -> int:
    """How many first tokens all examples share, always short of the last prompt token of each."""
    if len(examples) < 2:
        return 0
    shared = shared_beginning([list(example.ids) for example in examples])
    return max(0, min(shared, *(example.prompt_length - 1 for example in examples)))


def pack_rows(lengths: Sequence[int], capacity: int, *, shared: int = 0, seed: str = "") -> list[Pack]:
    """Every row once, in rows of at most `capacity` tokens: best fit, longest first (best-fit decreasing).

    `lengths` are whole examples; `shared` tokens of each are held once a row. Rows of one length are shuffled with
    `seed`, and so is the result. A row longer than the capacity gets a pack of its own.
    """
    rng = random.Random(seed)
    order = list(range(len(lengths)))
    rng.shuffle(order)
    order.sort(key=lambda row: -lengths[row])
    packs: list[list[int]] = []
    room: list[tuple[int, int]] = []  # (free tokens, pack), ascending.
    for row in order:
        needed = lengths[row] - shared
        place = bisect_left(room, (needed, -1))
        if place == len(room):
            packs.append([row])
            insort(room, (capacity - shared - needed, len(packs) - 1))
        else:
            free, pack = room.pop(place)
            packs[pack].append(row)
            insort(room, (free - needed, pack))
    rng.shuffle(packs)
    return [tuple(pack) for pack in packs]


def pack_length(pack: Pack, lengths: Sequence[int], shared: int) -> int:
    """Tokens of a packed row."""
    return shared + sum(lengths[row] - shared for row in pack)


def plan_packed_pass(
    lengths: Sequence[int],
    *,
    capacity: int,
    shared: int,
    batch_size: int,
    accumulate: int,
    bucket_steps: int,
    seed: int,
    epoch: int,
) -> list[PackedBatch]:
    """One pass in packed rows, `batch_size` of them a forward pass; see `plan_pass` for steps and order."""
    packs = pack_rows(lengths, capacity, shared=shared, seed=f"pack/{seed}/{epoch}")
    planned = plan_pass(
        [pack_length(pack, lengths, shared) for pack in packs],
        batch_size=batch_size,
        accumulate=accumulate,
        bucket_steps=bucket_steps,
        seed=seed,
        epoch=epoch,
    )
    return [PackedBatch(tuple(packs[row] for row in batch.rows)) for batch in planned]


def collate_packed(
    packs: Sequence[Sequence[EncodedExample]], pad_id: int, step_targets: int, *, shared: int, additive: bool = False
) -> Batch:
    """`input_ids`, `position_ids`, `labels`, each B x T, and `attention_mask`, B x 1 x T x T.

    The mask is boolean, true where a position may look; `additive` makes it 0 and -inf's stand-in in float32, which
    eager attention wants. Padding looks at itself only, so that no row of the mask is empty.
    """
    rows = [_pack_row(pack, shared) for pack in packs]
    width = max(len(row.ids) for row in rows)
    ids = torch.full((len(rows), width), pad_id, dtype=torch.long)
    labels = torch.full((len(rows), width), IGNORED, dtype=torch.long)
    positions = torch.zeros((len(rows), width), dtype=torch.long)
    segments = torch.full((len(rows), width), -1, dtype=torch.long)
    for place, row in enumerate(rows):
        length = len(row.ids)
        ids[place, :length] = torch.tensor(row.ids)
        labels[place, :length] = torch.tensor(row.labels)
        positions[place, :length] = torch.tensor(row.positions)
        segments[place, :length] = torch.tensor(row.segments)
    mask = block_mask(segments)
    return {
        "input_ids": ids,
        "attention_mask": _as_additive(mask) if additive else mask,
        "position_ids": positions,
        "labels": labels,
        "step_targets": torch.tensor(step_targets),
    }


def block_mask(segments: Tensor) -> Tensor:
    """B x 1 x T x T, true where query may see key: earlier or itself, and of its own segment or of segment 0.

    `segments` is B x T: 0 for the shared beginning, one number an example, -1 for padding.
    """
    width = segments.shape[1]
    causal = torch.ones((width, width), dtype=torch.bool).tril()
    query, key = segments.unsqueeze(2), segments.unsqueeze(1)
    seen = (query == key) & (query >= 0) | (key == 0) & (query >= 0)
    itself = torch.eye(width, dtype=torch.bool)
    return (seen & causal | itself).unsqueeze(1)


@dataclass(frozen=True)
class _PackRow:
    ids: list[int]
    labels: list[int]
    positions: list[int]
    segments: list[int]


def _pack_row(pack: Sequence[EncodedExample], shared: int) -> _PackRow:
    first = list(pack[0].ids[:shared])
    row = _PackRow(first, [IGNORED] * shared, list(range(shared)), [0] * shared)
    for number, example in enumerate(pack, start=1):
        row.ids.extend(example.ids[shared:])
        row.labels.extend([IGNORED] * (example.prompt_length - shared))
        row.labels.extend(example.ids[example.prompt_length :])
        row.positions.extend(range(shared, len(example.ids)))
        row.segments.extend([number] * (len(example.ids) - shared))
    return row


def _as_additive(mask: Tensor) -> Tensor:
    hidden = torch.finfo(torch.float32).min
    return torch.zeros(mask.shape).masked_fill(~mask, hidden)
