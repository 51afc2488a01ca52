"""What an evaluation of an extractor holds; its checkpoints hold the adapter, never the frozen base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pydantic import Field

from engrain.models.extractor.config import Keep
from engrain.models.extractor.data import IGNORED
from engrain.models.extractor.module import ExtractorModule
from engrain.models.extractor.samples import Sampler
from engrain.models.training.checkpoints import Evaluated, Progress, RunCheckpoints
from engrain.models.training.strategies import gathered


class Evaluation(Evaluated):
    """One evaluation on the validation set."""

    train_loss: float = Field(description="Mean cross-entropy per target token since the last evaluation, in nats.")
    loss: float = Field(description="Validation cross-entropy per target token, in nats.")
    records: float | None = Field(default=None, description="Record F1 on the samples; empty where not measured.")
    keep: Keep = Field(default="best", description="What chooses the evaluation whose weights are kept.")

    @property
    def selected_by(self) -> float:
        """The validation loss, or less record F1; where the last is kept, a number that falls with every step."""
        if self.keep == "records":
            return -(self.records or 0.0)
        return self.loss if self.keep == "best" else -float(self.step)


class ExtractorCheckpoints(RunCheckpoints[Evaluation]):
    """Checkpoints of an extractor's run; losses are means over target tokens."""

    entry_type = Evaluation

    def __init__(
        self,
        folder: Path,
        *,
        accumulate: int,
        keep: Keep = "best",
        sampler: Sampler | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(folder, accumulate=accumulate, progress=progress)
        self.keep: Keep = keep
        self.sampler = sampler

    def counts(self, batch: Any) -> tuple[int, int]:
        """Target tokens of the optimiser step and of the batch."""
        return int(batch["step_targets"]), int((batch["labels"] != IGNORED).sum())

    def evaluation(self, step: int, train_mean: float, module: pl.LightningModule) -> Evaluation:
        """The module's validation loss, and the samples' record F1 where they are scored; collective."""
        assert isinstance(module, ExtractorModule)
        records = None
        if self.sampler is not None:
            found = self.sampler(module.model.get_base_model(), step) if module.trainer.is_global_zero else None
            records = gathered(found)[0]
        return Evaluation(
            step=step, train_loss=train_mean, loss=module.validation_loss, records=records, keep=self.keep
        )
