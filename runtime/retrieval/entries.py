"""Who owns what is indexed and when it held: which slots a search may find, before any of them is ranked."""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.filters import Condition
from engrain.runtime.retrieval.columns import Columns
from engrain.runtime.schema import Status
from engrain.runtime.storage.protocol import Admission, IndexedRecord, IndexedTurn

MaskArray = NDArray[np.bool_]

_CODES = {status: code for code, status in enumerate(Status, start=1)}
_GONE = 0


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """Narrows a search inside one user's memory; None matches everything.

    `as_of` answers from what had been said by then, as the memory stood then: later records are left out, and what
    they replaced counts as active. `as_of_ingest` does the same by when records were written and decisions taken.
    """

    agent_id: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    where: Condition | None = None
    as_of: datetime | None = None
    as_of_ingest: datetime | None = None

    @property
    def is_present(self) -> bool:
        """Whether the memory is asked as it stands now."""
        return self.as_of is None and self.as_of_ingest is None

    @property
    def is_open(self) -> bool:
        """Whether everything of the user passes."""
        return self == _OPEN


_OPEN = ScopeFilter()


class _Owners:
    """Agent, run and session of every slot, as numbers."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._columns = (array("i"), array("i"), array("i"))

    def add(self, *owners: str | None) -> None:
        for column, name in zip(self._columns, owners, strict=True):
            column.append(-1 if name is None else self._codes.setdefault(name, len(self._codes)))

    def narrow(self, mask: MaskArray, scope: ScopeFilter) -> MaskArray:
        for column, name in zip(self._columns, (scope.agent_id, scope.run_id, scope.session_id), strict=True):
            if name is not None:
                mask = mask & (np.array(column, np.int32) == self._codes.get(name, -2))
        return mask


class RecordEntries:
    """Of every record's slot: key, owners, status, times and fields."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.columns = Columns()
        self._owners = _Owners()
        self._statuses = bytearray()
        self._source, self._ingest = array("d"), array("d")
        self._replaced_source, self._replaced_ingest = array("d"), array("d")
        self._masks: dict[frozenset[Status], MaskArray] = {}

    def add(self, record: IndexedRecord, session_id: str) -> None:
        """Describe the next slot."""
        self.keys.append(record.key)
        self.columns.add(record, session_id)
        self._owners.add(record.agent_id, record.run_id, session_id)
        self._statuses.append(_CODES[record.status])
        self._source.append(record.source_time.timestamp())
        self._ingest.append(record.ingest_time.timestamp())
        by_source, by_ingest = _replaced(record)
        self._replaced_source.append(by_source)
        self._replaced_ingest.append(by_ingest)
        self._masks = {}

    def remove(self, slot: int) -> None:
        """The slot can no longer be found."""
        self._statuses[slot] = _GONE
        self._masks = {}

    def passing(self, scope: ScopeFilter, statuses: Collection[Status]) -> MaskArray:
        """Slots that may be found and that the filter lets through. Not to be written to."""
        wanted = frozenset(statuses)
        if scope.is_present:
            mask = self._masks.get(wanted)
            if mask is None:
                mask = self._masks[wanted] = self._of_status(wanted)
        else:
            mask = self._stood(scope, wanted)
        if scope.is_open:
            return mask
        mask = self._owners.narrow(mask, scope)
        return mask if scope.where is None else mask & self.columns.matching(scope.where)

    def _of_status(self, wanted: frozenset[Status]) -> MaskArray:
        table = np.zeros(len(_CODES) + 1, np.bool_)
        table[[_CODES[status] for status in wanted]] = True
        return table[np.frombuffer(bytes(self._statuses), np.uint8)]

    def _stood(self, scope: ScopeFilter, wanted: frozenset[Status]) -> MaskArray:
        """By what was known at a moment: said (written) by then, and not yet replaced, or replaced and wanted so."""
        there = np.frombuffer(bytes(self._statuses), np.uint8) != _GONE
        active = np.ones(len(there), np.bool_)
        for moment, begun, ended in (
            (scope.as_of, self._source, self._replaced_source),
            (scope.as_of_ingest, self._ingest, self._replaced_ingest),
        ):
            if moment is not None:
                there &= np.array(begun) <= moment.timestamp()
                active &= np.array(ended) > moment.timestamp()
        mask = self._of_status(wanted - {Status.ACTIVE}) & ~active
        stood: MaskArray = there & (mask | active if Status.ACTIVE in wanted else mask)
        return stood


def _replaced(record: IndexedRecord) -> tuple[float, float]:
    """Seconds since 1970 when a record stopped being active, by source time and by ingest time; never is infinity.

    Without knowing what replaced it, a record that is not active now was not active ever.
    """
    if record.status is Status.ACTIVE:
        return np.inf, np.inf
    if record.replaced is None:
        return -np.inf, -np.inf
    source = record.replaced.source_time
    return source.timestamp() if source else -np.inf, record.replaced.decided_at.timestamp()


class TurnEntries:
    """Of every turn's slot: key, owners, and whether the gate rejected it."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self._owners = _Owners()
        self._rejected = bytearray()
        self._moments = array("d")

    def add(self, turn: IndexedTurn) -> None:
        """Describe the next slot."""
        self.keys.append(turn.key)
        self._owners.add(turn.agent_id, turn.run_id, turn.session_id)
        self._rejected.append(turn.admission is Admission.REJECTED)
        self._moments.append(turn.moment)

    def remove(self, slot: int) -> None:
        """The slot can no longer be found."""
        self._rejected[slot] = False

    def rejected(self, scope: ScopeFilter) -> MaskArray:
        """Rejected turns that the filter lets through; none where it asks for what only records have."""
        mask = np.frombuffer(bytes(self._rejected), np.bool_)
        if scope.where is not None or scope.as_of_ingest is not None:
            return np.zeros(len(mask), np.bool_)
        if scope.as_of is not None:
            mask = mask & (np.array(self._moments) <= scope.as_of.timestamp())
        return self._owners.narrow(mask, scope)
