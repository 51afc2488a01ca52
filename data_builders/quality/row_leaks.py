"""Leaks of a labelled corpus: rows that stand in a benchmark, and evaluation rows that stand in the training split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import Field

from engrain.data_builders.quality.leaks import Leak, Passage, PassageIndex
from engrain.data_builders.quality.rows import Row
from engrain.runtime.schema import Contract, Split

Progress = Callable[[int, int], None]
_AT_ONCE = 4096


class LeakCounts(Contract):
    """Rows compared with one benchmark or split."""

    passages: int = Field(description="Turns on the other side.")
    rows: int = Field(description="Rows compared.")
    leaks: int = Field(description="Rows of which half or more of the words stand there.")
    touched: int = Field(description="Other rows that share a run of 13 words or are a very short turn found there.")
    named: tuple[Leak, ...] = Field(description="Every leak.")


class LeakReport(Contract):
    """Against each benchmark, and of each evaluation split against the training split."""

    benchmarks: dict[str, LeakCounts]
    splits: dict[Split, LeakCounts]

    @property
    def benchmark_ids(self) -> frozenset[str]:
        """Rows that stand in some benchmark."""
        return frozenset(leak.id for counts in self.benchmarks.values() for leak in counts.named)


def row_leaks(
    rows: Sequence[Row], benchmarks: Mapping[str, PassageIndex], *, progress: Progress | None = None
) -> LeakReport:
    """Compare all rows with the benchmarks, and validation and test rows with the training rows."""
    trained = [Passage(row.id, row.text) for row in rows if row.split is Split.TRAIN]
    held_out = {split: [row for row in rows if row.split is split] for split in (Split.VALIDATION, Split.TEST)}
    held_out = {split: members for split, members in held_out.items() if members and trained}
    done = 0
    total = len(rows) * len(benchmarks) + sum(map(len, held_out.values()))

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    against = {name: _compare(name, rows, index, advance) for name, index in benchmarks.items()}
    splits: dict[Split, LeakCounts] = {}
    if held_out:
        index = PassageIndex(trained)
        splits = {split: _compare(Split.TRAIN.value, part, index, advance) for split, part in held_out.items()}
    return LeakReport(benchmarks=against, splits=splits)


def _compare(against: str, rows: Sequence[Row], index: PassageIndex, advance: Callable[[int], None]) -> LeakCounts:
    leaks: list[Leak] = []
    touched = 0
    for batch in _batches(rows):
        for row, coverage in zip(batch, index.coverage([row.text for row in batch]), strict=True):
            if coverage.proves:
                share = round(coverage.share, 4)
                leaks.append(Leak(id=row.id, against=against, source=coverage.source, share=share, text=row.text))
            elif coverage.shared:
                touched += 1
        advance(len(batch))
    return LeakCounts(passages=index.passages, rows=len(rows), leaks=len(leaks), touched=touched, named=tuple(leaks))


def _batches(rows: Sequence[Row]) -> Iterable[Sequence[Row]]:
    return (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))
