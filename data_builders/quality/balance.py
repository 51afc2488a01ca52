"""What a corpus consists of: labels, types, lengths and languages, by corpus and split."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from pydantic import Field

from engrain.data_builders.quality.language import language_of
from engrain.data_builders.quality.rows import Row
from engrain.runtime.schema import Contract, LabelSource, Split

Progress = Callable[[int, int], None]
_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_BINS = 30
_EVERY = 4096


class Part(Contract):
    """Rows of one corpus in one split."""

    corpus: str
    split: Split
    rows: int
    positives: int
    groups: int

    @property
    def share(self) -> float:
        """Share of positives."""
        return self.positives / self.rows


class Lengths(Contract):
    """How long something is, in characters or messages."""

    mean: float
    quantiles: dict[str, float] = Field(description="Shortest, 5%, 25%, median, 75%, 95%, longest.")
    edges: tuple[float, ...] = Field(description="Edges of the histogram's bins; what is longer is in the last bin.")
    positive: tuple[int, ...] = Field(description="Positive rows a bin.")
    negative: tuple[int, ...] = Field(description="Negative rows a bin.")


class BalanceReport(Contract):
    """Composition of a corpus."""

    parts: tuple[Part, ...]
    sources: dict[LabelSource, int]
    types: dict[str, int] = Field(description="Rows by auxiliary type; `none` where there is no majority or no vote.")
    target_length: Lengths = Field(description="Characters of the target turn.")
    context_length: Lengths = Field(description="Characters of the context.")
    context_messages: dict[int, int] = Field(description="Rows by number of context messages.")
    languages: dict[str, int]
    short: tuple[int, int] = Field(description="Targets of at most 60 characters (A.1's boilerplate), and positives.")


def balance(rows: Sequence[Row], *, progress: Progress | None = None) -> BalanceReport:
    """Count a corpus of one row or more."""
    labels = np.array([row.label for row in rows])
    brief = [row for row in rows if len(row.text) <= 60]
    return BalanceReport(
        parts=_parts(rows),
        sources=dict(Counter(row.source for row in rows)),
        types=dict(Counter(row.kind or "none" for row in rows).most_common()),
        target_length=_lengths([len(row.text) for row in rows], labels),
        context_length=_lengths([row.context_length for row in rows], labels),
        context_messages=dict(sorted(Counter(row.context_messages for row in rows).items())),
        languages=_languages(rows, progress),
        short=(len(brief), sum(row.label for row in brief)),
    )


def _parts(rows: Sequence[Row]) -> tuple[Part, ...]:
    members: defaultdict[tuple[str, Split], list[Row]] = defaultdict(list)
    for row in rows:
        members[row.corpus, row.split].append(row)
    order = list(Split)
    return tuple(
        Part(
            corpus=corpus,
            split=split,
            rows=len(part),
            positives=sum(row.label for row in part),
            groups=len({row.group for row in part}),
        )
        for (corpus, split), part in sorted(members.items(), key=lambda item: (item[0][0], order.index(item[0][1])))
    )


def _lengths(values: Sequence[int], labels: np.typing.NDArray[np.bool_]) -> Lengths:
    lengths = np.array(values, dtype=np.float64)
    longest = max(float(np.quantile(lengths, 0.99)), 1.0)
    edges = np.linspace(0, longest, _BINS + 1)
    shown = np.minimum(lengths, longest)
    return Lengths(
        mean=float(lengths.mean()),
        quantiles={
            f"{share:.0%}": float(value)
            for share, value in zip(_QUANTILES, np.quantile(lengths, _QUANTILES), strict=True)
        },
        edges=tuple(edges.tolist()),
        positive=tuple(np.histogram(shown[labels], edges)[0].tolist()),
        negative=tuple(np.histogram(shown[~labels], edges)[0].tolist()),
    )


def _languages(rows: Sequence[Row], progress: Progress | None) -> dict[str, int]:
    counts: Counter[str] = Counter()
    known: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        if row.text not in known:
            known[row.text] = language_of(row.text)
        counts[known[row.text]] += 1
        if progress is not None and (number % _EVERY == 0 or number == len(rows)):
            progress(number, len(rows))
    return dict(counts.most_common())
