"""The context that a reader gets: entries in ranked order until the budget is full, then told in order of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engrain.recipes.benchmarks.systems.system import Found
from engrain.runtime.llm.pricing import text_tokens


@dataclass(frozen=True)
class Packed:
    """What fits. `entries` are in ranked order; `left_out` counts those that did not fit."""

    entries: tuple[Found, ...]
    words: int
    left_out: int

    @property
    def text(self) -> str:
        """Lines in order of time, each with its date."""
        ordered = sorted(self.entries, key=lambda entry: entry.at)
        return "\n".join(f"[{entry.at}] {entry.text}" for entry in ordered)


def pack_words(ranking: Sequence[Found], budget: int) -> Packed:
    """At most `budget` words of entry text: the equal ground on which systems are compared without a reader."""
    return _pack(ranking, budget, lambda entry: len(entry.text.split()))


def pack_tokens(ranking: Sequence[Found], budget: int) -> Packed:
    """At most about `budget` tokens, by the upper estimate that budgets use everywhere (SLICE-Mem: 30,720)."""
    return _pack(ranking, budget, lambda entry: text_tokens(f"[{entry.at}] {entry.text}\n"))


def _pack(ranking: Sequence[Found], budget: int, size: Callable[[Found], int]) -> Packed:
    entries: list[Found] = []
    used = 0
    for entry in ranking:
        if used + size(entry) > budget:
            break
        used += size(entry)
        entries.append(entry)
    words = sum(len(entry.text.split()) for entry in entries)
    return Packed(tuple(entries), words, len(ranking) - len(entries))
