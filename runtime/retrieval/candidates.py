"""What a route finds: slots and their scores, best first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]
MaskArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Slots of one index and their scores, best first."""

    slots: IntArray
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.slots)


def best_of(slots: IntArray, scores: FloatArray, depth: int) -> Candidates:
    """The `depth` best of scored slots; equal scores by slot."""
    if len(slots) > depth:
        edge = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        kept = scores >= edge
        slots, scores = slots[kept], scores[kept]
    order = np.lexsort((slots, -scores))[:depth]
    return Candidates(slots[order].astype(np.int32), scores[order].astype(np.float32))
