"""How much of a benchmark's evidence a gate keeps: LongMemEval's marked user turns, LoCoMo's evidence turns.

`python -m engrain.recipes.gate_evidence longmemeval|locomo FILE BUNDLE...` prints, for each gate and for a baseline of
first-person words and length, AUPRC and recall at 10, 30 and 50% of turns kept. Neither benchmark has gate labels:
a turn counts as positive when a question's evidence names it, so a kept turn that nobody asked about counts as wrong,
and AUPRC is low by construction. Nothing may be chosen on these figures.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray

from engrain.data_builders.sources.locomo import LocomoSource
from engrain.data_builders.sources.longmemeval import LongMemEvalSource
from engrain.recipes import console
from engrain.recipes.gate_transfer import first_person_words
from engrain.runtime.errors import InputError
from engrain.runtime.gate import Gate
from engrain.runtime.gate_input import Pair
from engrain.runtime.schema import Role, Turn, Utterance

KEPT = (0.1, 0.3, 0.5)
OTHERS = 4000
"""Turns without evidence that are drawn from LongMemEval."""
_CONTEXT = 5


@dataclass(frozen=True)
class Stream:
    """User turns with what was said before each, and whether some question's evidence names them."""

    pairs: tuple[Pair, ...]
    evidence: NDArray[np.bool_]


def longmemeval(path: Path, *, others: int = OTHERS, seed: int = 42) -> Stream:
    """Distinct user turns that are marked `has_answer`, and `others` distinct ones that are not."""
    source = LongMemEvalSource(path)
    found: dict[str, tuple[Pair, bool]] = {}
    for question, sessions in source.items():
        marked = set(question.evidence_turns)
        for labelled in sessions:
            for place, turn in enumerate(labelled.session.turns):
                if turn.role is Role.USER:
                    known = found.get(turn.text)
                    positive = turn.id in marked or (known is not None and known[1])
                    found[turn.text] = (known[0] if known else _pair(labelled.session.turns, place), positive)
    positives = [pair for pair, positive in found.values() if positive]
    rest = [pair for pair, positive in found.values() if not positive]
    drawn = random.Random(seed).sample(rest, min(others, len(rest)))
    return _stream(positives, drawn)


def locomo(path: Path) -> Stream:
    """Every turn of every conversation, both speakers; evidence of questions of categories 1 to 4."""
    source = LocomoSource(path)
    wanted = {turn for question in source.questions() if question.category != 5 for turn in question.evidence}
    positives, rest = list[Pair](), list[Pair]()
    for labelled in source.sessions():
        for place, turn in enumerate(labelled.session.turns):
            (positives if turn.id in wanted else rest).append(_pair(labelled.session.turns, place))
    return _stream(positives, rest)


STREAMS: dict[str, Callable[[Path], Stream]] = {"longmemeval": longmemeval, "locomo": locomo}


def evidence_measures(stream: Stream, scores: NDArray[np.float64]) -> dict[str, float]:
    """AUPRC, and the share of evidence turns among the highest-scored 10, 30 and 50% of all."""
    from sklearn.metrics import average_precision_score

    order = np.argsort(-scores, kind="stable")
    measures = {"auprc": float(average_precision_score(stream.evidence, scores))}
    for share in KEPT:
        kept = stream.evidence[order[: round(share * len(order))]]
        measures[f"recall at {share:.0%}"] = float(kept.sum() / stream.evidence.sum())
    return measures


def first_person_scores(stream: Stream) -> NDArray[np.float64]:
    """The baseline: number of first-person words, the longer text first among equals."""
    return np.array([first_person_words(turn.text) + min(len(turn.text), 10**5) / 10**6 for _, turn in stream.pairs])


def _pair(turns: Sequence[Turn], place: int) -> Pair:
    said = [Utterance(speaker=turn.speaker, text=turn.text) for turn in turns[max(0, place - _CONTEXT) : place + 1]]
    return said[:-1], said[-1]


def _stream(positives: Sequence[Pair], rest: Sequence[Pair]) -> Stream:
    if not positives or not rest:
        raise InputError("this file names no evidence, or nothing else; give the published one")
    flags = np.array([True] * len(positives) + [False] * len(rest))
    return Stream((*positives, *rest), flags)


def main(
    benchmark: str, file: Path, bundles: list[Path], threads: int = 1, int8: bool = False, json: bool = False
) -> None:
    """Score the gates in BUNDLES, and the baseline, on one benchmark's FILE."""
    if benchmark not in STREAMS:
        raise InputError(f"{benchmark} is unknown; choose from {', '.join(STREAMS)}")
    stream = STREAMS[benchmark](file)
    rows = {"first-person words": evidence_measures(stream, first_person_scores(stream))}
    for folder in bundles:
        gate = Gate.load(folder, threads=threads, precision="int8" if int8 else "fp32")
        rows[str(folder)] = evidence_measures(stream, gate.score(stream.pairs))
    if json:
        console.show_json({"turns": len(stream.pairs), "evidence": int(stream.evidence.sum()), "gates": rows})
        return
    names = list(next(iter(rows.values())))
    title = f"{benchmark}: {len(stream.pairs)} turns, {int(stream.evidence.sum())} of them evidence"
    console.show_table(title, ("gate", *names), [(name, *values.values()) for name, values in rows.items()])


if __name__ == "__main__":
    typer.run(main)
