"""Corpora on disk: columns, round trip, fingerprints and broken files."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engrain.data_builders.config import ExtractionWindows, ShippedSplit
from engrain.data_builders.extraction_corpus import extraction_corpus
from engrain.data_builders.gate_corpus import shipped_gate_corpus
from engrain.data_builders.parquet import (
    data_fingerprint,
    read_extraction_examples,
    read_gate_examples,
    write_extraction_examples,
    write_gate_examples,
)
from engrain.data_builders.shipped import load_shipped
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.windows import message_line
from engrain.runtime.schema import AuxiliaryType, ContextDependence, ExtractionExample, GateExample, Vote


@pytest.fixture(scope="module")
def gate_rows() -> tuple[GateExample, ...]:
    rows = shipped_gate_corpus(load_shipped(), ShippedSplit()).examples[:40]
    vote = Vote(
        teacher="a",
        admit=True,
        auxiliary_type=AuxiliaryType.PROSPECTIVE,
        context_dependence=ContextDependence.SELF_CONTAINED,
        confidence=0.9,
        evidence=("next Monday",),
    )
    return (rows[0].model_copy(update={"votes": (vote, vote), "auxiliary_type": None}), *rows[1:])


@pytest.fixture(scope="module")
def extraction_rows() -> tuple[ExtractionExample, ...]:
    corpus = load_shipped()
    settings = ExtractionWindows(size=6, overlap=1, prompt="compact")
    return extraction_corpus(corpus.sessions, corpus.records, settings, splits=corpus.splits(ShippedSplit())).examples


def test_gate_examples_come_back_equal(tmp_path: Path, gate_rows: tuple[GateExample, ...]) -> None:
    path = tmp_path / "corpus" / "gate.parquet"
    fingerprint = write_gate_examples(path, gate_rows)
    assert read_gate_examples(path) == gate_rows
    assert fingerprint == data_fingerprint(gate_rows) == data_fingerprint(read_gate_examples(path))
    assert pq.read_schema(path).names == list(GateExample.model_fields)
    assert [found.name for found in path.parent.iterdir()] == ["gate.parquet"]


def test_extraction_examples_come_back_equal_with_their_offsets(
    tmp_path: Path, extraction_rows: tuple[ExtractionExample, ...]
) -> None:
    path = tmp_path / "extraction.parquet"
    fingerprint = write_extraction_examples(path, extraction_rows)
    read = read_extraction_examples(path)
    assert read == extraction_rows and data_fingerprint(read) == fingerprint
    assert pq.read_schema(path).names == list(ExtractionExample.model_fields)
    for before, after in zip(extraction_rows, read, strict=True):
        lines = [[message_line(turn, 1, row.style) for turn in row.window] for row in (before, after)]
        assert lines[0] == lines[1]


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no examples to write"):
        write_gate_examples(tmp_path / "none.parquet", [])
    assert not list(tmp_path.iterdir())


def test_the_fingerprint_follows_content_and_order(gate_rows: tuple[GateExample, ...]) -> None:
    changed = (gate_rows[0].model_copy(update={"label": not gate_rows[0].label}), *gate_rows[1:])
    prints = {data_fingerprint(rows) for rows in (gate_rows, gate_rows[::-1], gate_rows[1:], changed)}
    assert len(prints) == 4


def test_missing_broken_and_foreign_files_are_named(
    tmp_path: Path, extraction_rows: tuple[ExtractionExample, ...]
) -> None:
    with pytest.raises(InputError, match=r"none\.parquet is missing; build the corpus first"):
        read_gate_examples(tmp_path / "none.parquet")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match=r"broken\.parquet is not a readable Parquet file"):
        read_gate_examples(broken)
    other = tmp_path / "other.parquet"
    write_extraction_examples(other, extraction_rows[:2])
    with pytest.raises(InputError, match=r"other columns than the schema: missing \['auxiliary_type'.*unexpected \["):
        read_gate_examples(other)


def test_a_bad_row_is_named(tmp_path: Path, gate_rows: tuple[GateExample, ...]) -> None:
    path = tmp_path / "gate.parquet"
    bad = gate_rows[1].model_copy(update={"split": "holiday"})
    with pytest.warns(UserWarning, match="split"):
        write_gate_examples(path, [gate_rows[0], bad])
    with pytest.raises(InputError, match=r"row 2, split: Input should be"):
        read_gate_examples(path)
