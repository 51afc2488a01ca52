"""Sessions and gold records to extraction examples: windows with the records that a model should write (DimMem 3.2).

Every record lands in exactly one window: the one in which its source turn is a new message, not context.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from engrain.data_builders.config import ExtractionWindows
from engrain.data_builders.shipped import GoldRecord
from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.prompts import PROMPT_HASH
from engrain.runtime.extraction.windows import Window, cut_windows
from engrain.runtime.schema import Contract, ExtractionExample, MemoryType, Split

_DIMENSIONS = ("time", "location", "reason", "purpose", "keywords")


class ExtractionCorpusReport(Contract):
    """Counts of one build."""

    windows: dict[Split, int]
    records: dict[Split, int]
    empty_windows: int = Field(description="Windows without a record, kept or not.")
    dropped_empty: int = Field(description="Of these, the ones left out because `keep_empty` is off.")
    unplaced: tuple[str, ...] = Field(description="Ids of records whose turn the window style does not show.")
    other_sessions: int = Field(description="Records of sessions that were not given.")
    types: dict[MemoryType, int]
    fill_rates: dict[str, float] = Field(description="Share of records that fill a dimension, 0 to 1.")


@dataclass(frozen=True)
class ExtractionCorpus:
    """Examples in session order, and the report of the build."""

    examples: tuple[ExtractionExample, ...]
    report: ExtractionCorpusReport


def extraction_corpus(
    sessions: Iterable[LabelledSession],
    records: Sequence[GoldRecord],
    settings: ExtractionWindows,
    *,
    splits: Mapping[str, Split],
    teacher: str = "authored",
) -> ExtractionCorpus:
    """Cut each session into windows and give each window the records of its new messages, in message order.

    `splits` maps session ids to splits; the windows of a session share one. Raises `InputError` for a session without
    a split, or a record whose session does not have its source turn.
    """
    by_session: dict[str, list[GoldRecord]] = {}
    for record in records:
        by_session.setdefault(record.session_id, []).append(record)
    examples: list[ExtractionExample] = []
    unplaced: list[str] = []
    for labelled in sessions:
        own = by_session.pop(labelled.session.id, [])
        _require_turns(labelled, own)
        made = list(_session_examples(labelled, own, settings, splits, teacher))
        examples.extend(made)
        unplaced.extend(_left_out(own, made))
    other = sum(len(rest) for rest in by_session.values())
    return _finish(examples, settings, tuple(unplaced), other)


def _session_examples(
    labelled: LabelledSession,
    records: Sequence[GoldRecord],
    settings: ExtractionWindows,
    splits: Mapping[str, Split],
    teacher: str,
) -> Iterator[ExtractionExample]:
    session = labelled.session
    if session.id not in splits:
        raise InputError(f"session '{session.id}' has no split; give one for every session")
    windows = cut_windows(session.turns, style=settings.style, size=settings.size, overlap=settings.overlap)
    for number, window in enumerate(windows, start=1):
        numbers = _new_numbers(window)
        placed = [record for record in records if record.source_turn_id in numbers]
        placed.sort(key=lambda record: numbers[record.source_turn_id])
        yield ExtractionExample(
            id=f"{session.id}/w{number:02d}",
            split=splits[session.id],
            style=settings.style,
            window=window.turns,
            overlap=window.overlap,
            records=tuple(record.extracted(numbers[record.source_turn_id]) for record in placed),
            teacher=teacher,
            prompt_hash=PROMPT_HASH[settings.prompt],
        )


def _new_numbers(window: Window) -> dict[str, int]:
    """Turn id to 1-based message number, for the messages that records may come from."""
    return {turn.id: number for number, turn in enumerate(window.turns, start=1) if window.is_new(number)}


def _require_turns(labelled: LabelledSession, records: Sequence[GoldRecord]) -> None:
    known = {turn.id for turn in labelled.session.turns}
    for record in records:
        if record.source_turn_id not in known:
            raise InputError(
                f"record '{record.id}': session '{labelled.session.id}' has no turn '{record.source_turn_id}'"
            )


def _left_out(records: Sequence[GoldRecord], examples: Sequence[ExtractionExample]) -> list[str]:
    """Ids of records whose turn no window shows."""
    shown = {turn.id for example in examples for turn in example.window[example.overlap :]}
    return [record.id for record in records if record.source_turn_id not in shown]


def _finish(
    examples: Sequence[ExtractionExample], settings: ExtractionWindows, unplaced: tuple[str, ...], other: int
) -> ExtractionCorpus:
    empty = sum(not example.records for example in examples)
    kept = [example for example in examples if example.records or settings.keep_empty]
    dimensions = [record.dimension for example in kept for record in example.records]
    fill_rates = {
        name: sum(bool(getattr(dimension, name)) for dimension in dimensions) / max(1, len(dimensions))
        for name in _DIMENSIONS
    }
    report = ExtractionCorpusReport(
        windows=dict(Counter(example.split for example in kept)),
        records=dict(sum((Counter({example.split: len(example.records)}) for example in kept), Counter())),
        empty_windows=empty,
        dropped_empty=len(examples) - len(kept),
        unplaced=unplaced,
        other_sessions=other,
        types=dict(Counter(dimension.memory_type for dimension in dimensions)),
        fill_rates=fill_rates,
    )
    return ExtractionCorpus(tuple(kept), report)
