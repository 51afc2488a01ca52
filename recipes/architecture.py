"""Sizes of a transformer from its config values alone: parameters, LoRA parameters, training memory.

The architectures that the papers use ship as config values under `configs/architectures/`, so `engrain plan` works
offline and without torch. Counts are exact: a test compares them with the real classes built on the meta device.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from engrain.runtime.errors import RecipeError


@dataclass(frozen=True)
class Weight:
    """One kind of weight matrix or vector: its name in the model, its shape, how many layers hold it."""

    name: str
    shape: tuple[int, ...]
    copies: int

    @property
    def count(self) -> int:
        """Parameters in all copies together."""
        size = 1
        for length in self.shape:
            size *= length
        return size * self.copies


@dataclass(frozen=True)
class Architecture:
    """A model's config values and the weights that follow from them."""

    name: str
    config: dict[str, Any]
    weights: tuple[Weight, ...]

    @property
    def parameters(self) -> int:
        """Parameters of the base model, tied weights once."""
        return sum(weight.count for weight in self.weights)

    @property
    def layers(self) -> int:
        """Transformer blocks."""
        return int(self.config["num_hidden_layers"])

    @property
    def hidden(self) -> int:
        """Width of the residual stream."""
        return int(self.config["hidden_size"])

    @property
    def vocabulary(self) -> int:
        """Rows of the token embedding."""
        return int(self.config["vocab_size"])

    def linear_targets(self) -> tuple[str, ...]:
        """Names of the linear layers inside the blocks, in the model's order."""
        return tuple(weight.name for weight in self.weights if len(weight.shape) == 2 and weight.copies == self.layers)

    def lora_parameters(self, rank: int, targets: tuple[str, ...]) -> int:
        """Parameters of LoRA adapters: r x (in + out) a matrix (Hu et al. 2022, section 4.1)."""
        chosen = self.linear_targets() if targets == ("all-linear",) else targets
        unknown = sorted(set(chosen) - set(self.linear_targets()))
        if unknown:
            allowed = ", ".join(self.linear_targets())
            raise RecipeError(f"LoRA targets {unknown} are not linear layers of {self.name}; allowed: {allowed}")
        return sum(rank * sum(weight.shape) * weight.copies for weight in self.weights if weight.name in chosen)


def _decoder_weights(config: dict[str, Any], qk_norm: bool) -> Iterator[Weight]:
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    heads, key_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head = config.get("head_dim") or hidden // heads
    inner = config["intermediate_size"]
    yield Weight("embed_tokens", (config["vocab_size"], hidden), 1)
    yield Weight("q_proj", (heads * head, hidden), layers)
    yield Weight("k_proj", (key_heads * head, hidden), layers)
    yield Weight("v_proj", (key_heads * head, hidden), layers)
    yield Weight("o_proj", (hidden, heads * head), layers)
    yield Weight("gate_proj", (inner, hidden), layers)
    yield Weight("up_proj", (inner, hidden), layers)
    yield Weight("down_proj", (hidden, inner), layers)
    yield Weight("layer_norms", (hidden,), 2 * layers)
    yield Weight("final_norm", (hidden,), 1)
    if qk_norm:
        yield Weight("qk_norms", (head,), 2 * layers)
    if not config.get("tie_word_embeddings"):
        yield Weight("lm_head", (config["vocab_size"], hidden), 1)


def _modernbert_weights(config: dict[str, Any]) -> Iterator[Weight]:
    hidden, layers, inner = config["hidden_size"], config["num_hidden_layers"], config["intermediate_size"]
    yield Weight("tok_embeddings", (config["vocab_size"], hidden), 1)
    yield Weight("Wqkv", (3 * hidden, hidden), layers)
    yield Weight("attn_Wo", (hidden, hidden), layers)
    yield Weight("Wi", (2 * inner, hidden), layers)
    yield Weight("mlp_Wo", (hidden, inner), layers)
    # The first block has no attention norm; embeddings and output have one each; none has a bias.
    yield Weight("norms", (hidden,), 2 * layers - 1 + 2)


def _bert_weights(config: dict[str, Any]) -> Iterator[Weight]:
    hidden, layers, inner = config["hidden_size"], config["num_hidden_layers"], config["intermediate_size"]
    positions = config["max_position_embeddings"] + config["type_vocab_size"]
    yield Weight("word_embeddings", (config["vocab_size"], hidden), 1)
    yield Weight("position_embeddings", (positions, hidden), 1)
    for name in ("query", "key", "value", "attention.output.dense"):
        yield Weight(name, (hidden, hidden), layers)
    yield Weight("intermediate.dense", (inner, hidden), layers)
    yield Weight("output.dense", (hidden, inner), layers)
    # Biases and layer norms: 4 + 1 of the hidden width, one of the inner width, two norms with weight and bias.
    yield Weight("block_vectors", (5 * hidden + inner + 4 * hidden,), layers)
    yield Weight("embedding_norm", (2 * hidden,), 1)
    yield Weight("pooler", (hidden * hidden + hidden,), 1)


_FAMILIES = {
    "qwen3": lambda config: _decoder_weights(config, qk_norm=True),
    "llama": lambda config: _decoder_weights(config, qk_norm=False),
    "modernbert": _modernbert_weights,
    "bert": _bert_weights,
}


@cache
def shipped_architectures() -> dict[str, Architecture]:
    """Every shipped architecture, by each name that a recipe may use for it."""
    folder = resources.files("engrain.recipes") / "configs" / "architectures"
    found: dict[str, Architecture] = {}
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".json"):
            document = json.loads(entry.read_text(encoding="utf-8"))
            for name in document["names"]:
                found[name] = from_config(name, document["config"])
    return found


def from_config(name: str, config: dict[str, Any]) -> Architecture:
    """Build from config values as `config.json` holds them.

    Raises `RecipeError` when the model type is one whose weights are not described here.
    """
    family = _FAMILIES.get(config.get("model_type", ""))
    if family is None:
        known = ", ".join(sorted(_FAMILIES))
        raise RecipeError(f"{name}: model_type {config.get('model_type')!r} cannot be planned; known: {known}")
    return Architecture(name=name, config=config, weights=tuple(family(config)))


def find_architecture(base: str) -> Architecture | None:
    """The architecture of a recipe's base: shipped by name, or read from a local folder's `config.json`."""
    if base in shipped_architectures():
        return shipped_architectures()[base]
    config = Path(base) / "config.json"
    if config.is_file():
        return from_config(base, json.loads(config.read_text(encoding="utf-8")))
    return None
