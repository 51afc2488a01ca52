"""Settings of the extractor: base model, windows, LoRA, optimisation, decoding.

DimMem tunes Qwen3-4B (section 3.5) on windows of 15/3 or 25/5 messages (3.2) and decodes greedily with at most 16,384
tokens. It did not publish its training hyper-parameters: those defaults are common practice for LoRA, not the paper's.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from engrain.models.training.settings import Strategy
from engrain.runtime.schema import Contract, WindowStyle

DType = Literal["float32", "bfloat16"]
Keep = Literal["best", "records", "last"]


class ExtractorModelConfig(Contract):
    """The base model and how it is asked."""

    base: str = Field(default="Qwen/Qwen3-4B", description="Causal LM: hub name, folder, or package:<distribution>.")
    prompt: str = Field(default="full", description="Extraction prompt: full, or compact for small tuned models.")
    keep_words: float = Field(
        default=1.0,
        gt=0.0,
        le=1.0,
        description="Share of a message's words that prompt compression leaves; the paper's option has 0.8.",
    )
    thinking: bool = Field(default=False, description="Let a template that knows thinking use it (the paper: off).")
    max_length: int = Field(
        default=4096, ge=64, le=131_072, description="Tokens of prompt and answer; longer examples are left out."
    )
    attention: Literal["sdpa", "eager"] = Field(default="sdpa", description="Attention implementation.")
    dtype: DType = Field(default="float32", description="Type of the frozen base weights; LoRA's are float32.")
    quantize: Literal["none", "nf4", "int8"] = Field(
        default="none", description="Base weights while training: nf4 is QLoRA; a merge always takes full precision."
    )
    gradient_checkpointing: bool = Field(
        default=False, description="Recompute activations backwards: less memory, about a third more time."
    )


class ExtractorWindowConfig(Contract):
    """How dialogues are cut for this extractor, in training and at run time (DimMem section 3.2)."""

    style: WindowStyle = Field(
        default=WindowStyle.LONGMEMEVAL, description="longmemeval: user messages only; locomo: every speaker."
    )
    size: int = Field(default=15, ge=1, le=500, description="Messages of a window.")
    overlap: int = Field(default=3, ge=0, le=499, description="First messages of a window that are context only.")

    @model_validator(mode="after")
    def _overlap_below_size(self) -> Self:
        if self.overlap >= self.size:
            raise ValueError(f"overlap {self.overlap} must be below size {self.size}")
        return self


class LoraSettings(Contract):
    """Low-rank adaptation: W x + (alpha / rank) B A x, with W frozen."""

    rank: int = Field(default=16, ge=1, le=1024, description="Rank r of B A.")
    alpha: int = Field(default=32, ge=1, le=4096, description="Scale: alpha / r, or alpha / sqrt(r) with rslora.")
    dropout: float = Field(default=0.05, ge=0.0, lt=1.0, description="Dropout on the input of A.")
    targets: Literal["all-linear"] | tuple[str, ...] = Field(
        default="all-linear", description="Names of the adapted linear layers; all-linear is every one but the head."
    )
    layers: int | None = Field(
        default=None, ge=1, description="Adapt only this many blocks, those nearest the output; empty is all."
    )
    rslora: bool = Field(default=False, description="Rank-stabilised scale.")
    dora: bool = Field(default=False, description="Weight-decomposed LoRA: direction and magnitude apart.")


class TrainingPhase(Contract):
    """A part of the training, in passes over some of the examples."""

    teachers: tuple[str, ...] = Field(default=(), description="Only examples by these teachers; empty is everybody's.")
    epochs: int = Field(default=1, ge=1, le=1000, description="Passes over them.")


class ExtractorTrainingConfig(Contract):
    """The optimisation."""

    learning_rate: float = Field(default=2e-4, gt=0.0, le=1.0, description="AdamW's peak learning rate.")
    weight_decay: float = Field(default=0.0, ge=0.0, le=1.0, description="AdamW.")
    warmup_ratio: float = Field(default=0.03, ge=0.0, le=1.0, description="Share of all steps with rising rate.")
    schedule: Literal["linear", "cosine"] = Field(default="linear", description="Decay to zero after the warm-up.")
    batch_size: int = Field(default=1, ge=1, le=4096, description="Examples of one forward pass.")
    accumulate: int = Field(default=8, ge=1, le=1024, description="Forward passes of one optimiser step.")
    epochs: int = Field(default=3, ge=1, le=1000, description="Passes over the training set.")
    phases: tuple[TrainingPhase, ...] = Field(
        default=(), description="In place of epochs: phases in order, such as weak records first, then a teacher's."
    )
    max_empty_share: float = Field(
        default=1.0, ge=0.0, le=1.0, description="Largest share of windows without records; more are left out."
    )
    max_validation: int | None = Field(
        default=None, ge=1, description="Most windows of the validation loss, evenly spread; empty is all."
    )
    max_steps: int | None = Field(default=None, ge=1, description="Most optimiser steps; empty is all of the epochs.")
    keep: Keep = Field(
        default="best",
        description="Weights of the adapter: of the lowest validation loss, of the best record F1 on the samples, or "
        "the last ones, where few windows validate.",
    )
    samples: int = Field(
        default=0, ge=0, description="Validation windows that are answered after each evaluation, in samples.jsonl."
    )
    sample_tokens: int = Field(default=512, ge=1, le=131_072, description="Most tokens of such an answer.")
    fused_loss: bool = Field(
        default=False,
        description="Head and loss in one, in chunks: the logits are never whole. Saves memory with long answers.",
    )
    evaluate_every: int = Field(default=50, ge=1, description="Optimiser steps between evaluations; the last step too.")
    gradient_clip: float = Field(default=1.0, ge=0.0, description="Largest gradient norm; 0 is off.")
    bucket_steps: int = Field(default=8, ge=1, description="Steps whose examples are sorted by length together.")
    pack: bool = Field(
        default=False, description="Several examples a row, each blind to the others: hardly any padding."
    )
    pack_length: int | None = Field(
        default=None, ge=64, le=131_072, description="Tokens of a packed row; empty is the longest example."
    )
    share_prompt: bool = Field(
        default=True, description="Packed rows hold the beginning that all prompts share (the system message) once."
    )
    eval_batch_size: int = Field(default=4, ge=1, le=4096, description="Examples of one evaluation pass.")
    precision: Literal["32-true", "bf16-mixed"] = Field(default="32-true", description="Lightning precision.")
    accelerator: Literal["auto", "cpu", "gpu"] = Field(default="auto", description="Lightning accelerator.")
    strategy: Strategy = Field(
        default="single",
        description="single; or ddp, fsdp (fully_shard), zero2, zero3 over the processes that torchrun starts.",
    )

    @model_validator(mode="after")
    def _whole_weights_where_needed(self) -> Self:
        if self.keep == "records" and not self.samples:
            raise ValueError("keep=records scores the samples; set samples to a number of validation windows")
        if self.strategy in ("fsdp", "zero3") and (self.samples or self.fused_loss):
            raise ValueError(f"samples and fused_loss need whole weights, which {self.strategy} divides; set them off")
        return self


class ExtractorDecodingConfig(Contract):
    """How answers are generated; greedy, as temperature 0 in the paper."""

    max_new_tokens: int = Field(default=16_384, ge=1, le=131_072, description="Most tokens of one answer.")
    batch_size: int = Field(default=8, ge=1, le=1024, description="Windows that are generated together.")
    dtype: DType = Field(default="float32", description="Type of the weights while generating.")
    constrain: bool = Field(
        default=True, description="Only tokens that a valid answer can go on with; off where the model thinks first."
    )


class RefineSettings(Contract):
    """The second stage on trl; beyond the paper."""

    method: Literal["grpo", "dpo"] = Field(default="grpo", description="Raise rewards, or prefer the better answer.")
    steps: int = Field(default=200, ge=1, description="Optimiser steps.")
    learning_rate: float = Field(default=1e-5, gt=0.0, le=1.0, description="Peak learning rate.")
    beta: float = Field(default=0.04, ge=0.0, description="Weight of staying near the first stage (KL; DPO's beta).")
    generations: int = Field(default=8, ge=2, description="Answers of one window that are compared.")
    temperature: float = Field(default=1.0, gt=0.0, le=5.0, description="Of the answers that are sampled.")
    max_new_tokens: int = Field(default=1024, ge=1, description="Most tokens of a sampled answer.")
    batch_size: int = Field(default=1, ge=1, description="Pairs of one forward pass; DPO only.")
    accumulate: int = Field(default=1, ge=1, description="Forward passes of one optimiser step.")
    margin: float = Field(default=0.1, ge=0.0, le=1.0, description="Least difference in reward of a pair; DPO only.")
    weights: dict[str, float] = Field(
        default={
            "valid_json": 1.0,
            "schema": 1.0,
            "grounded": 1.0,
            "evidence": 0.5,
            "no_duplicates": 0.5,
            "coverage": 3.0,
            "brevity": 0.5,
        },
        description="Weight of each reward.",
    )

    @model_validator(mode="after")
    def _weights_are_known(self) -> Self:
        known = {"valid_json", "schema", "grounded", "evidence", "no_duplicates", "coverage", "brevity"}
        unknown = sorted(set(self.weights) - known)
        if unknown or not any(weight > 0 for weight in self.weights.values()):
            raise ValueError(
                f"weights: {', '.join(unknown) or 'all are 0'}; the rewards are {', '.join(sorted(known))}"
            )
        return self


class ExtractorConfig(Contract):
    """A whole extractor run but for its data and seed."""

    model: ExtractorModelConfig = Field(default_factory=ExtractorModelConfig, description="Base model and prompt.")
    window: ExtractorWindowConfig = Field(default_factory=ExtractorWindowConfig, description="Cutting of dialogues.")
    lora: LoraSettings = Field(default_factory=LoraSettings, description="Low-rank adaptation.")
    training: ExtractorTrainingConfig = Field(default_factory=ExtractorTrainingConfig, description="Optimisation.")
    decoding: ExtractorDecodingConfig = Field(default_factory=ExtractorDecodingConfig, description="Generation.")
