"""A gate recipe's data: training, validation and evaluation rows, and the counts of the build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engrain.data_builders.gate_corpus import count_splits, shipped_gate_corpus
from engrain.data_builders.memora_gate import memora_gate_corpus, memora_test_rows
from engrain.data_builders.parquet import read_gate_examples
from engrain.data_builders.shipped import load_shipped
from engrain.recipes import console
from engrain.recipes.config import GateData, MemoraData, ShippedData
from engrain.runtime.errors import InputError
from engrain.runtime.schema import GateExample, Split


@dataclass(frozen=True)
class GateRows:
    """Rows by use; `report` holds the counts of the build, everything dropped among them."""

    train: tuple[GateExample, ...]
    validation: tuple[GateExample, ...]
    test: tuple[GateExample, ...]
    report: dict[str, Any]


def gate_rows(data: GateData, *, with_test: bool = True) -> GateRows:
    """Build or read the rows of a recipe; `with_test=False` skips reading a corpus only to evaluate on it."""
    if isinstance(data, MemoraData):
        with console.progress("reading Memora") as advance:
            corpus = memora_gate_corpus(data, progress=advance)
        test = tuple(memora_test_rows(data, data.evaluate_split)) if with_test else ()
        return _split(corpus.examples, test, corpus.report.model_dump(mode="json"))
    if isinstance(data, ShippedData):
        corpus = shipped_gate_corpus(load_shipped(), data)
        return _split(corpus.examples, (), corpus.report.model_dump(mode="json"))
    examples = read_gate_examples(data.path)
    _check_groups(data.path, examples)
    counts = {split.value: count.model_dump() for split, count in count_splits(examples).items()}
    return _split(examples, (), {"splits": counts})


def _check_groups(path: Path, examples: Sequence[GateExample]) -> None:
    """A group whose turns were trained on may not be evaluated on; training refuses those in its own two splits."""
    tested = {example.group for example in examples if example.split is Split.TEST}
    shared = sorted(tested & {example.group for example in examples if example.split is not Split.TEST})
    if shared:
        raise InputError(
            f"{path}: {len(shared)} groups are in the test split and in another one ({', '.join(shared[:3])}); "
            "keep each group in one"
        )


def _split(examples: Sequence[GateExample], test: tuple[GateExample, ...], report: dict[str, Any]) -> GateRows:
    def of(split: Split) -> tuple[GateExample, ...]:
        return tuple(example for example in examples if example.split is split)

    return GateRows(of(Split.TRAIN), of(Split.VALIDATION), test or of(Split.TEST), report)
