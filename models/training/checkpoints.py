"""Checkpoints that are whole or absent, the choice of the best one, and early stopping.

After every evaluation the run folder gets `best.ckpt` (weights only, when the validation loss is the lowest so far)
and then `last.ckpt` (everything that an exact continuation needs). Each is written beside its place and renamed, so a
kill or a full disk leaves the file before it.
"""

from __future__ import annotations

import random
import shutil
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pytorch_lightning as pl
import torch
from pydantic import Field
from torch import Tensor

from engrain.models.training.strategies import full_state, gathered
from engrain.runtime.errors import TrainingError
from engrain.runtime.schema import Contract

BEST, LAST = "best.ckpt", "last.ckpt"
Progress = Callable[[int, int], None]


class Evaluated(Contract):
    """One evaluation on the validation set; each kind of model adds its own measures."""

    step: int = Field(ge=0, description="Optimiser steps done.")

    @property
    @abstractmethod
    def selected_by(self) -> float:
        """The loss whose lowest value chooses the best checkpoint."""


Entry = TypeVar("Entry", bound=Evaluated)


class RunCheckpoints(pl.Callback, Generic[Entry]):
    """Evaluates at the last step too, keeps the history, writes `best.ckpt` and `last.ckpt`, stops early.

    `patience` is the number of evaluations without a lower loss before the run stops; without it the run ends with its
    plan. A subclass says what an evaluation holds and what a batch's loss is the mean of.
    """

    entry_type: type[Entry]

    def __init__(
        self, folder: Path, *, accumulate: int, patience: int | None = None, progress: Progress | None = None
    ) -> None:
        self.folder, self.accumulate, self.patience, self.progress = folder, accumulate, patience, progress
        self.history: list[Entry] = []
        self.saved_step = 0
        self._loss_sum, self._loss_count = 0.0, 0
        self._restored: list[dict[str, Any]] | None = None

    @abstractmethod
    def counts(self, batch: Any) -> tuple[int, int]:
        """Units (examples, target tokens) of the whole optimiser step, and of this batch."""

    @abstractmethod
    def evaluation(self, step: int, train_mean: float, module: pl.LightningModule) -> Entry:
        """The evaluation that `module` has just finished; `train_mean` is the training loss a unit since the last."""

    @property
    def best(self) -> Entry | None:
        """The evaluation with the lowest loss, the earliest of equals."""
        return min(self.history, key=lambda entry: (entry.selected_by, entry.step), default=None)

    @property
    def exhausted(self) -> bool:
        """Whether `patience` evaluations have passed without a lower loss."""
        best = self.best
        if best is None or self.patience is None:
            return False
        return len(self.history) - 1 - self.history.index(best) >= self.patience

    def finished(self, steps: int) -> bool:
        """Whether a run of `steps` optimiser steps has nothing left to do."""
        return self.exhausted or (bool(self.history) and self.history[-1].step >= steps)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore the random generators last, after everything that start-up may draw from them."""
        if self._restored is not None:
            if len(self._restored) != trainer.world_size:
                raise TrainingError(
                    f"the checkpoint was written by {len(self._restored)} processes, but {trainer.world_size} run now; "
                    "resume with as many, or start a new run"
                )
            restore_randomness(self._restored[trainer.global_rank])
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
        of_step, of_batch = self.counts(batch)
        # Lightning reports the loss after its division by `accumulate`; undo the rest of `step_scale` to get the sum
        # over units.
        divided = self.accumulate if trainer.strategy.handles_gradient_accumulation else 1
        self._loss_sum += float(loss.detach()) * of_step / (divided * trainer.world_size)
        self._loss_count += of_batch
        if self.progress is not None and (batch_idx + 1) % self.accumulate == 0:
            self.progress(trainer.global_step, int(trainer.num_training_batches) // self.accumulate)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Record the evaluation, write the checkpoints, and stop when patience is exhausted."""
        sums = torch.tensor([self._loss_sum, self._loss_count], dtype=torch.float64)
        total, count = trainer.strategy.reduce(sums.to(pl_module.device), reduce_op="sum").tolist()
        mean = total / count if count else float("nan")
        entry = self.evaluation(trainer.global_step, mean, pl_module)
        self._loss_sum, self._loss_count = 0.0, 0
        before = self.best
        self.history.append(entry)
        if before is None or entry.selected_by < before.selected_by:
            self._write(trainer, BEST, lambda part: save_weights(trainer, pl_module, part))
        self._write(trainer, LAST, trainer.save_checkpoint)
        self.saved_step = entry.step
        trainer.should_stop = trainer.should_stop or self.exhausted

    def state_dict(self) -> dict[str, Any]:
        """History and random state, as plain values and tensors."""
        return {"history": [entry.model_dump() for entry in self.history], "random": gathered(randomness())}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up the history; the generators are restored when training starts."""
        self.history = [self.entry_type.model_validate(entry) for entry in state_dict["history"]]
        self.saved_step = self.history[-1].step if self.history else 0
        self._restored = state_dict["random"]

    def _write(self, trainer: pl.Trainer, name: str, save: Callable[[Path], None]) -> None:
        """Write beside the place, then rename; every rank takes part, the first one renames."""
        target, part = self.folder / name, self.folder / f"{name}.part"
        try:
            save(part)
            if trainer.is_global_zero:
                _swap(part, target)
        except (OSError, RuntimeError) as error:
            with suppress(OSError):
                _remove(part)
            raise TrainingError(f"{target} could not be written ({error}); free disk space") from error
        trainer.strategy.barrier(name)


def save_weights(trainer: pl.Trainer, module: pl.LightningModule, path: Path) -> None:
    """Write the weights, whole, with what the module adds: one file that loads without the strategy that trained it."""
    whole = full_state(trainer, module)
    checkpoint: dict[str, Any] = {"state_dict": dict(whole)}
    module.on_save_checkpoint(checkpoint)
    if trainer.is_global_zero:
        # The module may have left out what it does not train; what it kept may be a shard, so it is looked up again.
        checkpoint["state_dict"] = {name: whole[name] for name in checkpoint["state_dict"]}
        with path.open("wb") as stream:
            torch.save(checkpoint, stream)


def _swap(part: Path, target: Path) -> None:
    """Put `part` in the place of `target`; a folder (DeepSpeed writes one) cannot be replaced in one step."""
    if not target.is_dir():
        part.replace(target)
        return
    old = target.with_name(f"{target.name}.old")
    _remove(old)
    target.rename(old)
    part.rename(target)
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
