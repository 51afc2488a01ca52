"""What a command shows: tables for people, one JSON document for machines, progress only on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from engrain.runtime.plain import plain

ProgressCallback = Callable[[int, int], None]

# Texts of users and of files are shown as they are: no markup, no emoji codes.
out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


def show_json(document: Any) -> None:
    """Print one JSON document on standard output, and nothing else."""
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    # Half a surrogate pair, as in a query that is no UTF-8, cannot be written; its escape is the same JSON.
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; numbers are right-aligned, floats have three decimals."""
    table = Table(title=Text(printable(title)), title_justify="left", header_style="bold")
    for index, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float) or row[index] is None for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell(value) for value in row))
    out.print(table)


def show_fields(title: str, fields: Mapping[str, object]) -> None:
    """Print names and values, one a line."""
    show_table(title, ("", ""), list(fields.items()))


def show_document(title: str, document: Mapping[str, object], as_json: bool) -> None:
    """Print a document as names and values, or as JSON."""
    if as_json:
        show_json(document)
    else:
        show_fields(title, document)


def cell(value: object) -> Text:
    """A table cell: the value's text, never read as markup."""
    return Text(printable(plain(value)))


def printable(text: str) -> str:
    """Text without the control characters that a terminal would obey."""
    return "".join(
        character for character in text if character in "\n\t" or character.isprintable() or character == " "
    )


def say(message: str) -> None:
    """Print a line of progress for a person, on standard error so that `--json` stays clean."""
    err.print(printable(message))


@contextmanager
def progress(label: str) -> Iterator[ProgressCallback]:
    """A progress bar on a terminal, silence elsewhere. Yields `callback(done, total)`."""
    if not err.is_terminal:
        yield lambda done, total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
