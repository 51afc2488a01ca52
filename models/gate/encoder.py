"""The gate's network: an encoder, pooling, and one logit (SLICE-Mem equation 1).

p = sigmoid(w . Enc(z) + b)        Enc(z): pooled representation, B x D;  w: D;  b: scalar
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PretrainedConfig
from transformers.utils import logging as transformers_logging

from engrain.models.gate.config import GateModelConfig, Pooling
from engrain.models.weights import resolve
from engrain.runtime.errors import InputError
from engrain.runtime.gate_input import MARKERS, TARGET_MARKER, prepare_tokenizer


class GateNetwork(nn.Module):
    """Encoder and classification head. `target_marker` is the id of the marker that the target follows."""

    def __init__(self, encoder: nn.Module, hidden_size: int, pooling: Pooling, target_marker: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling, self.target_marker = pooling, target_marker
        self.head = nn.Linear(hidden_size, 1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Logits, B, for ids and mask of shape B x T (mask: 1 for a real token, 0 for padding)."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask
        if self.pooling == "target":
            mask = mask * from_marker(input_ids, self.target_marker)
        pooled = states[:, 0] if self.pooling == "cls" else mean_pool(states, mask)
        logits: Tensor = self.head(pooled).squeeze(-1)
        return logits


def mean_pool(states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the states (B x T x D) over the tokens that the mask (B x T) keeps: B x D."""
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)


def from_marker(input_ids: Tensor, marker: int) -> Tensor:
    """B x T: 1 from the marker on, 0 before it. The marker stands once in a packed input, before the target."""
    return ((input_ids == marker).long().cumsum(dim=1) > 0).long()


def load_tokenizer(base: str) -> Tokenizer:
    """The base model's tokenizer, markers added, ready for `pack`."""
    source = resolve(base)
    if isinstance(source, str):
        return prepare_tokenizer(Tokenizer.from_pretrained(source))
    path = source / "tokenizer.json"
    if not path.is_file():
        raise InputError(f"{path} is missing; the gate needs a base with a fast tokenizer (tokenizer.json)")
    return prepare_tokenizer(Tokenizer.from_file(str(path)))


def pretrained_network(config: GateModelConfig, tokenizer: Tokenizer) -> GateNetwork:
    """The network with the base's weights, embeddings for the markers, and a fresh head.

    The head and the markers' embeddings are drawn from torch's generator: seed it first. Raises `InputError` for an
    encoder without a pad token or with fewer positions than `max_length`.
    """
    source = resolve(config.base)
    settings = AutoConfig.from_pretrained(source)
    _check_encoder(settings, config)
    _set_dropout(settings, config.dropout)
    with quiet_loading():
        encoder = AutoModel.from_pretrained(
            source, config=settings, attn_implementation=config.attention, dtype=torch.float32
        )
    _add_markers(encoder, tokenizer)
    return _assemble(encoder, config, tokenizer)


@contextmanager
def quiet_loading() -> Iterator[None]:
    """No bar of transformers' own while weights load, unless a person is watching a terminal."""
    hide = not sys.stderr.isatty() and transformers_logging.is_progress_bar_enabled()
    if hide:
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if hide:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def empty_network(config: GateModelConfig, encoder_settings: dict[str, Any], tokenizer: Tokenizer) -> GateNetwork:
    """The network's shape without trained weights, from the encoder settings that a checkpoint or bundle holds."""
    values = dict(encoder_settings)
    settings = AutoConfig.for_model(values.pop("model_type"), **values)
    encoder = AutoModel.from_config(  # type: ignore[no-untyped-call]
        settings, attn_implementation=config.attention, dtype=torch.float32
    )
    return _assemble(encoder, config, tokenizer)


def encoder_settings(network: GateNetwork) -> dict[str, Any]:
    """The encoder's configuration as plain JSON values, with the vocabulary size after the markers were added."""
    settings: dict[str, Any] = network.encoder.config.to_dict()  # type: ignore[union-attr, operator]
    # Where the base lay on this machine is not part of the model.
    settings.pop("_name_or_path", None)
    return settings


def pad_id(network: GateNetwork) -> int:
    """The id that fills up batches; masked out, so its embedding never counts."""
    return int(network.encoder.config.pad_token_id)  # type: ignore[union-attr, arg-type]


def _assemble(encoder: Any, config: GateModelConfig, tokenizer: Tokenizer) -> GateNetwork:
    # BERT's pooler is not used here; left in, it would hold parameters that never get a gradient.
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    # transformers hands encoders over in evaluation mode, and Lightning trains in whatever mode it finds.
    marker = tokenizer.token_to_id(TARGET_MARKER)
    if marker is None:
        raise InputError("this tokenizer has not been prepared; call `prepare_tokenizer(tokenizer)` first")
    return GateNetwork(encoder, encoder.config.hidden_size, config.pooling, marker).train()


def _check_encoder(settings: PretrainedConfig, config: GateModelConfig) -> None:
    if getattr(settings, "pad_token_id", None) is None:
        raise InputError(
            f"{config.base} has no pad token, so its inputs cannot be batched; "
            "set pad_token_id in its config.json, or choose an encoder that has one"
        )
    positions = getattr(settings, "max_position_embeddings", None)
    if positions is not None and config.max_length > positions:
        raise InputError(f"max_length is {config.max_length}, but {config.base} has {positions} positions; lower it")


def _set_dropout(settings: PretrainedConfig, rate: float | None) -> None:
    """Set every dropout rate that this architecture knows, whatever it calls them."""
    if rate is None:
        return
    for name, value in settings.to_dict().items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and "dropout" in name:
            setattr(settings, name, rate)


def _add_markers(encoder: Any, tokenizer: Tokenizer) -> None:
    """Give each marker an embedding: the mean of all embeddings plus noise, which keeps the two apart."""
    old = encoder.get_input_embeddings().weight.detach()
    mean, rows = old.mean(dim=0), old.shape[0]
    size = max(rows, tokenizer.get_vocab_size(with_added_tokens=True))
    if size > rows:
        encoder.resize_token_embeddings(size, mean_resizing=False)
    weight = encoder.get_input_embeddings().weight
    spread = getattr(encoder.config, "initializer_range", 0.02)
    with torch.no_grad():
        for marker in MARKERS:
            weight[tokenizer.token_to_id(marker)] = mean + spread * torch.randn_like(mean)
