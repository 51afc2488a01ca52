"""Running an extractor on labelled windows: the untuned base, a tuned adapter, or a bundle, through the same path.

All of them answer through the runtime's own generator and parser, so what is measured is what an agent gets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from engrain.models.extractor.base import load_model, load_tokenizer, locate_base
from engrain.models.extractor.config import ExtractorConfig
from engrain.models.weights import model_name
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.extractor import DimensionalExtractor
from engrain.runtime.extraction.local import LocalGenerator


def untuned_extractor(config: ExtractorConfig) -> DimensionalExtractor:
    """The base model as it is, asked as the tuned one is: the line that tuning has to be above."""
    base = locate_base(config.model.base)
    tokenizer = load_tokenizer(base)
    model = load_model(base, tokenizer, dtype=config.decoding.dtype, attention=config.model.attention)
    return _extractor(model, tokenizer, config, f"{model_name(config.model.base)} untuned")


def tuned_extractor(config: ExtractorConfig, adapter: Path) -> DimensionalExtractor:
    """The base model with a run's adapter merged in float32, before any export."""
    model, tokenizer = merge_adapter(config, adapter)
    model = model.to(getattr(torch, config.decoding.dtype))
    return _extractor(model, tokenizer, config, f"{model_name(config.model.base)} tuned")


def merge_adapter(config: ExtractorConfig, adapter: Path) -> tuple[Any, Any]:
    """The merged float32 model and its tokenizer. Raises `InputError` when there is no adapter."""
    model, tokenizer = load_adapter(config, adapter)
    return model.merge_and_unload(safe_merge=True), tokenizer


def load_adapter(config: ExtractorConfig, adapter: Path) -> tuple[Any, Any]:
    """The base model in float32 with the adapter on it, not merged, and the tokenizer."""
    from peft import PeftModel

    if not (adapter / "adapter_config.json").is_file():
        raise InputError(f"{adapter} holds no adapter; train an extractor first")
    base = locate_base(config.model.base)
    tokenizer = load_tokenizer(base)
    model = load_model(base, tokenizer, dtype="float32", attention=config.model.attention)
    return PeftModel.from_pretrained(model, adapter).eval(), tokenizer


def _extractor(model: Any, tokenizer: Any, config: ExtractorConfig, identity: str) -> DimensionalExtractor:
    device = "cuda" if config.training.accelerator != "cpu" and torch.cuda.is_available() else "cpu"
    decoding = config.decoding
    generator = LocalGenerator(
        model.to(device).eval(),
        tokenizer,
        max_new_tokens=decoding.max_new_tokens,
        batch_size=decoding.batch_size,
        thinking=config.model.thinking,
        constrain=decoding.constrain and not config.model.thinking,
    )
    window = config.window
    return DimensionalExtractor(
        generator,
        window.style,
        config.model.prompt,
        identity,
        size=window.size,
        overlap=window.overlap,
        keep=config.model.keep_words,
    )
