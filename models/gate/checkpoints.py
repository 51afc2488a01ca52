"""What an evaluation of a gate holds: the lowest validation BCE chooses the checkpoint (SLICE-Mem B.1)."""

from __future__ import annotations

from typing import Any

import pytorch_lightning as pl
from pydantic import Field

from engrain.models.gate.module import GateModule
from engrain.models.training.checkpoints import Evaluated, RunCheckpoints


class Evaluation(Evaluated):
    """One evaluation on the validation set."""

    train_objective: float = Field(description="Mean of equation 3 over the training examples since the last one.")
    bce: float = Field(description="Validation binary cross-entropy, unweighted; the lowest is the best checkpoint.")
    objective: float = Field(description="Equation 3 on the validation set.")
    auprc: float = Field(description="Area under the precision-recall curve (average precision).")

    @property
    def selected_by(self) -> float:
        """The validation BCE."""
        return self.bce


class GateCheckpoints(RunCheckpoints[Evaluation]):
    """Checkpoints of a gate's run; losses are means over examples."""

    entry_type = Evaluation

    def counts(self, batch: Any) -> tuple[int, int]:
        """Examples of the optimiser step and of the batch."""
        return int(batch["step_examples"]), len(batch["rows"])

    def evaluation(self, step: int, train_mean: float, module: pl.LightningModule) -> Evaluation:
        """The module's measures."""
        assert isinstance(module, GateModule)
        return Evaluation(step=step, train_objective=train_mean, **module.measures)
