"""How varied a corpus of extraction examples is: topics, types, dimensions, lengths, and how alike records are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from pydantic import Field

from engrain.runtime.extraction.support import content_words
from engrain.runtime.schema import Contract, ExtractionExample

_DIMENSIONS = ("time", "location", "reason", "purpose", "keywords")
_TOPICS = 30


class DiversityReport(Contract):
    """Counts and shares over a corpus; of each style the same, in `by_style`."""

    examples: int
    empty: int = Field(description="Examples without a record.")
    records: int
    types: dict[str, int]
    fill_rates: dict[str, float] = Field(description="Share of records that fill a dimension, 0 to 1.")
    topics: dict[str, int] = Field(description="The most frequent keywords, with the number of records that have them.")
    distinct_keywords: float = Field(description="Different keywords over all keywords; near 0 all are the same.")
    distinct_openings: float = Field(description="Different first three words of contents over records.")
    distinct_pairs: float = Field(description="Different pairs of content words over all pairs (distinct-2).")
    window_words: tuple[int, int, int] = Field(description="Words of a window: lower quartile, median, upper quartile.")
    content_words: tuple[int, int, int] = Field(description="Words of a record's content: the same.")
    records_per_window: dict[int, int]


def diversity(examples: Sequence[ExtractionExample]) -> DiversityReport:
    """Measure a corpus, or one style's part of it."""
    records = [record for example in examples for record in example.records]
    keywords = [word.lower() for record in records for word in record.dimension.keywords]
    pairs = [pair for record in records for pair in _pairs(content_words(record.content))]
    openings = {" ".join(record.content.lower().split()[:3]) for record in records}
    filled = {name: sum(bool(getattr(record.dimension, name)) for record in records) for name in _DIMENSIONS}
    return DiversityReport(
        examples=len(examples),
        empty=sum(not example.records for example in examples),
        records=len(records),
        types=dict(Counter(record.dimension.memory_type.value for record in records)),
        fill_rates={name: _share(count, len(records)) for name, count in filled.items()},
        topics=dict(Counter(keywords).most_common(_TOPICS)),
        distinct_keywords=_share(len(set(keywords)), len(keywords)),
        distinct_openings=_share(len(openings), len(records)),
        distinct_pairs=_share(len(set(pairs)), len(pairs)),
        window_words=_quartiles([sum(len(turn.text.split()) for turn in example.window) for example in examples]),
        content_words=_quartiles([len(record.content.split()) for record in records]),
        records_per_window=dict(sorted(Counter(len(example.records) for example in examples).items())),
    )


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    return list(pairwise(words))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _quartiles(values: list[int]) -> tuple[int, int, int]:
    ordered = sorted(values) or [0]
    low, middle, high = (ordered[min(len(ordered) - 1, len(ordered) * part // 4)] for part in (1, 2, 3))
    return low, middle, high
