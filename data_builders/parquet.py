"""Corpora on disk: Parquet files whose columns are exactly the fields of `GateExample` and `ExtractionExample`.

They are written and read through Hugging Face `datasets`, so that any tool that knows Parquet reads them. Timestamps
are stored as ISO text: Arrow keeps one zone a column, and the offset of a message is part of what an extractor reads.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from pydantic import ValidationError

from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, ExtractionExample, GateExample

Example = TypeVar("Example", GateExample, ExtractionExample)
_ROWS_AT_ONCE = 4096


def write_gate_examples(path: Path, examples: Iterable[GateExample]) -> str:
    """Write a gate corpus and return its fingerprint; a generator will do.

    The file appears whole or not at all. Raises `InputError` when there are no examples.
    """
    return _write(path, examples, _gate_features())


def read_gate_examples(path: Path) -> tuple[GateExample, ...]:
    """Read a gate corpus. Raises `InputError` for a missing or broken file, other columns, or a bad row."""
    return _read(path, GateExample, _gate_features())


def write_extraction_examples(path: Path, examples: Iterable[ExtractionExample]) -> str:
    """Write an extraction corpus and return its fingerprint.

    The file appears whole or not at all. Raises `InputError` when there are no examples.
    """
    return _write(path, examples, _extraction_features())


def read_extraction_examples(path: Path) -> tuple[ExtractionExample, ...]:
    """Read an extraction corpus. Raises `InputError` for a missing or broken file, other columns, or a bad row."""
    return _read(path, ExtractionExample, _extraction_features())


def data_fingerprint(rows: Iterable[Contract]) -> str:
    """SHA-256 over the rows in order: equal for equal rows, whatever file or process they come from."""
    fingerprint = _Fingerprint()
    for row in rows:
        fingerprint.update(row.model_dump_json().encode("utf-8"))
    return fingerprint.hexdigest()


class _Fingerprint:
    """A running fingerprint."""

    def __init__(self) -> None:
        self.rows = 0
        self._digest = hashlib.sha256()

    def update(self, encoded: bytes) -> None:
        """Add one row's JSON."""
        self.rows += 1
        self._digest.update(len(encoded).to_bytes(8, "big"))
        self._digest.update(encoded)

    def hexdigest(self) -> str:
        """The fingerprint of the rows so far."""
        return self._digest.hexdigest()


def _gate_features() -> Any:
    datasets = _datasets()
    text, flag = datasets.Value("string"), datasets.Value("bool")
    utterance = {"speaker": text, "text": text}
    vote = {
        "teacher": text,
        "admit": flag,
        "auxiliary_type": text,
        "context_dependence": text,
        "confidence": datasets.Value("float64"),
        "evidence": [text],
    }
    return datasets.Features(
        {
            "id": text,
            "split": text,
            "context": [utterance],
            "target": utterance,
            "label": flag,
            "label_source": text,
            "votes": [vote],
            "auxiliary_type": text,
            "context_dependence": text,
            "corpus": text,
            "group": text,
        }
    )


def _extraction_features() -> Any:
    datasets = _datasets()
    text, number = datasets.Value("string"), datasets.Value("int32")
    turn = dict.fromkeys(("id", "session_id", "role", "speaker", "text", "timestamp"), text)
    dimension = dict.fromkeys(("memory_type", "time", "location", "reason", "purpose"), text)
    record = {
        "source_id": number,
        "content": text,
        "dimension": {**dimension, "keywords": [text]},
    }
    return datasets.Features(
        {
            "id": text,
            "split": text,
            "style": text,
            "window": [turn],
            "overlap": number,
            "records": [record],
            "teacher": text,
            "prompt_hash": text,
        }
    )


def _write(path: Path, examples: Iterable[Example], features: Any) -> str:
    """Rows go to the disk as they come, some thousand at a time."""
    parquet = importlib.import_module("pyarrow.parquet")
    schema = features.arrow_schema
    fingerprint = _Fingerprint()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    remaining = iter(examples)
    try:
        with parquet.ParquetWriter(unfinished, schema) as writer:
            while batch := list(islice(remaining, _ROWS_AT_ONCE)):
                writer.write_batch(_record_batch(batch, schema, fingerprint))
        if not fingerprint.rows:
            raise InputError(f"there are no examples to write to {path}; look at the report of the build")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return fingerprint.hexdigest()


def _record_batch(examples: Sequence[Contract], schema: Any, fingerprint: _Fingerprint) -> Any:
    rows = []
    for example in examples:
        fingerprint.update(example.model_dump_json().encode("utf-8"))
        rows.append(example.model_dump(mode="json"))
    return importlib.import_module("pyarrow").RecordBatch.from_pylist(rows, schema=schema)


def _read(path: Path, kind: type[Example], features: Any) -> tuple[Example, ...]:
    if not path.is_file():
        raise InputError(f"{path} is missing; build the corpus first, or give the path of its Parquet file")
    rows = _load_rows(path, set(features))
    examples = []
    for number, row in enumerate(rows, start=1):
        try:
            examples.append(kind.model_validate(row))
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            raise InputError(f"{path}, row {number}, {place}: {fault['msg']}; the rows before it are good") from None
    return tuple(examples)


def _load_rows(path: Path, expected: set[str]) -> list[dict[str, Any]]:
    # datasets keeps an Arrow copy of what it reads; in a folder of its own it cannot go stale or fill the home.
    with _quiet(), TemporaryDirectory() as cache:
        try:
            table = _datasets().Dataset.from_parquet(str(path), cache_dir=cache, keep_in_memory=True)
        except Exception as error:  # datasets and Arrow raise many kinds for a broken file
            cause = error.__cause__ or error
            raise InputError(f"{path} is not a readable Parquet file ({cause}); build the corpus again") from None
        found = set(table.column_names)
        if found != expected:
            missing, other = sorted(expected - found), sorted(found - expected)
            raise InputError(f"{path} has other columns than the schema: missing {missing}, unexpected {other}")
        return list(table.to_list())


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars of `datasets` inside; what the caller had set is restored."""
    datasets = _datasets()
    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def _datasets() -> Any:
    """Hugging Face `datasets`, imported when first used."""
    try:
        return importlib.import_module("datasets")
    except ImportError:
        raise InputError(
            "corpora on disk need Hugging Face datasets; install it with: pip install 'engrain[data]'"
        ) from None
