"""Settings of the gate's model and training. Defaults are SLICE-Mem's (appendix B.1) unless a field says otherwise."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrain.runtime.schema import Contract

Pooling = Literal["cls", "mean", "target"]


class GateModelConfig(Contract):
    """The encoder and what it sees."""

    base: str = Field(
        default="answerdotai/ModernBERT-base", description="Encoder: hub name, folder, or package:<distribution>."
    )
    k: int = Field(default=1, ge=0, le=50, description="Preceding messages in the input (C.1 selects 1).")
    max_length: int = Field(default=512, ge=16, le=8192, description="Tokens of one input, markers included.")
    pooling: Pooling = Field(
        default="cls",
        description="cls: first token; mean: all real tokens; target: mean from the target's marker on. "
        "The paper does not state its own.",
    )
    dropout: float | None = Field(
        default=None, ge=0.0, lt=1.0, description="Sets every dropout rate of the encoder; empty keeps its own."
    )
    attention: Literal["sdpa", "eager"] = Field(
        default="sdpa", description="Attention implementation; others gave NaN logits with ModernBERT."
    )


class GateTrainingConfig(Contract):
    """The optimisation. Fields that the paper does not state say so."""

    learning_rate: float = Field(default=2e-5, gt=0.0, le=1.0, description="AdamW's peak learning rate.")
    weight_decay: float = Field(default=0.01, ge=0.0, le=1.0, description="AdamW; not on biases and norms.")
    warmup_ratio: float = Field(
        default=0.1, ge=0.0, le=1.0, description="Share of all steps with rising rate; then linear decay to 0."
    )
    batch_size: int = Field(default=4, ge=1, le=4096, description="Examples of one forward pass.")
    accumulate: int = Field(default=4, ge=1, le=1024, description="Forward passes of one optimiser step.")
    epochs: int = Field(default=10, ge=1, le=1000, description="Most passes over the training set.")
    evaluate_every: int = Field(default=50, ge=1, description="Optimiser steps between evaluations; the last step too.")
    patience: int = Field(
        default=10, ge=1, description="Evaluations without a lower validation BCE before stopping. Not in the paper."
    )
    max_positive_weight: float = Field(default=10.0, ge=1.0, description="w_max of equation 3.")
    gradient_clip: float = Field(default=1.0, ge=0.0, description="Largest gradient norm; 0 is off. Not in the paper.")
    bucket_steps: int = Field(
        default=8, ge=1, description="Steps whose examples are sorted by length together. Not in the paper."
    )
    eval_batch_size: int = Field(default=64, ge=1, le=4096, description="Examples of one evaluation pass.")
    precision: Literal["32-true", "bf16-mixed"] = Field(default="32-true", description="Lightning precision.")
    accelerator: Literal["auto", "cpu", "gpu"] = Field(default="auto", description="Lightning accelerator.")


class GateConfig(Contract):
    """A whole gate run but for its data and seed."""

    model: GateModelConfig = Field(default_factory=GateModelConfig, description="Encoder and input.")
    training: GateTrainingConfig = Field(default_factory=GateTrainingConfig, description="Optimisation.")
