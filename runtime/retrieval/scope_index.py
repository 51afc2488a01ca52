"""Everything that is searched for one user, in memory, derived from the store's rows and caught up before each search.

Records are documents of a lexical index and rows of a vector matrix, under the same slot. Turns are documents of a
second lexical index: they are the context of their neighbours' records, and rejected ones can be searched when asked.
"""

from __future__ import annotations

import threading
from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.retrieval.analysis import index_terms
from engrain.runtime.retrieval.dense import VectorMatrix
from engrain.runtime.retrieval.lexical import Context, LexicalIndex
from engrain.runtime.retrieval.neighbours import Neighbours
from engrain.runtime.retrieval.surface import lexical_text, spoken
from engrain.runtime.schema import Status
from engrain.runtime.storage.protocol import Admission, Delta, IndexedRecord, IndexedTurn

MaskArray = NDArray[np.bool_]

_SPARE_SLOTS = 1_000
"""Dead slots that are always tolerated; beyond them, and beyond half of all, the index is built again."""


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """Narrows a search inside one user's memory; None matches everything."""

    agent_id: str | None = None
    run_id: str | None = None


class _Entries:
    """Key, scope and whether it may be found, of every slot of one index."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self._wanted = bytearray()
        self._agents, self._runs = array("i"), array("i")
        self._codes: dict[str, int] = {}

    def add(self, key: int, agent_id: str | None, run_id: str | None, wanted: bool) -> None:
        """Describe the next slot."""
        self.keys.append(key)
        self._wanted.append(wanted)
        self._agents.append(self._code(agent_id))
        self._runs.append(self._code(run_id))

    def passing(self, scope: ScopeFilter) -> MaskArray:
        """Slots that may be found and that the filter lets through."""
        mask = np.frombuffer(bytes(self._wanted), dtype=np.bool_)
        for asked, codes in ((scope.agent_id, self._agents), (scope.run_id, self._runs)):
            if asked is not None:
                mask = mask & (np.array(codes, np.int32) == self._codes.get(asked, -2))
        return mask

    def _code(self, name: str | None) -> int:
        return -1 if name is None else self._codes.setdefault(name, len(self._codes))


class ScopeIndex:
    """The indexes of one user. Hold `lock` around every call."""

    def __init__(self, dimension: int) -> None:
        self.lock = threading.RLock()
        self.dimension = dimension
        self.version = 0
        self._clear()

    def _clear(self) -> None:
        self.records = LexicalIndex()
        self.vectors = VectorMatrix(self.dimension)
        self.turns = LexicalIndex()
        self._neighbours = Neighbours()
        self._record_entries = _Entries()
        self._turn_entries = _Entries()
        self._record_slots: dict[int, int] = {}
        self._turn_slots: dict[int, int] = {}
        self._turn_places: dict[int, tuple[object, float]] = {}
        self._first_turn, self._last_turn = array("i"), array("i")
        self._own_turn = array("i")
        self._turn_words: dict[int, int] = {}
        self._context: Context | None = None

    @property
    def is_sparse(self) -> bool:
        """Whether removed documents take up so much room that building again is better."""
        dead = self.records.slots - len(self.records) + self.turns.slots - len(self.turns)
        return dead > _SPARE_SLOTS + len(self.records) + len(self.turns)

    def catch_up(self, delta: Delta) -> None:
        """Take over what changed in the store. Rows that are already here are replaced."""
        if delta.restart:
            self._clear()
        for key in delta.removed_records:
            self._remove_record(key)
        for key in delta.removed_turns:
            self._remove_turn(key)
        # A record that repeats its turn word for word, as all do without an extractor, is not analysed again.
        analysed: dict[str, list[str]] = {}
        for turn in delta.turns:
            self._add_turn(turn, analysed)
        for record in delta.records:
            self._add_record(record, analysed)
        self._context = None
        self.version = delta.version

    def context(self, weight: float) -> Context:
        """The turns around every record, and its own source turn where the record says it in other words."""
        if self._context is None or self._context.weight != np.float32(weight):
            previous, following = (np.append(side, np.int32(-1)) for side in self._neighbours.around())
            first, last = np.array(self._first_turn, np.int32), np.array(self._last_turn, np.int32)
            sides = (previous[first], following[last], np.array(self._own_turn, np.int32))
            self._context = Context(self.turns, sides, weight)
        return self._context

    def allowed_records(self, scope: ScopeFilter) -> MaskArray:
        """Active records that the filter lets through, by slot."""
        return self._record_entries.passing(scope) & self.records.alive

    def allowed_rejected(self, scope: ScopeFilter) -> MaskArray:
        """Rejected turns that the filter lets through and that no record draws on, by slot."""
        mask = self._turn_entries.passing(scope) & self.turns.alive
        used = np.array(self._first_turn + self._last_turn, np.int32)
        mask[used[used >= 0]] = False
        return mask

    def record_key(self, slot: int) -> int:
        """The store's key of a record."""
        return self._record_entries.keys[slot]

    def turn_key(self, slot: int) -> int:
        """The store's key of a turn."""
        return self._turn_entries.keys[slot]

    def holds(self, record_key: int, term: str) -> bool:
        """Whether a record itself, not its neighbours, has a term."""
        documents, _ = self.records.frequencies(term)
        slot = self._record_slots[record_key]
        place = int(np.searchsorted(documents, slot))
        return place < len(documents) and int(documents[place]) == slot

    def _add_record(self, record: IndexedRecord, analysed: dict[str, list[str]]) -> None:
        self._remove_record(record.key)
        text = lexical_text(record)
        slot = self.records.add(analysed.get(text) or index_terms(text))
        self.vectors.add(record.vector)
        searchable = record.status is Status.ACTIVE
        self._record_entries.add(record.key, record.agent_id, record.run_id, searchable)
        self._record_slots[record.key] = slot
        sources = [self._turn_slots.get(key, -1) for key in record.turn_keys] or [-1]
        # A record that repeats its source word for word would count every word of it again.
        repeats = any(self._turn_words.get(key) == hash(text) for key in record.turn_keys)
        self._own_turn.append(-1 if repeats else sources[0])
        self._first_turn.append(sources[0])
        self._last_turn.append(sources[-1])

    def _add_turn(self, turn: IndexedTurn, analysed: dict[str, list[str]]) -> None:
        self._remove_turn(turn.key)
        text = spoken(turn.speaker, turn.text)
        analysed[text] = index_terms(text)
        slot = self.turns.add(analysed[text])
        rejected = turn.admission is Admission.REJECTED
        self._turn_entries.add(turn.key, turn.agent_id, turn.run_id, rejected)
        self._turn_slots[turn.key] = slot
        self._turn_words[turn.key] = hash(text)
        session = (turn.agent_id, turn.run_id, turn.session_id)
        self._neighbours.add(session, turn.moment, turn.key, slot)
        self._turn_places[turn.key] = (session, turn.moment)

    def _remove_record(self, key: int) -> None:
        slot = self._record_slots.pop(key, None)
        if slot is not None:
            self.records.remove(slot)
            self._first_turn[slot] = self._last_turn[slot] = self._own_turn[slot] = -1

    def _remove_turn(self, key: int) -> None:
        slot = self._turn_slots.pop(key, None)
        if slot is not None:
            session, moment = self._turn_places.pop(key)
            del self._turn_words[key]
            self.turns.remove(slot)
            self._neighbours.remove(session, moment, key, slot)
