"""The tiny base with LoRA, as the tests of training need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from engrain.models.extractor.base import load_model, load_tokenizer, locate_base
from engrain.models.extractor.config import ExtractorConfig, LoraSettings
from engrain.models.extractor.module import ExtractorModule, add_lora


@pytest.fixture(name="build_module")
def module_builder() -> Callable[..., ExtractorModule]:
    """Builds a module over a config's base, LoRA without dropout."""
    return build_module


def build_module(config: ExtractorConfig, **lora: Any) -> ExtractorModule:
    """The tiny base with LoRA without dropout, B filled so that the adapter has an effect."""
    base = locate_base(config.model.base)
    settings = LoraSettings.model_validate({"rank": 4, "alpha": 8, "dropout": 0.0, **lora})
    torch.manual_seed(1)
    model = add_lora(load_model(base, load_tokenizer(base), attention=config.model.attention), settings)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.2)
    return ExtractorModule(model, config)
