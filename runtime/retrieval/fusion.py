"""From scores by route to one order: the best of each route, then weighted reciprocal rank fusion.

score(d) = sum over routes r of weight(r) / (k + rank_r(d)), ranks from 1, a document absent from a route adding
nothing (Cormack, Clarke and Buettcher 2009). Ranks need no calibration between BM25 and cosine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[int]], weights: Mapping[str, float], k: float
) -> list[tuple[int, float]]:
    """Slots with their fused score, best first; equal scores by slot."""
    fused: dict[int, float] = {}
    for route, ranking in rankings.items():
        for rank, slot in enumerate(ranking, start=1):
            fused[slot] = fused.get(slot, 0.0) + weights[route] / (k + rank)
    return sorted(fused.items(), key=lambda pair: (-pair[1], pair[0]))
