"""What of a gate is trained, and how fast: everything, the head alone, low-rank layers, rates that fall with depth."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from engrain.models.gate.config import GateLora, GateTrainingConfig
from engrain.runtime.errors import InputError

# The attention's linear layers under the names that encoders give them: BERT's and ModernBERT's.
_LORA_TARGETS = ("query", "key", "value", "Wqkv")
_LAYER = re.compile(r"\blayers?\.(\d+)\.")


class LowRank(nn.Module):
    """y = W x + (alpha / rank) B A x, W frozen. A: rank x in, random; B: out x rank, zero at the start."""

    def __init__(self, frozen: nn.Linear, settings: GateLora) -> None:
        super().__init__()
        self.frozen = frozen
        self.scale = settings.alpha / settings.rank
        self.dropout = nn.Dropout(settings.dropout)
        self.down = nn.Parameter(torch.empty(settings.rank, frozen.in_features))
        self.up = nn.Parameter(torch.zeros(frozen.out_features, settings.rank))
        nn.init.kaiming_uniform_(self.down, a=5**0.5)

    def forward(self, states: Tensor) -> Tensor:
        """B x T x in to B x T x out."""
        added = nn.functional.linear(nn.functional.linear(self.dropout(states), self.down), self.up)
        result: Tensor = self.frozen(states) + self.scale * added
        return result

    def merged(self) -> nn.Linear:
        """One linear layer that computes the same."""
        with torch.no_grad():
            self.frozen.weight += self.scale * (self.up @ self.down)
        return self.frozen


def prepare_tuning(network: Any, training: GateTrainingConfig) -> None:
    """Freeze what is not trained, and add what `tune` asks for. The head is always trained."""
    if training.gradient_checkpointing:
        network.encoder.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if training.frozen_layers:
        freeze_below(network.encoder, training.frozen_layers)
    if training.tune == "all":
        return
    network.encoder.requires_grad_(False)
    if training.tune == "lora":
        add_low_rank(network.encoder, training.lora)


def freeze_below(encoder: nn.Module, layers: int) -> None:
    """Freeze the embeddings and the first `layers` layers. Raises `InputError` when there are not more than that."""
    depth = _depth(name for name, _ in encoder.named_parameters())
    if layers >= depth:
        raise InputError(f"training.frozen_layers is {layers}, but the encoder has {depth} layers; freeze fewer")
    for name, weight in encoder.named_parameters():
        match = _LAYER.search(name)
        if int(match[1]) < layers if match else "embed" in name:
            weight.requires_grad_(False)


def add_low_rank(encoder: nn.Module, settings: GateLora) -> int:
    """Put a `LowRank` in the place of every attention projection; returns how many.

    Raises `InputError` when the encoder names its layers otherwise.
    """
    places = [
        (parent, name)
        for parent in encoder.modules()
        for name, child in parent.named_children()
        if name in _LORA_TARGETS and isinstance(child, nn.Linear)
    ]
    if not places:
        raise InputError(f"training.tune=lora: this encoder has no layers named {', '.join(_LORA_TARGETS)}; use all")
    for parent, name in places:
        setattr(parent, name, LowRank(getattr(parent, name), settings))
    return len(places)


def merge_low_rank(network: nn.Module) -> int:
    """Merge every `LowRank` into its frozen layer, in place; returns how many. The network then has its plain shape."""
    places = [
        (parent, name, child)
        for parent in network.modules()
        for name, child in parent.named_children()
        if isinstance(child, LowRank)
    ]
    for parent, name, child in places:
        setattr(parent, name, child.merged())
    return len(places)


def parameter_groups(network: nn.Module, training: GateTrainingConfig) -> list[dict[str, Any]]:
    """Optimiser groups: decayed weights, then biases and norm gains, which are not decayed, as is usual.

    With `layer_decay` d below 1, layer l of L has the rate d^(L - l) of the head's, the embeddings d^(L + 1).
    """
    trained = [(name, weight) for name, weight in network.named_parameters() if weight.requires_grad]
    depth = _depth(name for name, _ in trained)
    groups: dict[tuple[float, bool], list[Tensor]] = {}
    for name, weight in trained:
        rate = training.layer_decay ** _steps_below_head(name, depth)
        groups.setdefault((rate, weight.ndim > 1), []).append(weight)
    return [
        {
            "params": weights,
            "weight_decay": training.weight_decay if decayed else 0.0,
            "lr": training.learning_rate * rate,
        }
        for (rate, decayed), weights in sorted(groups.items(), key=lambda item: (-item[0][0], not item[0][1]))
    ]


def _depth(names: Iterable[str]) -> int:
    return 1 + max((int(match[1]) for name in names if (match := _LAYER.search(name))), default=-1)


def _steps_below_head(name: str, depth: int) -> int:
    if name.startswith("head."):
        return 0
    match = _LAYER.search(name)
    if match:
        return depth - int(match[1])
    return depth + 1 if "embed" in name else 1
