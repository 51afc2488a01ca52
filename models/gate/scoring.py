"""A trained gate from its checkpoint, and its scores for any examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from engrain.models.gate.config import GateConfig
from engrain.models.gate.data import evaluation_loader, pack_examples
from engrain.models.gate.encoder import empty_network, pad_id
from engrain.models.gate.module import CHECKPOINT_KEY, GateModule
from engrain.models.gate.tuning import add_low_rank, merge_low_rank
from engrain.runtime.errors import InputError
from engrain.runtime.gate_input import TEMPLATE_HASH, prepare_tokenizer
from engrain.runtime.schema import GateExample


def load_module(checkpoint: Path) -> GateModule:
    """Rebuild the module from a checkpoint alone; no base weights are needed and nothing is unpickled.

    Raises `InputError` for a missing or foreign file, or one made with another input template.
    """
    try:
        content = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
        saved = content[CHECKPOINT_KEY]
    except Exception as error:
        raise InputError(f"{checkpoint} is not a gate checkpoint ({error}); give best.ckpt of a run") from error
    if saved["facts"].get("template_hash") != TEMPLATE_HASH:
        raise InputError(f"{checkpoint} was trained with another input template; train the gate again")
    config = GateConfig.model_validate(saved["config"])
    network = empty_network(config.model, saved["encoder"], prepare_tokenizer(Tokenizer.from_str(saved["tokenizer"])))
    if config.training.tune == "lora":
        add_low_rank(network.encoder, config.training.lora)
    module = GateModule(
        network,
        config,
        tokenizer_json=saved["tokenizer"],
        w_plus=saved["w_plus"],
        facts=saved["facts"],
    )
    module.load_state_dict(content["state_dict"])
    merge_low_rank(module.network)
    return module.eval()


def score_examples(
    source: Path | GateModule, examples: Sequence[GateExample], *, batch_size: int | None = None
) -> NDArray[np.float64]:
    """Admission probabilities, N, in the order of the examples, from a checkpoint or a loaded module."""
    if not examples:
        return np.zeros(0)
    module = source if isinstance(source, GateModule) else load_module(source)
    tokenizer = prepare_tokenizer(Tokenizer.from_str(module.tokenizer_json))
    packed = pack_examples(tokenizer, examples, module.config)
    size = batch_size or module.config.training.eval_batch_size
    was_training = module.training
    module.eval()
    scores = np.zeros(len(examples))
    with torch.inference_mode():
        for batch in evaluation_loader(packed, pad_id(module.network), size):
            logits = module(batch["input_ids"].to(module.device), batch["attention_mask"].to(module.device))
            scores[batch["rows"].numpy()] = torch.sigmoid(logits.double()).cpu().numpy()
    module.train(was_training)
    return scores
