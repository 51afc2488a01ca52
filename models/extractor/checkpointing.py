"""Checkpoints that are whole or absent, and the choice of the best one.

After every evaluation the run folder gets `best.ckpt` (adapter weights, when the validation loss is the lowest so
far) and then `last.ckpt` (adapter and everything that an exact continuation needs). Each is written beside its place
and renamed, so a kill or a full disk leaves the file before it. The frozen base is in neither.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pydantic import Field
from torch import Tensor

from engrain.models.extractor.data import IGNORED
from engrain.models.extractor.module import ExtractorModule
from engrain.models.gate.checkpointing import randomness, restore_randomness
from engrain.runtime.errors import TrainingError
from engrain.runtime.schema import Contract

BEST, LAST = "best.ckpt", "last.ckpt"
Progress = Callable[[int, int], None]


class Evaluation(Contract):
    """One evaluation on the validation set."""

    step: int = Field(ge=0, description="Optimiser steps done.")
    train_loss: float = Field(description="Mean cross-entropy per target token since the last evaluation, in nats.")
    loss: float = Field(description="Validation cross-entropy per target token, in nats; the lowest is the best.")


class RunCheckpoints(pl.Callback):
    """Evaluates at the last step too, keeps the history, writes `best.ckpt` and `last.ckpt`."""

    def __init__(self, folder: Path, *, accumulate: int, progress: Progress | None = None) -> None:
        self.folder, self.accumulate, self.progress = folder, accumulate, progress
        self.history: list[Evaluation] = []
        self.saved_step = 0
        self._loss_sum, self._tokens = 0.0, 0
        self._restored: dict[str, Any] | None = None

    @property
    def best(self) -> Evaluation | None:
        """The evaluation with the lowest loss, the earliest of equals."""
        return min(self.history, key=lambda entry: (entry.loss, entry.step), default=None)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore the random generators last, after everything that start-up may draw from them."""
        if self._restored is not None:
            restore_randomness(self._restored)
            self._restored = None

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Make the run's last batch an evaluation point as well, wherever the evaluation interval falls."""
        if batch_idx + 1 == trainer.num_training_batches:
            trainer.val_check_batch = trainer.num_training_batches

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add up the training loss, and report the step."""
        loss: Tensor = outputs["loss"]
        # Lightning reports the loss after its division by `accumulate`; turn it back into the sum over target tokens.
        self._loss_sum += float(loss.detach()) * int(batch["step_targets"])
        self._tokens += int((batch["labels"] != IGNORED).sum())
        if self.progress is not None and (batch_idx + 1) % self.accumulate == 0:
            self.progress(trainer.global_step, int(trainer.num_training_batches) // self.accumulate)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Record the evaluation and write the checkpoints."""
        assert isinstance(pl_module, ExtractorModule)
        mean = self._loss_sum / self._tokens if self._tokens else float("nan")
        entry = Evaluation(step=trainer.global_step, train_loss=mean, loss=pl_module.validation_loss)
        self._loss_sum, self._tokens = 0.0, 0
        before = self.best
        self.history.append(entry)
        if before is None or entry.loss < before.loss:
            self._write(trainer, BEST, weights_only=True)
        self._write(trainer, LAST, weights_only=False)
        self.saved_step = entry.step

    def state_dict(self) -> dict[str, Any]:
        """History and random state, as plain values and tensors."""
        return {"history": [entry.model_dump() for entry in self.history], "random": randomness()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up the history; the generators are restored when training starts."""
        self.history = [Evaluation.model_validate(entry) for entry in state_dict["history"]]
        self.saved_step = self.history[-1].step if self.history else 0
        self._restored = state_dict["random"]

    def _write(self, trainer: pl.Trainer, name: str, *, weights_only: bool) -> None:
        target, part = self.folder / name, self.folder / f"{name}.part"
        try:
            trainer.save_checkpoint(part, weights_only=weights_only)
            if trainer.is_global_zero:
                part.replace(target)
        except (OSError, RuntimeError) as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise TrainingError(f"{target} could not be written ({error}); free disk space") from error
