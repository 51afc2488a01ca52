"""Whether two models are the same: their logits on a few texts that touch prompts, JSON and other scripts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engrain.runtime.errors import BundleError

_PROBES = (
    '[2026-02-02T09:54:41+00:00, Mon] 1.User: We moved to Porto in March.\n{"memories":[{"source_id":1,"content":"The',
    "用户喜欢绿茶。 ¿Dónde está la estación? 🙂 keywords, reason, purpose, 2026-05-11",
)


def probe_logits(model: Any, tokenizer: Any) -> list[Tensor]:
    """Logits of the probe texts, each 1 x T x V."""
    texts = [tokenizer.encode(text, add_special_tokens=False) for text in _PROBES]
    with torch.inference_mode():
        return [model(input_ids=torch.tensor([ids])).logits for ids in texts]


def require_close(found: list[Tensor], expected: list[Tensor], bound: float, what: str) -> None:
    """Raise `BundleError` when logits differ by more than `bound`, a share of the largest expected one (at least 1)."""
    scale = max(1.0, *(float(part.abs().max()) for part in expected))
    shapes = [(left.shape, right.shape) for left, right in zip(found, expected, strict=True)]
    if any(left != right for left, right in shapes):
        raise BundleError(f"{what} reads the same text as other tokens, or has another vocabulary: {shapes[0]}")
    difference = max(float((left - right).abs().max()) for left, right in zip(found, expected, strict=True)) / scale
    if not difference <= bound:
        raise BundleError(
            f"{what} differs from the adapter model by {difference:.2g} of its largest logit, more than {bound:.2g}; "
            "it is not to be trusted: check that the base model is the one that was tuned, in float32"
        )
