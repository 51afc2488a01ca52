"""The data module: all passes over the data as one planned sequence of micro-batches, with a position to resume."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset

from engrain.models.extractor.config import ExtractorTrainingConfig, TrainingPhase
from engrain.models.extractor.data import Batch, EncodedExample, EncodedSet, collate
from engrain.models.extractor.packing import (
    Pack,
    collate_packed,
    common_beginning,
    pack_length,
    pack_rows,
    plan_packed_pass,
)
from engrain.models.training.batches import padding_share, plan_pass, rank_share, sorted_batches
from engrain.models.training.strategies import World
from engrain.runtime.errors import InputError


@dataclass(frozen=True)
class Planned:
    """One micro-batch: its rows, each holding one example or a pack of them, and the target tokens of its step."""

    packs: tuple[Pack, ...]
    step_targets: int


class PlannedBatches(Dataset[Batch]):
    """A planned list of micro-batches; item i is the i-th, collated. `shared` tokens are held once a packed row."""

    def __init__(
        self, encoded: EncodedSet, plan: Sequence[Planned], pad_id: int, *, shared: int | None, additive: bool = False
    ) -> None:
        self.encoded, self.plan, self.pad_id, self.shared, self.additive = encoded, plan, pad_id, shared, additive

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, index: int) -> Batch:
        planned = self.plan[index]
        packs = [[self.encoded.examples[row] for row in pack] for pack in planned.packs]
        if self.shared is None:
            return collate([example for pack in packs for example in pack], self.pad_id, planned.step_targets)
        return collate_packed(packs, self.pad_id, planned.step_targets, shared=self.shared, additive=self.additive)

    def names(self, index: int) -> list[str]:
        """Ids of the examples of the i-th micro-batch."""
        return [self.encoded.examples[row].name for pack in self.plan[index].packs for row in pack]

    def padding_share(self) -> float:
        """Share of the positions that hold padding."""
        lengths, shared = self.encoded.lengths, self.shared or 0
        rows = [[pack_length(pack, lengths, shared) for pack in planned.packs] for planned in self.plan]
        flat = [length for row in rows for length in row]
        places = iter(range(len(flat)))
        return padding_share(flat, [[next(places) for _ in row] for row in rows])


class ResumableLoader(DataLoader[Batch]):
    """Batches in planned order. Lightning saves and restores `position` with the checkpoint."""

    def __init__(self, batches: PlannedBatches) -> None:
        # A generator of its own: making an iterator must not draw from the generator that dropout uses.
        super().__init__(batches, batch_size=None, shuffle=False, generator=torch.Generator().manual_seed(0))
        self.batches = batches
        self.position = 0

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        for index in range(self.position, len(self.batches)):
            self.position = index + 1
            yield self.batches[index]

    def state_dict(self) -> dict[str, Any]:
        """Batches handed out so far."""
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue after the batches that were handed out when the state was saved."""
        self.position = int(state["position"])


class ExtractorData(pl.LightningDataModule):
    """Training and validation batches. All passes form one sequence, so a run is one Lightning epoch.

    With `config.pack` rows are packed to `pack_length` tokens (`max_length`, the longest example, when it is smaller).
    `additive` is for eager attention, which wants its mask as numbers.
    """

    def __init__(
        self,
        train: EncodedSet,
        validation: EncodedSet,
        config: ExtractorTrainingConfig,
        *,
        pad_id: int,
        seed: int,
        additive: bool = False,
        world: World | None = None,
    ) -> None:
        super().__init__()
        self.train, self.validation, self.config = train, validation, config
        self.pad_id, self.seed, self.additive, self.world = pad_id, seed, additive, world or World()
        self.step_batches = config.accumulate * self.world.size
        self.shared = _shared(config, train.examples)
        passes = self._passes()
        self.steps = sum(len(batches) for batches in passes) // self.step_batches
        if config.max_steps is not None:
            self.steps = min(self.steps, config.max_steps)
        """Optimiser steps of the whole run."""
        plan = [planned for batches in passes for planned in self._with_targets(batches)]
        self.planned = self._batches(train, plan[: self.steps * self.step_batches], self.shared)
        """The micro-batches of all ranks; a rank trains on every `world.size`-th of them."""

    def padding_share(self) -> float:
        """Share of the training positions that are padding."""
        return self.planned.padding_share()

    def train_dataloader(self) -> ResumableLoader:
        """Every pass, one after the other: this rank's micro-batches."""
        own = rank_share(self.planned.plan, self.world.rank, self.world.size)
        return ResumableLoader(self._batches(self.train, own, self.shared))

    def val_dataloader(self) -> DataLoader[Batch]:
        """Every validation row once over all ranks, sorted by length, or packed.

        Ranks get equally many batches; one that repeats another's to fill up has no target tokens of its own.
        """
        lengths, size = self.validation.lengths, self.config.eval_batch_size
        shared = _shared(self.config, self.validation.examples)
        if shared is None:
            packs: list[tuple[Pack, int]] = [((row,), lengths[row]) for row in range(len(lengths))]
        else:
            packed = pack_rows(lengths, self._capacity(lengths), shared=shared)
            packs = [(pack, pack_length(pack, lengths, shared)) for pack in packed]
        plan = []
        for batch in sorted_batches([length for _, length in packs], size):
            rows = tuple(packs[place][0] for place in batch)
            plan.append(Planned(rows, _targets(self.validation, rows)))
        missing = -len(plan) % self.world.size
        plan += [Planned(plan[-1].packs, 0)] * missing
        batches = self._batches(self.validation, rank_share(plan, self.world.rank, self.world.size), shared)
        return DataLoader(batches, batch_size=None, generator=torch.Generator().manual_seed(0))

    def _batches(self, encoded: EncodedSet, plan: Sequence[Planned], shared: int | None) -> PlannedBatches:
        return PlannedBatches(encoded, plan, self.pad_id, shared=shared, additive=self.additive)

    def _capacity(self, lengths: Sequence[int]) -> int:
        return max(self.config.pack_length or 0, *lengths)

    def _passes(self) -> list[list[tuple[Pack, ...]]]:
        """The micro-batches of every pass; a pass that `max_steps` will not reach is not planned."""
        config, passes, planned = self.config, list[list[tuple[Pack, ...]]](), 0
        phases = config.phases or (TrainingPhase(epochs=config.epochs),)
        for rows in (self._rows(phase) for phase in phases for _ in range(phase.epochs)):
            if config.max_steps is not None and planned >= config.max_steps * self.step_batches:
                break
            passes.append(self._pass(rows, len(passes)))
            planned += len(passes[-1])
        return passes

    def _rows(self, phase: TrainingPhase) -> list[int]:
        """The rows of a phase. Raises `InputError` when nobody it names has written an example."""
        rows = [
            row
            for row, example in enumerate(self.train.examples)
            if not phase.teachers or example.teacher in phase.teachers
        ]
        if not rows:
            known = ", ".join(sorted({example.teacher for example in self.train.examples}))
            raise InputError(
                f"training.phases: no example is by {', '.join(phase.teachers)}; there are those by {known}"
            )
        return rows

    def _pass(self, rows: list[int], epoch: int) -> list[tuple[Pack, ...]]:
        lengths, config = [len(self.train.examples[row].ids) for row in rows], self.config
        common = {
            "batch_size": config.batch_size,
            "accumulate": self.step_batches,
            "bucket_steps": config.bucket_steps,
            "seed": self.seed,
            "epoch": epoch,
        }
        if self.shared is None:
            return [tuple((rows[place],) for place in batch.rows) for batch in plan_pass(lengths, **common)]
        capacity = self._capacity(self.train.lengths)
        planned = plan_packed_pass(lengths, capacity=capacity, shared=self.shared, **common)
        return [tuple(tuple(rows[place] for place in pack) for pack in batch.packs) for batch in planned]

    def _with_targets(self, batches: list[tuple[Pack, ...]]) -> list[Planned]:
        """Each micro-batch with the target tokens of its whole step: what its loss is divided by."""
        plan, size = list[Planned](), self.step_batches
        for first in range(0, len(batches), size):
            step = batches[first : first + size]
            total = sum(_targets(self.train, packs) for packs in step)
            plan.extend(Planned(packs, total) for packs in step)
        return plan


def _shared(config: ExtractorTrainingConfig, examples: Sequence[EncodedExample]) -> int | None:
    """Tokens that a packed row holds once; None when nothing is packed."""
    if not config.pack:
        return None
    return common_beginning(examples) if config.share_prompt else 0


def _targets(encoded: EncodedSet, packs: Sequence[Pack]) -> int:
    return sum(encoded.examples[row].target_tokens for pack in packs for row in pack)
