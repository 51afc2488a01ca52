"""The data module: all passes over the data as one planned sequence of micro-batches, with a position to resume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from engrain.models.extractor.config import ExtractorTrainingConfig
from engrain.models.extractor.data import Batch, EncodedSet, PlannedBatches
from engrain.models.training.batches import padding_share, plan_pass, sorted_batches, steps_per_pass

Plan = list[tuple[tuple[int, ...], int]]


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
    """Training and validation batches. All passes form one sequence, so a run is one Lightning epoch."""

    def __init__(
        self, train: EncodedSet, validation: EncodedSet, config: ExtractorTrainingConfig, *, pad_id: int, seed: int
    ) -> None:
        super().__init__()
        self.train, self.validation, self.config = train, validation, config
        self.pad_id, self.seed = pad_id, seed
        per_pass = steps_per_pass(len(train.examples), config.batch_size, config.accumulate)
        whole = per_pass * config.epochs
        self.steps = whole if config.max_steps is None else min(whole, config.max_steps)
        """Optimiser steps of the whole run."""
        self.planned = PlannedBatches(train, self._plan(), pad_id)

    def padding_share(self) -> float:
        """Share of the training positions that are padding."""
        return padding_share(self.train.lengths, [rows for rows, _ in self.planned.plan])

    def train_dataloader(self) -> ResumableLoader:
        """Every pass, one after the other."""
        return ResumableLoader(self.planned)

    def val_dataloader(self) -> DataLoader[Batch]:
        """Every validation row once, sorted by length."""
        rows = sorted_batches(self.validation.lengths, self.config.eval_batch_size)
        plan = [(batch, _targets(self.validation, batch)) for batch in rows]
        batches = PlannedBatches(self.validation, plan, self.pad_id)
        return DataLoader(batches, batch_size=None, generator=torch.Generator().manual_seed(0))

    def _plan(self) -> Plan:
        config, plan, epoch = self.config, Plan(), 0
        while len(plan) < self.steps * config.accumulate:
            passed = plan_pass(
                self.train.lengths,
                batch_size=config.batch_size,
                accumulate=config.accumulate,
                bucket_steps=config.bucket_steps,
                seed=self.seed,
                epoch=epoch,
            )
            plan.extend(self._with_targets([batch.rows for batch in passed]))
            epoch += 1
        return plan[: self.steps * config.accumulate]

    def _with_targets(self, batches: list[tuple[int, ...]]) -> Plan:
        """Each micro-batch with the target tokens of its whole step: what its loss is divided by."""
        plan, size = Plan(), self.config.accumulate
        for first in range(0, len(batches), size):
            step = batches[first : first + size]
            total = sum(_targets(self.train, rows) for rows in step)
            plan.extend((rows, total) for rows in step)
        return plan


def _targets(encoded: EncodedSet, rows: tuple[int, ...]) -> int:
    return sum(encoded.examples[row].target_tokens for row in rows)
