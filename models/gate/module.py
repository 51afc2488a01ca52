"""The LightningModule: equation 3's loss under accumulation, AdamW with warm-up, validation over gathered scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from engrain.models.gate.config import GateConfig
from engrain.models.gate.data import Batch
from engrain.models.gate.encoder import GateNetwork, encoder_settings
from engrain.models.gate.metrics import drop_repeats, validation_measures, weighted_bce_sum
from engrain.models.gate.tuning import parameter_groups
from engrain.models.training.strategies import shard, step_scale
from engrain.runtime.errors import TrainingError

CHECKPOINT_KEY = "engrain_gate"


class GateModule(pl.LightningModule):
    """Trains a `GateNetwork`.

    `steps` is the number of optimiser steps of the whole run (the schedule's length); `processes` is how many train
    together; `names` are the ids of the training rows, used to name a bad batch.
    """

    def __init__(
        self,
        network: GateNetwork,
        config: GateConfig,
        *,
        tokenizer_json: str,
        w_plus: float = 1.0,
        steps: int = 1,
        processes: int = 1,
        names: list[str] | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.network = network
        self.config, self.tokenizer_json = config, tokenizer_json
        self.w_plus, self.steps, self.processes = w_plus, steps, processes
        self.names = names or []
        self.facts = facts or {}
        self.measures: dict[str, float] = {}
        self._gathered: list[tuple[Tensor, Tensor, Tensor]] = []

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Logits, B."""
        logits: Tensor = self.network(input_ids, attention_mask)
        return logits

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """This micro-batch's share of the step's mean loss.

        Every micro-batch's loss is divided by `accumulate`, and gradients are averaged over processes; multiplying by
        both here leaves, summed over the step and all processes, exactly (1/N) sum over the N examples of the step,
        also when micro-batches differ in size.
        """
        logits = self(batch["input_ids"], batch["attention_mask"])
        total = weighted_bce_sum(logits, batch["goals"], self.w_plus, batch["weights"])
        if not torch.isfinite(total):
            self._stop(batch, batch_idx, float(total.detach()))
        loss = total * self._scale() / batch["step_examples"]
        self.log("train/objective", total.detach() / len(logits), on_step=True, prog_bar=True)
        return loss

    def on_validation_epoch_start(self) -> None:
        """Forget the scores of the evaluation before."""
        self._gathered = []

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Keep row ids, logits and labels; nothing is averaged here."""
        logits = self(batch["input_ids"], batch["attention_mask"])
        self._gathered.append((batch["rows"], logits.detach().float(), batch["labels"]))

    def on_validation_epoch_end(self) -> None:
        """Measure once over all rows of all ranks."""
        rows, logits, labels = (self._gather(torch.cat(column)) for column in zip(*self._gathered, strict=True))
        _, kept_logits, kept_labels = drop_repeats(rows.astype(np.int64), logits, labels)
        measures = validation_measures(kept_logits.astype(np.float64), kept_labels.astype(np.float64), self.w_plus)
        self.measures = measures
        self.log_dict({f"validation/{name}": value for name, value in measures.items()}, rank_zero_only=True)

    def configure_model(self) -> None:
        """Shard the network when the strategy is fully_shard; nothing otherwise."""
        shard(self, self.network)

    def configure_optimizers(self) -> Any:
        """AdamW; linear warm-up, then linear decay to zero at the last step (B.1)."""
        training = self.config.training
        optimizer = AdamW(parameter_groups(self.network, training), lr=training.learning_rate)
        schedule = LambdaLR(optimizer, lambda step: rate_factor(step, self.steps, training.warmup_ratio))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Everything that scoring and export need: no base folder has to be at hand later."""
        checkpoint[CHECKPOINT_KEY] = {
            "config": self.config.model_dump(mode="json"),
            "encoder": encoder_settings(self.network),
            "tokenizer": self.tokenizer_json,
            "w_plus": self.w_plus,
            "facts": self.facts,
        }

    def _scale(self) -> int:
        accumulate = self.config.training.accumulate
        # Without a trainer, as a test calls it, there is one process.
        return step_scale(self.trainer, accumulate) if self._trainer is not None else accumulate * self.processes

    def _gather(self, values: Tensor) -> Any:
        if self.trainer.world_size > 1:
            gathered = self.all_gather(values)
            assert isinstance(gathered, Tensor)
            values = gathered.flatten()
        return values.cpu().numpy()

    def _stop(self, batch: Batch, batch_idx: int, loss: float) -> None:
        rows = batch["rows"].tolist()
        names = [self.names[row] if row < len(self.names) else str(row) for row in rows]
        raise TrainingError(
            f"the loss is {loss} at step {self.global_step}, batch {batch_idx} (examples {', '.join(names[:8])}); "
            "look at these examples, lower training.learning_rate, or set model.attention=eager"
        )


def rate_factor(step: int, steps: int, warmup_ratio: float) -> float:
    """Share of the peak learning rate before optimiser step `step` (0-based) of `steps`."""
    warmup = round(steps * warmup_ratio)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return max(0.0, (steps - step) / max(1, steps - warmup))
