"""Rows of a JSON file, one after the other, each with its place, whatever a download did to the file.

Two layouts are told apart by the first character: one object a line (JSONL), or one list of objects. Both are read as
a stream: memory holds one row, not the file. A byte order mark, CRLF and blank lines are accepted. What is no row is an
`InputError` with file, line and the number of good rows before it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import ValidationError

from engrain.data_builders.sources.rows import (
    HALF_CHARACTER,
    LONE_HALF,
    Row,
    fault_at,
    has_half_character,
    parse_json,
    reason,
)
from engrain.runtime.errors import InputError

Built = TypeVar("Built")
MAX_ROW = 64 * 2**20
"""Bytes of a line, or characters of a list's item, above which a row is refused: no dialogue is that long."""

_CHUNK = 2**20
_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\r\n]*")
_MAX_FAULTS_SHOWN = 3
_DECODER = json.JSONDecoder()
_CUT = "not valid JSON; the list does not end and the file seems cut off"


def json_rows(path: Path) -> Iterator[Row]:
    """The rows of a JSONL file or of a JSON list, read as they are asked for."""
    if not path.is_file():
        raise InputError(f"{path} is missing; give the path of a JSONL file")
    empty = True
    with path.open("rb") as stream:
        for row in _items(stream, path) if _starts_list(stream) else _lines(stream, path):
            empty = False
            yield row
    if empty:
        raise InputError(f"{path} has no rows")


def read_rows(path: Path, build: Callable[[Any], Built]) -> Iterator[Built]:
    """What `build` makes of each row; the row's place is added to what it refuses."""
    for row in json_rows(path):
        try:
            built = build(row.value)
        except ValidationError as error:
            raise row.fault(_faults(error)) from None
        except InputError as error:
            raise row.fault(str(error)) from None
        yield built


def _lines(stream: IO[bytes], path: Path) -> Iterator[Row]:
    number = index = 0
    while line := stream.readline(MAX_ROW + 1):
        number += 1
        if line.isspace() or line.strip() == _BOM:
            continue
        place = f"{path}, line {number}"
        if len(line) > MAX_ROW:
            raise fault_at(place, f"the line is longer than {MAX_ROW // 2**20} MiB; no row of a corpus is", index)
        try:
            value = parse_json(line)
        except UnicodeDecodeError as error:
            raise fault_at(place, f"not valid UTF-8 ({error.reason})", index) from None
        except ValueError as error:
            cut = "; it is the last line and seems cut off" if _ends_early(error, line) else ""
            raise fault_at(place, f"not valid JSON ({error}){cut}", index) from None
        yield Row(value, place, index, str(path))
        index += 1


def _items(stream: IO[bytes], path: Path) -> Iterator[Row]:
    """The items of a list, decoded from a window of the text that grows only while one item does not fit."""
    window = _Window(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), path)
    window.take("[")
    while not window.at_end():
        if window.index:
            window.take(",")
        yield window.item()


class _Window:
    """A part of a JSON list's text: where the reader is, in characters and in lines."""

    def __init__(self, source: io.TextIOWrapper, path: Path) -> None:
        self.index = 0
        self._source = source
        self._path = path
        self._text = ""
        self._position = 0
        self._line = 1
        self._whole = False

    def at_end(self) -> bool:
        """Whether the list closes here; what follows it may only be white space."""
        if self._peek() != "]":
            return False
        self._advance(self._position + 1)
        if self._peek():
            raise self._fault("there is more text after the end of the list")
        return True

    def take(self, mark: str) -> None:
        """Step over `mark`, which has to come next."""
        found = self._peek()
        if found != mark:
            raise self._fault(f"not valid JSON (expected '{mark}', found {found!r})" if found else _CUT)
        self._advance(self._position + 1)

    def item(self) -> Row:
        """The next item of the list."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._position)
                # A number at the very end of the window may go on behind it.
                if end < len(self._text) or not self._fill():
                    break
            except json.JSONDecodeError as error:
                if not self._fill():
                    raise self._bad_item(error) from None
            except (ValueError, RecursionError) as error:
                raise self._fault(f"not valid JSON ({reason(error)})") from None
        if HALF_CHARACTER.search(self._text, self._position, end) and has_half_character(value):
            raise self._fault(f"not valid JSON ({LONE_HALF})")
        row = Row(value, f"{self._path}, line {self._line}", self.index, str(self._path))
        self._advance(end)
        self.index += 1
        return row

    def _peek(self) -> str:
        """The next character that is no white space; empty at the end of the file."""
        while True:
            match = _SPACE.match(self._text, self._position)
            self._advance(match.end() if match else self._position)
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._fill():
                return ""

    def _advance(self, position: int) -> None:
        self._line += self._text.count("\n", self._position, position)
        self._position = position

    def _fill(self) -> bool:
        """Read on; whether there was more. What lies behind the reader is let go."""
        held = len(self._text) - self._position
        if self._whole or held > MAX_ROW:
            return False
        try:
            more = self._source.read(max(_CHUNK, held))
        except UnicodeDecodeError as error:
            raise self._fault(f"not valid UTF-8 ({error.reason}) at or after this line") from None
        if not more:
            self._whole = True
            return False
        self._text, self._position = self._text[self._position :] + more, 0
        return True

    def _bad_item(self, error: json.JSONDecodeError) -> InputError:
        if not self._whole:
            return self._fault(f"the item is longer than {MAX_ROW // 2**20} MiB; no row of a corpus is")
        if _at_end(error):
            return self._fault(_CUT)
        line = self._line + self._text.count("\n", self._position, error.pos)
        return self._fault(f"not valid JSON ({error.msg}, in line {line})")

    def _fault(self, what: str) -> InputError:
        return fault_at(f"{self._path}, line {self._line}", what, self.index)


def _ends_early(error: ValueError, line: bytes) -> bool:
    """Whether a line is no JSON because the file ends in the middle of it."""
    return not line.endswith(b"\n") and isinstance(error, json.JSONDecodeError) and _at_end(error)


def _at_end(error: json.JSONDecodeError) -> bool:
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")


def _starts_list(stream: IO[bytes]) -> bool:
    """Whether the first character that is no white space opens a list; the stream is set back to its start."""
    while head := stream.read(_CHUNK):
        if start := head.removeprefix(_BOM).lstrip():
            stream.seek(0)
            return start.startswith(b"[")
    stream.seek(0)
    return False


def _faults(error: ValidationError) -> str:
    faults = error.errors()
    shown = [f"{'.'.join(map(str, fault['loc'])) or 'row'}: {fault['msg']}" for fault in faults[:_MAX_FAULTS_SHOWN]]
    more = f" (and {len(faults) - len(shown)} more)" if len(faults) > len(shown) else ""
    return "; ".join(shown) + more
