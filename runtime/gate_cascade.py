"""A cheap first stage before a gate's encoder: word counts reject the obvious, microseconds a turn. Not in the paper.

    z = b + sum over distinct words and pairs of neighbours f of w[hash(f)]        reject when z < cut
    the turn's logit: the encoder's + share * z

It looks at the target alone. `engrain.models.gate.cascade` fits w and b, and sets the cut so that next to no positive
of the validation rows is rejected. Rejecting is a choice when a bundle is opened; the share, 0 unless a recipe gives
one, is a part of the gate: words can be learned from many more turns than an encoder has time to read.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.errors import BundleError

FIRST_STAGE_FILE = "first_stage.npy"
BUCKETS = 1 << 14
_WORD = re.compile(r"\w+(?:['’]\w+)*|[?!]|[^\x00-\x7f]")


@dataclass(frozen=True)
class FirstStage:
    """Weights of BUCKETS hashed features (float32), a bias, the logit below which a turn is rejected, and how much of
    the logit is added to the encoder's."""

    weights: NDArray[np.float32]
    bias: float
    cut: float
    share: float = 0.0

    @classmethod
    def load(cls, path: Path) -> FirstStage:
        """Read what `save` wrote. Raises `BundleError` for anything else."""
        try:
            values = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise BundleError(f"{path} cannot be read ({error}); export the gate again") from error
        if values.shape != (BUCKETS + 3,) or values.dtype != np.float32:
            raise BundleError(f"{path} holds {values.dtype} {values.shape}, not {BUCKETS + 3} float32; export it again")
        return cls(values[3:], *(float(value) for value in values[:3]))

    def save(self, path: Path) -> None:
        """One array: bias, cut, share, weights."""
        head = [self.bias, self.cut, self.share]
        np.save(path, np.concatenate([head, self.weights]).astype(np.float32), allow_pickle=False)

    def logit(self, text: str) -> float:
        """The first stage's own score of a target."""
        return self.bias + float(self.weights[features(text)].sum())

    def add(self, logits: NDArray[np.float64], texts: Sequence[str]) -> NDArray[np.float64]:
        """The encoder's logits of N targets, with this stage's share."""
        if not self.share:
            return logits
        return logits + self.share * np.array([self.logit(text) for text in texts])

    def passes(self, text: str) -> bool:
        """Whether the encoder shall look at this target."""
        return self.logit(text) >= self.cut


def features(text: str) -> NDArray[np.int64]:
    """Distinct hashed features of a text: lower-case words, pairs of neighbours, and its length in classes."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    names = {*words, *(f"{left} {right}" for left, right in pairwise(words))}
    names.add(f"#{min(len(words).bit_length(), 8)}")
    return np.array(sorted({zlib.crc32(name.encode("utf-8", "replace")) % BUCKETS for name in names}), dtype=np.int64)
