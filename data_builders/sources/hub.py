"""Rows of a corpus from a hub, through Hugging Face `datasets`, streamed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engrain.data_builders.sources.rows import Row, parse_json
from engrain.runtime.errors import InputError


@dataclass(frozen=True)
class Hub:
    """A corpus as its authors keep it on a hub.

    `splits` maps the corpus's splits to the hub's names for them. `text_column` is the column that holds a row as JSON
    text, for data sets that the hub reads as plain text.
    """

    name: str
    splits: Mapping[str, str]
    text_column: str = ""


def hub_rows(hub: Hub, split: str, home: str) -> Iterator[Row]:
    """The rows of a split. Raises `InputError` when `datasets` is missing, or the hub or the split cannot be reached;
    `home` is where the corpus can be downloaded instead."""
    try:
        datasets = importlib.import_module("datasets")
    except ImportError:
        raise InputError("reading from a hub needs datasets: pip install 'engrain[data]'") from None
    place = f"{hub.name}, split {hub.splits[split]}"
    try:
        table = datasets.load_dataset(hub.name, split=hub.splits[split], streaming=True)
        for index, value in enumerate(table):
            yield _row(value, f"{place}, row {index + 1}", index, hub.text_column)
    except InputError:
        raise
    except Exception as error:  # datasets, its HTTP client and Arrow raise many kinds
        raise InputError(
            f"{place} cannot be read from a hub ({type(error).__name__}: {error}); "
            f"download the corpus from {home} and give its folder"
        ) from None


def _row(value: Any, place: str, index: int, text_column: str) -> Row:
    row = Row(value, place, index)
    if not text_column:
        return row
    try:
        return Row(parse_json(str(row.fields("the hub", text_column)[text_column]).encode("utf-8")), place, index)
    except ValueError as error:
        raise row.fault(f"not valid JSON ({error})") from None
