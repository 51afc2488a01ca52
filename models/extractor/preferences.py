"""Pairs for DPO: for each window, the better and the worse of several answers, ranked by the rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engrain.models.extractor.rewards import DEFAULT_WEIGHTS, Judged, reward
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.prompts import render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractionExample


@dataclass(frozen=True)
class Preference:
    """Two answers to one window, and how much better the first is (0 to 1)."""

    example: ExtractionExample
    chosen: str
    rejected: str
    margin: float


@dataclass(frozen=True)
class Preferences:
    """Pairs in the order of the examples, and the ids of windows whose answers were too alike to teach anything."""

    pairs: tuple[Preference, ...]
    undecided: tuple[str, ...]


def rank_answers(
    examples: Sequence[ExtractionExample],
    answers: Sequence[Sequence[str]],
    *,
    prompt: str,
    margin: float = 0.1,
    teacher: bool = True,
    weights: Mapping[str, float] = DEFAULT_WEIGHTS,
) -> Preferences:
    """Rank each window's answers, the teacher's own among them, and pair the best with the worst.

    A pair needs `margin` between its rewards. Raises `InputError` when no window gives one.
    """
    pairs, undecided = list[Preference](), list[str]()
    for example, written in zip(examples, answers, strict=True):
        window = Window(example.window, example.overlap)
        candidates = [*written, *([render_records(example.records, prompt)] if teacher else [])]
        scored = [(reward(Judged(text, window, example.records), weights), text) for text in candidates]
        best, worst = max(scored, key=lambda one: one[0]), min(scored, key=lambda one: one[0])
        if best[0] - worst[0] < max(margin, 1e-9):
            undecided.append(example.id)
        else:
            pairs.append(Preference(example, best[1], worst[1], best[0] - worst[0]))
    if not pairs:
        raise InputError(
            f"none of {len(examples)} windows has two answers that differ by {margin} in reward; sample more answers, "
            "at a higher temperature, or lower refine.margin"
        )
    return Preferences(tuple(pairs), tuple(undecided))
