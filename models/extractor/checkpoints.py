"""What an evaluation of an extractor holds; its checkpoints hold the adapter, never the frozen base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pydantic import Field

from engrain.models.extractor.config import Keep
from engrain.models.extractor.data import IGNORED
from engrain.models.extractor.module import ExtractorModule
from engrain.models.training.checkpoints import Evaluated, Progress, RunCheckpoints


class Evaluation(Evaluated):
    """One evaluation on the validation set."""

    train_loss: float = Field(description="Mean cross-entropy per target token since the last evaluation, in nats.")
    loss: float = Field(description="Validation cross-entropy per target token, in nats.")
    keep: Keep = Field(default="best", description="Whether the lowest loss or the last evaluation is kept.")

    @property
    def selected_by(self) -> float:
        """The validation loss; where the last is kept, a number that falls with every step."""
        return self.loss if self.keep == "best" else -float(self.step)


class ExtractorCheckpoints(RunCheckpoints[Evaluation]):
    """Checkpoints of an extractor's run; losses are means over target tokens."""

    entry_type = Evaluation

    def __init__(self, folder: Path, *, accumulate: int, keep: Keep = "best", progress: Progress | None = None) -> None:
        super().__init__(folder, accumulate=accumulate, progress=progress)
        self.keep: Keep = keep

    def counts(self, batch: Any) -> tuple[int, int]:
        """Target tokens of the optimiser step and of the batch."""
        return int(batch["step_targets"]), int((batch["labels"] != IGNORED).sum())

    def evaluation(self, step: int, train_mean: float, module: pl.LightningModule) -> Evaluation:
        """The module's validation loss."""
        assert isinstance(module, ExtractorModule)
        return Evaluation(step=step, train_loss=train_mean, loss=module.validation_loss, keep=self.keep)
