"""How good extracted records are: valid JSON, records against gold, and each field of the matched records.

A predicted and a gold record can match when they name the same source message and the cosine of their contents is at
least 0.8. Matching is one to one and optimal: as many pairs as possible, then the highest sum of cosines. The
embedder is handed in as a function, so nothing here depends on which one it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.parsing import ParseResult
from engrain.runtime.extraction.support import CHECKED, unsupported_dimensions
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Contract, Dimensions, ExtractedRecord, MemoryType
from engrain.runtime.timestamps import record_interval

MATCH_COSINE = 0.8
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to vectors, N x D, each of length 1 (or 0)."""
_TOKEN = re.compile(r"\w+")


class FieldScores(Contract):
    """Means over matched pairs, each from 0 to 1. Two empty values agree; one empty value scores 0."""

    memory_type: float = Field(description="Share with the same type.")
    time: float = Field(description="Share whose time fields name overlapping intervals: overlap over union.")
    location: float = Field(description="Token F1.")
    reason: float = Field(description="Token F1.")
    purpose: float = Field(description="Token F1.")
    keywords: float = Field(description="F1 of the two sets of lower-cased keywords.")


class ExtractionScores(Contract):
    """Scores over a set of windows. Counts are sums over windows; rates are of these sums (micro averages)."""

    windows: int
    valid_json: float = Field(description="Share of windows whose answer held a complete list of memories.")
    truncated: int = Field(description="Windows whose answer ran out of tokens.")
    rejected: int = Field(description="Pieces of answers that gave no record.")
    predicted: int
    gold: int
    matched: int
    precision: float
    recall: float
    f1: float
    fields: FieldScores | None = Field(description="Nothing when no record matched.")
    unsupported: float = Field(
        default=0.0, description="Share of the filled dimensions (but time) whose words the window does not hold."
    )

    def flat(self, prefix: str = "") -> dict[str, float]:
        """Name to value, as a bundle's `metrics` holds them."""
        names = ("valid_json", "precision", "recall", "f1", "unsupported")
        values = {f"{prefix}{name}": float(getattr(self, name)) for name in names}
        scores = self.fields.model_dump() if self.fields else {}
        return {**values, **{f"{prefix}field_{name}": float(value) for name, value in scores.items()}}


def score_extraction(
    results: Sequence[ParseResult],
    gold: Sequence[Sequence[ExtractedRecord]],
    embed: Embed,
    *,
    windows: Sequence[Window] = (),
    threshold: float = MATCH_COSINE,
) -> ExtractionScores:
    """Score one result a window against that window's gold records.

    A window without an answer counts with all its gold records as missed. No prediction and no gold give F1 1.
    `windows`, one a result, are what dimensions are checked against; without them `unsupported` is 0.
    """
    pairs: list[tuple[ExtractedRecord, ExtractedRecord]] = []
    for result, wanted in zip(results, gold, strict=True):
        matches = match_records(result.records, wanted, embed, threshold=threshold)
        pairs.extend((result.records[row], wanted[column]) for row, column in matches)
    predicted = sum(len(result.records) for result in results)
    wanted_count = sum(len(wanted) for wanted in gold)
    precision, recall, f1 = precision_recall_f1(len(pairs), predicted, wanted_count)
    return ExtractionScores(
        windows=len(results),
        valid_json=sum(result.valid_json for result in results) / len(results) if results else 0.0,
        truncated=sum(result.truncated for result in results),
        rejected=sum(len(result.rejects) for result in results),
        predicted=predicted,
        gold=wanted_count,
        matched=len(pairs),
        precision=precision,
        recall=recall,
        f1=f1,
        fields=score_fields(pairs) if pairs else None,
        unsupported=unsupported_share(results, windows),
    )


def unsupported_share(results: Sequence[ParseResult], windows: Sequence[Window]) -> float:
    """Share of the filled dimensions of all records whose words their window does not hold; times are not checked."""
    filled = missing = 0
    for result, window in zip(results, windows, strict=False):
        for record in result.records:
            filled += sum(bool(getattr(record.dimension, name)) for name in CHECKED)
            missing += len(unsupported_dimensions(record, window))
    return missing / filled if filled else 0.0


def match_records(
    predicted: Sequence[ExtractedRecord],
    gold: Sequence[ExtractedRecord],
    embed: Embed,
    *,
    threshold: float = MATCH_COSINE,
) -> list[tuple[int, int]]:
    """Pairs (index into `predicted`, index into `gold`) of one window, one to one and optimal, sorted."""
    if not predicted or not gold:
        return []
    from scipy.optimize import linear_sum_assignment

    vectors = np.asarray(embed([record.content for record in (*predicted, *gold)]), dtype=np.float64)
    cosine = vectors[: len(predicted)] @ vectors[len(predicted) :].T  # P x G
    source = np.array([[left.source_id == right.source_id for right in gold] for left in predicted])
    allowed = source & (cosine >= threshold)
    # Above any sum of cosines, so that one more pair always wins over closer pairs.
    weight = np.where(allowed, cosine + 2.0 * min(len(predicted), len(gold)), 0.0)
    rows, columns = linear_sum_assignment(weight, maximize=True)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if allowed[row, column]]


def precision_recall_f1(matched: int, predicted: int, gold: int) -> tuple[float, float, float]:
    """The three rates from counts; nothing predicted where nothing was wanted is perfect."""
    if predicted == gold == 0:
        return 1.0, 1.0, 1.0
    precision = matched / predicted if predicted else 0.0
    recall = matched / gold if gold else 0.0
    return precision, recall, 2 * matched / (predicted + gold)


def score_fields(pairs: Sequence[tuple[ExtractedRecord, ExtractedRecord]]) -> FieldScores:
    """Mean agreement of each field over matched (predicted, gold) pairs."""
    dimensions = [(left.dimension, right.dimension) for left, right in pairs]

    def mean(score: Callable[[Dimensions, Dimensions], float]) -> float:
        return sum(score(left, right) for left, right in dimensions) / len(dimensions)

    return FieldScores(
        memory_type=mean(lambda left, right: float(left.memory_type is right.memory_type)),
        time=mean(lambda left, right: time_agreement(left.time, right.time)),
        location=mean(lambda left, right: text_f1(left.location, right.location)),
        reason=mean(lambda left, right: text_f1(left.reason, right.reason)),
        purpose=mean(lambda left, right: text_f1(left.purpose, right.purpose)),
        keywords=mean(lambda left, right: keyword_f1(left.keywords, right.keywords)),
    )


def time_agreement(left: str, right: str) -> float:
    """Overlap over union of two record times, 0 to 1; a field that is not a time agrees with itself only."""
    if left.strip() == right.strip():
        return 1.0
    try:
        start, end = record_interval(left, UTC)
        other_start, other_end = record_interval(right, UTC)
    except InputError:
        return 0.0
    overlap = (min(end, other_end) - max(start, other_start)).total_seconds()
    return max(0.0, overlap) / (max(end, other_end) - min(start, other_start)).total_seconds()


def text_f1(left: str, right: str) -> float:
    """F1 over lower-cased words, counted as often as they occur."""
    return _multiset_f1(_TOKEN.findall(left.lower()), _TOKEN.findall(right.lower()))


def keyword_f1(left: Iterable[str], right: Iterable[str]) -> float:
    """F1 of two sets of keywords, compared lower-cased and whole."""
    return _multiset_f1({word.strip().lower() for word in left}, {word.strip().lower() for word in right})


def copied_records(window: Window) -> ParseResult:
    """The copy baseline: each new message, word for word, as a record of type fact."""
    fact = Dimensions(memory_type=MemoryType.FACT)
    numbered = enumerate(window.turns, start=1)
    records = [ExtractedRecord(source_id=number, content=turn.text, dimension=fact) for number, turn in numbered]
    return ParseResult(tuple(records[window.overlap :]), (), valid_json=True, truncated=False)


def _multiset_f1(left: Iterable[str], right: Iterable[str]) -> float:
    ours, theirs = list(left), list(right)
    rest, common = list(theirs), 0
    for word in ours:
        if word in rest:
            rest.remove(word)
            common += 1
    return precision_recall_f1(common, len(ours), len(theirs))[2]
