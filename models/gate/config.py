"""Settings of the gate's model and training. Defaults are SLICE-Mem's (appendix B.1) unless a field says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from engrain.models.training.settings import Strategy
from engrain.runtime.schema import Contract

Pooling = Literal["cls", "mean", "target"]


class GateModelConfig(Contract):
    """The encoder and what it sees."""

    base: str = Field(
        default="answerdotai/ModernBERT-base", description="Encoder: hub name, folder, or package:<distribution>."
    )
    start: Path | None = Field(
        default=None, description="Checkpoint of a gate on the same base that training continues from; empty: the base."
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


class GateLora(Contract):
    """Low-rank layers beside frozen weights. Not in the paper."""

    rank: int = Field(default=8, ge=1, le=512, description="Rank of the added matrices.")
    alpha: float = Field(default=16.0, gt=0.0, description="Their output is scaled by alpha / rank.")
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0, description="Dropout before them.")


class GateTrainingConfig(Contract):
    """The optimisation. Fields that the paper does not state say so."""

    strategy: Strategy = Field(
        default="single",
        description="single; or ddp, fsdp (fully_shard), zero2, zero3 over the processes that torchrun starts.",
    )
    tune: Literal["all", "head", "lora"] = Field(
        default="all", description="What is trained: everything; head: frozen encoder; lora: low-rank layers and head."
    )
    frozen_layers: int = Field(
        default=0, ge=0, description="Encoder layers from the bottom, embeddings with them, that stay as they are."
    )
    lora: GateLora = Field(default_factory=GateLora, description="For tune: lora.")
    layer_decay: float = Field(
        default=1.0, gt=0.0, le=1.0, description="Learning rate of a layer over that of the layer above it; 1 is off."
    )
    gradient_checkpointing: bool = Field(default=False, description="Recompute activations: less memory, more time.")
    compile: bool = Field(default=False, description="torch.compile; pays on a GPU, with few distinct lengths.")

    learning_rate: float = Field(default=2e-5, gt=0.0, le=1.0, description="AdamW's peak learning rate.")
    weight_decay: float = Field(default=0.01, ge=0.0, le=1.0, description="AdamW; not on biases and norms.")
    warmup_ratio: float = Field(
        default=0.1, ge=0.0, le=1.0, description="Share of all steps with rising rate; then linear decay to 0."
    )
    batch_size: int = Field(default=4, ge=1, le=4096, description="Examples of one forward pass.")
    accumulate: int = Field(default=4, ge=1, le=1024, description="Forward passes of one optimiser step, a process.")
    epochs: int = Field(default=10, ge=1, le=1000, description="Most passes over the training set.")
    evaluate_every: int = Field(default=50, ge=1, description="Optimiser steps between evaluations; the last step too.")
    patience: int = Field(
        default=10, ge=1, description="Evaluations without a lower validation BCE before stopping. Not in the paper."
    )
    soft_labels: bool = Field(
        default=False,
        description="Learn the teachers' mean probability (their confidence, or one minus it) where there are votes.",
    )
    corpus_weights: dict[str, Annotated[float, Field(ge=0.0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="Corpus to the weight of its examples in the loss; 1 when not named."
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
