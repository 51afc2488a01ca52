"""Scores of a written answer: accuracy by a judge's verdict, and token F1 against the reference (LoCoMo)."""

from __future__ import annotations

import re
import string
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class Verdict:
    """What a judge said of one answer; `correct` None when its words were neither yes nor no."""

    task: str
    correct: bool | None
    f1: float | None = None


@dataclass(frozen=True)
class Accuracy:
    """Shares between 0 and 1 over the answers that were judged; `unread` verdicts are in no share, and are counted."""

    accuracy: float | None
    f1: float | None
    by_task: dict[str, float]
    judged: int
    unread: int


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of token precision and recall after lower-casing and dropping articles and punctuation."""
    given, wanted = _tokens(answer), _tokens(reference)
    if not given or not wanted:
        return float(given == wanted)
    common = sum((Counter(given) & Counter(wanted)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(given), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def accuracy(verdicts: Sequence[Verdict]) -> Accuracy:
    """Accuracy over all and by task; None where nothing was judged."""
    judged = [one for one in verdicts if one.correct is not None]
    by_task: defaultdict[str, list[bool]] = defaultdict(list)
    for one in judged:
        by_task[one.task].append(bool(one.correct))
    scores = [one.f1 for one in verdicts if one.f1 is not None]
    return Accuracy(
        accuracy=fmean(bool(one.correct) for one in judged) if judged else None,
        f1=fmean(scores) if scores else None,
        by_task={task: fmean(own) for task, own in sorted(by_task.items())},
        judged=len(judged),
        unread=len(verdicts) - len(judged),
    )


def _tokens(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
