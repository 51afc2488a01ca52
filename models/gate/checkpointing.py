"""Checkpoints that are whole or absent, the choice of the best one, and early stopping.

After every evaluation the run folder gets `best.ckpt` (weights only, when the validation BCE is the lowest so far)
and then `last.ckpt` (everything that an exact continuation needs). Each is written beside its place and renamed, so a
kill or a full disk leaves the file before it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pydantic import Field
from torch import Tensor

from engrain.models.gate.module import GateModule
from engrain.runtime.errors import TrainingError
from engrain.runtime.schema import Contract

BEST, LAST = "best.ckpt", "last.ckpt"
Progress = Callable[[int, int], None]


class Evaluation(Contract):
    """One evaluation on the validation set."""

    step: int = Field(ge=0, description="Optimiser steps done.")
    train_objective: float = Field(description="Mean of equation 3 over the training examples since the last one.")
    bce: float = Field(description="Validation binary cross-entropy, unweighted; the lowest is the best checkpoint.")
    objective: float = Field(description="Equation 3 on the validation set.")
    auprc: float = Field(description="Area under the precision-recall curve (average precision).")


class RunCheckpoints(pl.Callback):
    """Evaluates at the last step too, keeps the history, writes `best.ckpt` and `last.ckpt`, stops early."""

    def __init__(self, folder: Path, *, patience: int, accumulate: int, progress: Progress | None = None) -> None:
        self.folder, self.patience, self.accumulate, self.progress = folder, patience, accumulate, progress
        self.history: list[Evaluation] = []
        self.best_step, self.waited = 0, 0
        self._loss_sum, self._loss_examples = 0.0, 0
        self._restored: dict[str, Any] | None = None

    @property
    def best(self) -> Evaluation | None:
        """The evaluation with the lowest BCE, the earliest of equals."""
        return min(self.history, key=lambda entry: (entry.bce, entry.step), default=None)

    @property
    def exhausted(self) -> bool:
        """Whether `patience` evaluations have passed without a lower BCE."""
        return self.waited >= self.patience

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
        # Lightning reports the loss after its division by `accumulate`; turn it back into the sum over examples.
        self._loss_sum += float(loss.detach()) * int(batch["step_examples"])
        self._loss_examples += len(batch["rows"])
        if self.progress is not None and (batch_idx + 1) % self.accumulate == 0:
            self.progress(trainer.global_step, int(trainer.num_training_batches) // self.accumulate)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Record the evaluation, write the checkpoints, and stop when patience is exhausted."""
        assert isinstance(pl_module, GateModule)
        mean = self._loss_sum / self._loss_examples if self._loss_examples else float("nan")
        entry = Evaluation(step=trainer.global_step, train_objective=mean, **pl_module.measures)
        self._loss_sum, self._loss_examples = 0.0, 0
        before = self.best
        self.history.append(entry)
        improved = before is None or entry.bce < before.bce
        self.waited = 0 if improved else self.waited + 1
        if improved:
            self.best_step = entry.step
            self._write(trainer, BEST, weights_only=True)
        self._write(trainer, LAST, weights_only=False)
        trainer.should_stop = trainer.should_stop or self.exhausted

    def state_dict(self) -> dict[str, Any]:
        """History and random state, as plain values and tensors."""
        return {
            "history": [entry.model_dump() for entry in self.history],
            "best_step": self.best_step,
            "waited": self.waited,
            "random": randomness(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up the history; the generators are restored when training starts."""
        self.history = [Evaluation.model_validate(entry) for entry in state_dict["history"]]
        self.best_step, self.waited = int(state_dict["best_step"]), int(state_dict["waited"])
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


def randomness() -> dict[str, Any]:
    """The state of every generator that training draws from."""
    version, words, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state()
    return {
        "python": [version, list(words), gauss],
        "numpy": [str(kind), torch.from_numpy(np.asarray(keys).astype(np.int64)), int(position), has_gauss, cached],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore_randomness(state: dict[str, Any]) -> None:
    """Put every generator back where `randomness` found it."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    kind, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, cached))
    torch.set_rng_state(state["torch"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
