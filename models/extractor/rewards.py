"""Verifiable rewards for an extractor's answers: plain functions of the answer, its window and the gold records.

Each is from 0 to 1 and looks at one thing; none asks a model. Their weighted mean ranks answers for DPO and is what
GRPO raises. An answer that cannot be read earns nothing anywhere, so that writing less never pays more than writing
well: `coverage` weighs most where there is something to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from engrain.models.extractor.config import RefineSettings
from engrain.runtime.extraction.parsing import ParseResult, parse_records
from engrain.runtime.extraction.support import SUPPORTED, content_words, support, unsupported_dimensions
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractedRecord

_ALIKE = 0.6
"""F1 of content words from which a record says what a gold record of the same message says."""
_REPEATED = 0.8


@dataclass(frozen=True)
class Judged:
    """An answer with what it is judged against."""

    answer: str
    window: Window
    gold: Sequence[ExtractedRecord]

    @cached_property
    def result(self) -> ParseResult:
        """The answer as the runtime reads it."""
        return parse_records(self.answer, self.window)


def valid_json(judged: Judged) -> float:
    """1 when the answer is one complete list of memories and nothing around it."""
    read = judged.result.valid_json and not judged.result.truncated
    bare = judged.answer.strip().startswith("{") and judged.answer.strip().endswith("}")
    return float(read and bare)


def schema(judged: Judged) -> float:
    """Share of the pieces of the answer that are records of the schema."""
    result = judged.result
    pieces = len(result.records) + len(result.rejects)
    return len(result.records) / pieces if pieces else float(result.valid_json)


def grounded(judged: Judged) -> float:
    """Share of the records whose message states them: half or more of their content words, names of speakers too."""
    records = judged.result.records
    if not records:
        return _silence(judged)
    good = 0
    for record in records:
        turn = judged.window.turns[record.source_id - 1]
        good += support(record.content, (turn.text, turn.speaker)) >= SUPPORTED
    return good / len(records)


def evidence(judged: Judged) -> float:
    """Share of the records with no dimension that the window does not support."""
    records = judged.result.records
    if not records:
        return _silence(judged)
    return sum(not unsupported_dimensions(record, judged.window) for record in records) / len(records)


def no_duplicates(judged: Judged) -> float:
    """Share of the records that do not repeat an earlier one."""
    kept: list[str] = []
    for record in judged.result.records:
        if all(_words_f1(record.content, other) < _REPEATED for other in kept):
            kept.append(record.content)
    records = len(judged.result.records)
    return len(kept) / records if records else _silence(judged)


def coverage(judged: Judged) -> float:
    """Share of the gold records that some record of the same message says; with no gold, 1 for an empty answer."""
    records = judged.result.records
    if not judged.gold:
        return float(judged.result.valid_json and not records)
    said = 0
    for wanted in judged.gold:
        own = (record.content for record in records if record.source_id == wanted.source_id)
        said += any(_words_f1(content, wanted.content) >= _ALIKE for content in own)
    return said / len(judged.gold)


def brevity(judged: Judged) -> float:
    """1 up to the length of the gold contents, in words, and less in proportion beyond; unread answers get 0."""
    if not judged.result.records:
        return _silence(judged)
    written = sum(len(record.content.split()) for record in judged.result.records)
    wanted = sum(len(record.content.split()) for record in judged.gold)
    return min(1.0, max(wanted, 1) / written) if judged.result.valid_json else 0.0


REWARDS: dict[str, Callable[[Judged], float]] = {
    "valid_json": valid_json,
    "schema": schema,
    "grounded": grounded,
    "evidence": evidence,
    "no_duplicates": no_duplicates,
    "coverage": coverage,
    "brevity": brevity,
}
DEFAULT_WEIGHTS: Mapping[str, float] = RefineSettings().weights
"""Not the paper's: it has no second stage."""


def reward(judged: Judged, weights: Mapping[str, float] = DEFAULT_WEIGHTS) -> float:
    """The weighted mean of the rewards, 0 to 1."""
    total = sum(weights.values())
    return sum(weight * REWARDS[name](judged) for name, weight in weights.items()) / total


def _silence(judged: Judged) -> float:
    """What an answer without records earns for what records would be judged by: 1 where there is nothing to say."""
    return float(judged.result.valid_json and not judged.gold)


def _words_f1(left: str, right: str) -> float:
    ours, theirs = set(content_words(left)), set(content_words(right))
    common = len(ours & theirs)
    return 2 * common / (len(ours) + len(theirs)) if ours or theirs else 1.0
