"""From what each route found to one order, in one of three ways.

- `weighted`: the weighted sum of scores on fixed scales (see `ranking`), over every candidate of any route.
- `reciprocal`: reciprocal rank fusion, score(d) = sum over routes r of weight(r) / (k + rank_r(d)), ranks from 1
  (Cormack, Clarke and Buettcher 2009). Ranks need no scale.
- `ordered`: DimMem's section 3.3, the routes' candidates one route after the other, no scores joined. A later candidate
  with the same content as an earlier one is dropped.

A candidate of any one route takes part in all three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import numpy as np

Fused = list[tuple[int, float]]
"""Slots with their fused score, best first."""


class Fusion(StrEnum):
    """How routes are joined."""

    WEIGHTED = "weighted"
    RECIPROCAL = "reciprocal"
    ORDERED = "ordered"


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[int]], weights: Mapping[str, float], k: float
) -> list[tuple[int, float]]:
    """Slots with their fused score, best first; equal scores by slot."""
    fused: dict[int, float] = {}
    for route, ranking in rankings.items():
        for rank, slot in enumerate(ranking, start=1):
            fused[slot] = fused.get(slot, 0.0) + weights[route] / (k + rank)
    return sorted(fused.items(), key=lambda pair: (-pair[1], pair[0]))


def weighted_sum(scores: Mapping[str, Sequence[float]], weights: Mapping[str, float], slots: Sequence[int]) -> Fused:
    """`slots` by the weighted sum of their scores, one sequence a component beside `slots`; equal sums by slot."""
    totals = np.zeros(len(slots))
    for name, values in scores.items():
        totals += weights[name] * np.asarray(values, np.float64)
    order = np.lexsort((np.asarray(slots), -totals))
    return list(zip(np.asarray(slots)[order].tolist(), totals[order].tolist(), strict=True))


def ordered_concatenation(
    rankings: Mapping[str, Sequence[int]], order: Sequence[str], content: Callable[[int], str]
) -> Fused:
    """One route after the other in `order`; the score is 1 / place, which says the order and nothing more.

    `content` gives the text of a slot. Texts that differ in case or spaces only are one (DimMem's normalised content).
    """
    seen: set[str] = set()
    taken: dict[int, None] = {}
    for route in order:
        for slot in rankings.get(route, ()):
            text = normalised(content(slot))
            if slot not in taken and text not in seen:
                seen.add(text)
                taken[slot] = None
    return [(slot, 1.0 / place) for place, slot in enumerate(taken, start=1)]


def normalised(text: str) -> str:
    """A text without regard to case and spacing."""
    return " ".join(text.casefold().split())
