"""A row of a corpus: its value, its place, and what is said when it is not in the layout that its corpus has."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from engrain.runtime.errors import InputError

HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that may be half of a character outside the basic plane."""
LONE_HALF = "an escape such as \\ud83d lacks its other half"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Row:
    """A parsed row. `place` names file and line; `index` is the number of rows before it, all of them good."""

    value: Any
    place: str
    index: int
    file: str = ""

    def fault(self, what: str) -> InputError:
        """The error of this row: where it is, what is wrong, how much before it is good."""
        return fault_at(self.place, what, self.index)

    def fields(self, layout: str, *keys: str) -> dict[str, Any]:
        """The row as an object that has `keys`; otherwise an error with what `layout` expects and what was found."""
        return self.check(self.value, layout, *keys)

    def entries(self, layout: str, key: str, *keys: str) -> list[dict[str, Any]]:
        """The list of objects under `key`, each with `keys`."""
        listed = self.fields(layout, key)[key]
        if not isinstance(listed, list):
            raise self.fault(f"not {layout}'s layout; expected `{key}` to be a list, found {_kind(listed)}")
        return [self.check(entry, layout, *keys, at=f"{key} {number}") for number, entry in enumerate(listed, start=1)]

    def check(self, value: Any, layout: str, *keys: str, at: str = "") -> dict[str, Any]:
        """`value` as an object that has `keys`; `at` says where in the row it stands."""
        if isinstance(value, dict) and all(key in value for key in keys):
            return value
        found = ", ".join(sorted(map(str, value))) or "an empty object" if isinstance(value, dict) else _kind(value)
        where = f"{at}: " if at else ""
        raise self.fault(
            f"{where}not {layout}'s layout; expected an object with {', '.join(keys) or 'keys'}; found {found}"
        )


def parse_json(data: bytes) -> Any:
    """The value of a JSON document in UTF-8, with or without a byte order mark.

    Every fault is a `ValueError` of one line: bad syntax, bad UTF-8, a number too long to read, nesting too deep, or a
    lone surrogate (an escape such as `\\ud83d` without its other half), which no file or database could hold.
    """
    return _parse(data.removeprefix(_BOM).decode("utf-8"))


def _parse(text: str) -> Any:
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(reason(error)) from None
    if HALF_CHARACTER.search(text) and has_half_character(value):
        raise ValueError(LONE_HALF)
    return value


def reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def has_half_character(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def fault_at(place: str, what: str, good: int) -> InputError:
    rows = "1 row before it is" if good == 1 else f"{good} rows before it are"
    return InputError(f"{place}: {what}; the {rows} good")


def _kind(value: Any) -> str:
    names = {"NoneType": "null", "dict": "an object", "list": "a list", "str": "a string", "bool": "true or false"}
    return names.get(type(value).__name__, "a number")
