"""How much of the evidence a ranking holds: recall, precision and nDCG at k. Needs no LLM."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2


def credited(ranking: Sequence[Collection[str]], evidence: Collection[str]) -> list[set[str]]:
    """The evidence that each place of a ranking adds: a unit found twice counts at its first place only."""
    wanted, gained = set(evidence), []
    for units in ranking:
        new = wanted & set(units)
        wanted -= new
        gained.append(new)
    return gained


def recall_at(ranking: Sequence[Collection[str]], evidence: Collection[str], k: int) -> float:
    """Share of the evidence units in the first `k` places; `ranking` holds the units of each place."""
    wanted = set(evidence)
    return sum(len(new) for new in credited(ranking[:k], wanted)) / len(wanted)


def precision_at(ranking: Sequence[Collection[str]], evidence: Collection[str], k: int) -> float:
    """Share of the first `k` places that hold any evidence; places that are not filled count as misses."""
    wanted = set(evidence)
    return sum(bool(wanted & set(units)) for units in ranking[:k]) / k


def ndcg_at(ranking: Sequence[Collection[str]], evidence: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain: a place gains one when it adds evidence that no earlier place holds."""
    wanted = set(evidence)
    gain = sum(1 / log2(place + 2) for place, new in enumerate(credited(ranking[:k], wanted)) if new)
    ideal = sum(1 / log2(place + 2) for place in range(min(k, len(wanted))))
    return min(1.0, gain / ideal)


def distinct(ranking: Sequence[str], k: int) -> list[str]:
    """The first `k` different units of a ranking, in order."""
    return list(dict.fromkeys(ranking))[:k]
