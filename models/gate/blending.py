"""Weights between those that a gate started from and those that further training left. Not in the paper.

Training on other corpora costs a gate some of what it knew. As both weights lie in one valley, a straight line between
them keeps most of what was learned and gives back most of what was lost (Wortsman et al. 2022, "Robust fine-tuning of
zero-shot models"): w = (1 - share) * trained + share * start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from engrain.models.gate.module import CHECKPOINT_KEY
from engrain.models.gate.scoring import load_module
from engrain.runtime.errors import InputError


def blend_checkpoints(start: Path, trained: Path, out: Path, share: float) -> Path:
    """Write the checkpoint `out` with `share` (0 to 1) of `start`'s weights and the rest of `trained`'s.

    Settings, tokenizer and facts are those of `trained`, with the share among the facts. Raises `InputError` when the
    two are not of one shape.
    """
    if not 0.0 <= share <= 1.0:
        raise InputError(f"share is {share}; it says how much of the start is kept, between 0 and 1")
    first, second = (load_module(path) for path in (start, trained))
    left, right = first.state_dict(), second.state_dict()
    different = [name for name in left.keys() | right.keys() if name not in left or name not in right]
    different += [name for name in left.keys() & right.keys() if left[name].shape != right[name].shape]
    if different or first.tokenizer_json != second.tokenizer_json:
        raise InputError(f"{start} and {trained} are not gates of one shape; blend a gate with the one it started from")
    checkpoint: dict[str, Any] = {"state_dict": {name: torch.lerp(right[name], left[name], share) for name in right}}
    # Low-rank layers are merged by now, so the blend is a gate that trained everything.
    second.config = second.config.model_copy(
        update={"training": second.config.training.model_copy(update={"tune": "all"})}
    )
    second.facts = {**second.facts, "blended_with_start": share}
    second.on_save_checkpoint(checkpoint)
    assert CHECKPOINT_KEY in checkpoint
    out.parent.mkdir(parents=True, exist_ok=True)
    torch.save(checkpoint, out)
    return out
