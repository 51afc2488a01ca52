"""The LightningModule: completion-only loss under accumulation, AdamW on LoRA weights, adapter-only checkpoints."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
import torch.nn.functional as functional
from torch import Tensor
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from engrain.models.extractor.config import ExtractorConfig, LoraSettings
from engrain.models.extractor.data import IGNORED, Batch
from engrain.models.training.strategies import shard, step_scale
from engrain.runtime.errors import InputError, TrainingError

CHECKPOINT_KEY = "engrain_extractor"
_PLAIN_HEADS = ("llama", "mistral", "qwen2", "qwen3", "smollm3")
"""Model types whose logits are the head's product alone: neither scaled nor capped."""


def add_lora(model: Any, settings: LoraSettings) -> Any:
    """Wrap a causal LM with trainable low-rank layers; everything else is frozen.

    Raises `InputError` when the targets or the number of layers do not exist in this model.
    """
    from peft import LoraConfig, get_peft_model

    targets = settings.targets if isinstance(settings.targets, str) else list(settings.targets)
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=_block_linears(model) if targets == "all-linear" else targets,
        layers_to_transform=_last_layers(model, settings.layers),
        use_rslora=settings.rslora,
        use_dora=settings.dora,
    )
    try:
        return get_peft_model(model, lora)
    except ValueError as error:
        raise InputError(f"lora.targets {settings.targets} do not fit this base model: {error}") from error


def trainable_parameters(model: torch.nn.Module) -> int:
    """How many numbers are trained."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


class ExtractorModule(pl.LightningModule):
    """Trains a peft model.

    `steps` is the number of optimiser steps of the whole run (the schedule's length); `names` gives the example ids
    of a micro-batch by its index, to name a bad one; `facts` are written into every checkpoint. `processes` is how many
    ranks share a step: their gradients are averaged, so each one's loss is multiplied by it.
    """

    def __init__(
        self,
        model: Any,
        config: ExtractorConfig,
        *,
        steps: int = 1,
        names: Callable[[int], list[str]] | None = None,
        facts: dict[str, Any] | None = None,
        processes: int = 1,
    ) -> None:
        super().__init__()
        self.model, self.config, self.steps, self.processes = model, config, steps, processes
        self.names = names or (lambda index: [str(index)])
        self.facts = facts or {}
        self.validation_loss = math.nan
        # The frozen base is in no checkpoint; `on_load_checkpoint` checks that what is trained is complete.
        self.strict_loading = False
        self._sums: list[Tensor] = []
        if config.training.fused_loss:
            _require_plain_head(model.get_base_model())
        self._keeps_logits = "logits_to_keep" in inspect.signature(model.get_base_model().forward).parameters
        if config.model.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            model.enable_input_require_grads()
        model.train()  # Loaded models are in evaluation mode, and Lightning leaves modes as they are: no dropout.

    def configure_model(self) -> None:
        """Shard the model when the strategy is fully_shard; nothing otherwise."""
        shard(self, self.model)

    def loss_sum(self, batch: Batch) -> Tensor:
        """Cross-entropy summed over the target tokens of a micro-batch, in float32; a scalar.

        Logits are made only where some row has a target, which saves the vocabulary-sized rest: P positions of T.
        """
        if self.config.training.fused_loss:
            return self._fused_loss_sum(batch)
        positions = torch.nonzero((batch["labels"][:, 1:] != IGNORED).any(dim=0)).squeeze(1)
        inputs: dict[str, Any] = {
            "input_ids": batch["input_ids"],
            "attention_mask": batch["attention_mask"],
            "use_cache": False,
        }
        if "position_ids" in batch:
            inputs["position_ids"] = batch["position_ids"]
        if self._keeps_logits:
            logits = self.model(**inputs, logits_to_keep=positions).logits  # B x P x V
        else:
            logits = self.model(**inputs).logits[:, positions]
        targets = batch["labels"][:, 1:][:, positions]
        return functional.cross_entropy(
            logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )

    def _fused_loss_sum(self, batch: Batch) -> Tensor:
        """The same sum by torch's linear cross-entropy: hidden states of target positions meet the head in chunks."""
        causal: Any = self.model.get_base_model()
        inputs = {name: batch[name] for name in ("attention_mask", "position_ids") if name in batch}
        hidden = causal.model(input_ids=batch["input_ids"], use_cache=False, **inputs).last_hidden_state  # B x T x D
        targets = batch["labels"][:, 1:]
        learned = targets != IGNORED
        head = causal.get_output_embeddings()
        return functional.linear_cross_entropy(
            hidden[:, :-1][learned].float(),
            head.weight.float(),
            targets[learned],
            reduction="sum",
            options=torch.nn.LinearCrossEntropyOptions(),
        )

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """This micro-batch's share of the step's mean loss over target tokens.

        The frameworks divide every micro-batch's loss (`step_scale`); multiplying by the same here leaves, summed over
        the step, exactly (sum over target tokens) / (target tokens of the step), whatever the lengths.
        """
        total = self.loss_sum(batch)
        if not torch.isfinite(total):
            names = ", ".join(self.names(batch_idx)[:8])
            raise TrainingError(
                f"the loss is {float(total.detach())} at step {self.global_step} (examples {names}); look at these "
                "examples, lower training.learning_rate, or set model.attention=eager"
            )
        return total * self._step_scale() / batch["step_targets"]

    def _step_scale(self) -> int:
        accumulate = self.config.training.accumulate
        return step_scale(self.trainer, accumulate) if self._trainer is not None else accumulate * self.processes

    def on_validation_epoch_start(self) -> None:
        """Forget the sums of the evaluation before."""
        self._sums = []

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Keep this batch's loss and number of target tokens; nothing is averaged here."""
        counts = (batch["step_targets"] > 0).double()  # A batch that fills up a rank counts for nothing.
        self._sums.append(torch.stack([self.loss_sum(batch).double() * counts, batch["step_targets"].double()]))

    def on_validation_epoch_end(self) -> None:
        """Mean loss over all target tokens of the validation set."""
        sums = self.trainer.strategy.reduce(torch.stack(self._sums).sum(dim=0), reduce_op="sum")
        loss, tokens = sums.tolist()
        self.validation_loss = loss / tokens
        self.log("validation/loss", self.validation_loss, rank_zero_only=True)

    def configure_optimizers(self) -> Any:
        """AdamW over the trainable weights; linear warm-up, then decay to zero at the last step."""
        training = self.config.training
        weights = [weight for weight in self.parameters() if weight.requires_grad]
        optimizer = AdamW(weights, lr=training.learning_rate, weight_decay=training.weight_decay)
        schedule = LambdaLR(
            optimizer, lambda step: rate_factor(step, self.steps, training.warmup_ratio, training.schedule)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def trained_state(self) -> dict[str, Tensor]:
        """The weights that are trained, by their names in this module."""
        return {name: weight.detach() for name, weight in self.named_parameters() if weight.requires_grad}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep only what is trained, and what the run is."""
        checkpoint["state_dict"] = self.trained_state()
        checkpoint[CHECKPOINT_KEY] = {"config": self.config.model_dump(mode="json"), "facts": self.facts}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse a checkpoint that lacks a trained weight, or has one of another shape."""
        saved = checkpoint["state_dict"]
        for name, weight in self.trained_state().items():
            if name not in saved or saved[name].shape != weight.shape:
                raise TrainingError(
                    f"the checkpoint has no fitting weight for {name}; it belongs to another base model"
                )


def rate_factor(step: int, steps: int, warmup_ratio: float, schedule: str) -> float:
    """Share of the peak learning rate before optimiser step `step` (0-based) of `steps`."""
    warmup = round(steps * warmup_ratio)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return 1.0 - done if schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))


def _require_plain_head(causal: Any) -> None:
    """Raise `InputError` where logits are not simply head times hidden state, or torch has no fused loss."""
    if causal.config.model_type not in _PLAIN_HEADS:
        raise InputError(
            f"training.fused_loss: {causal.config.model_type} models may scale their logits; known to be plain are "
            f"{', '.join(_PLAIN_HEADS)}. Set it to false"
        )
    if not hasattr(functional, "linear_cross_entropy"):
        raise InputError(f"training.fused_loss needs torch 2.13, this is {torch.__version__}; set it to false")


def _block_linears(model: Any) -> list[str]:
    """Names of the linear layers inside the blocks: every linear layer but the output head."""
    head = model.get_output_embeddings()
    names = {
        name.rpartition(".")[2]
        for name, layer in model.named_modules()
        if isinstance(layer, torch.nn.Linear) and layer is not head
    }
    return sorted(names)


def _last_layers(model: Any, count: int | None) -> list[int] | None:
    if count is None:
        return None
    total = int(model.config.num_hidden_layers)
    if count > total:
        raise InputError(f"lora.layers is {count}, but the base model has {total} blocks")
    return list(range(total - count, total))
