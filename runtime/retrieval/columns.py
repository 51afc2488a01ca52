"""Fields of indexed records by column, so that a filter looks at each distinct value once."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.errors import InputError
from engrain.runtime.filters import METADATA_PREFIX, RECORD_FIELDS, All, Compare, Condition, Not
from engrain.runtime.storage.protocol import IndexedRecord

MaskArray = NDArray[np.bool_]

_READERS: dict[str, Callable[[IndexedRecord, str], Any]] = {
    "id": lambda record, session: record.id,
    "session_id": lambda record, session: session,
    "memory": lambda record, session: record.content,
    "speaker": lambda record, session: record.speaker,
    "memory_type": lambda record, session: record.memory_type and record.memory_type.value,
    "time": lambda record, session: record.time,
    "location": lambda record, session: record.location,
    "keywords": lambda record, session: list(record.keywords),
    "created_at": lambda record, session: record.source_time,
    "ingested_at": lambda record, session: record.ingest_time,
}
assert set(_READERS) == set(RECORD_FIELDS)


class _Column:
    """Distinct values and, by slot, which of them; -1 where the field is absent."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.codes = array("i")
        self._known: dict[str, int] = {}

    def append(self, value: Any) -> None:
        if value is None:
            self.codes.append(-1)
            return
        name = value if isinstance(value, str) else json.dumps(value, default=str) + type(value).__name__
        code = self._known.setdefault(f"{type(value) is str:d}{name}", len(self.values))
        if code == len(self.values):
            self.values.append(value)
        self.codes.append(code)


class Columns:
    """Fields of every slot. A column is made when a filter first names its field, and then kept up."""

    def __init__(self) -> None:
        self._records: list[tuple[IndexedRecord, str]] = []
        self._columns: dict[str, _Column] = {}
        self._metadata: set[str] = set()

    def record(self, slot: int) -> IndexedRecord:
        """What was added at a slot."""
        return self._records[slot][0]

    def add(self, record: IndexedRecord, session_id: str) -> None:
        """Describe the next slot."""
        self._records.append((record, session_id))
        self._metadata.update(record.metadata)

    def matching(self, condition: Condition) -> MaskArray:
        """Slots that satisfy a condition. Raises `InputError` for a field that no record of the user has."""
        if isinstance(condition, Compare):
            return self._compared(condition)
        if isinstance(condition, Not):
            return ~self.matching(condition.part)
        masks = [self.matching(part) for part in condition.parts]
        join = np.logical_and if isinstance(condition, All) else np.logical_or
        joined: MaskArray = join.reduce(masks)
        return joined

    def _compared(self, compare: Compare) -> MaskArray:
        column = self._column(compare.field)
        # The last entry stands for "absent", which is what code -1 points at.
        verdicts = np.array([*map(compare.holds, column.values), compare.holds(None)], np.bool_)
        return verdicts[np.array(column.codes, np.int32)]

    def _column(self, field: str) -> _Column:
        read = self._reader(field)
        column = self._columns.setdefault(field, _Column())
        for record, session_id in self._records[len(column.codes) :]:
            column.append(read(record, session_id))
        return column

    def _reader(self, field: str) -> Callable[[IndexedRecord, str], Any]:
        if field in _READERS:
            return _READERS[field]
        name = field.removeprefix(METADATA_PREFIX)
        if name not in self._metadata and self._records:
            known = ", ".join([*RECORD_FIELDS, *sorted(self._metadata)])
            raise InputError(f"filter: the field '{field}' is unknown; known are {known}")
        return lambda record, session_id: record.metadata.get(name)
