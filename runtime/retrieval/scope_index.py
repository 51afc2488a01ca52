"""Everything that is searched for one user, in memory, derived from the store's rows and caught up before each search.

Records are documents of a lexical index and rows of a vector index, under the same slot. A record's bag of words holds
its own words, and at a part of their count those of the turns before and after its sources, and of the source itself
where the record says it in other words. Turns are bags too; rejected ones can be searched when asked.
"""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.retrieval.analysis import index_terms
from engrain.runtime.retrieval.bags import Bags, summed
from engrain.runtime.retrieval.candidates import Candidates, FloatArray, IntArray
from engrain.runtime.retrieval.dense import VectorIndex
from engrain.runtime.retrieval.dimension_index import DimensionIndex
from engrain.runtime.retrieval.entries import RecordEntries, ScopeFilter, TurnEntries
from engrain.runtime.retrieval.lexical import LexicalIndex, Vocabulary
from engrain.runtime.retrieval.neighbours import Neighbours
from engrain.runtime.retrieval.surface import lexical_text, spoken
from engrain.runtime.schema import Status
from engrain.runtime.storage.protocol import Delta, IndexedRecord, IndexedTurn, Selection, Vectors

__all__ = ["ScopeFilter", "ScopeIndex"]

MaskArray = NDArray[np.bool_]

_SPARE_SLOTS = 1_000
"""Dead slots that are always tolerated; beyond them, and beyond half of all, the index is built again."""
_NONE, _SEVERAL = -1, -2
"""Instead of the slot of the one record that is drawn from a turn."""
ACTIVE_ONLY = frozenset({Status.ACTIVE})


class ScopeIndex:
    """The indexes of one user. Hold `lock` around every call.

    `neighbour_weight` is what a word of a turn beside a record's source counts in the record's bag, halved with every
    turn further away, `neighbour_reach` turns on each side.
    """

    def __init__(self, dimension: int, neighbour_weight: float, neighbour_reach: int = 2) -> None:
        self.lock = threading.RLock()
        self.dimension = dimension
        self.neighbour_weight = neighbour_weight
        self.neighbour_reach = neighbour_reach if neighbour_weight else 0
        self.version = 0
        self._clear()

    def _clear(self) -> None:
        self.vectors = VectorIndex(self.dimension)
        self._vocabulary = Vocabulary()
        self._lexical = LexicalIndex()
        self._own_bags, self._turn_bags, self._own_words = Bags(), Bags(), array("f")
        self._rejected: LexicalIndex | None = None
        self._neighbours = Neighbours()
        self._entries = RecordEntries()
        self._turn_entries = TurnEntries()
        self._record_slots: dict[int, int] = {}
        self._turn_slots: dict[int, int] = {}
        self._turn_places: dict[int, tuple[tuple[str | None, str | None, str], float]] = {}
        self._turn_words: dict[int, int] = {}
        self._drawn: dict[int, list[int]] = {}
        self._sole = array("i")
        self._window_lengths = np.empty(0, np.float32)
        self._first_turn, self._last_turn, self._own_turn = array("i"), array("i"), array("i")
        self.dimensions = DimensionIndex()
        self._speakers, self._speaker_codes = array("i"), dict[str, int]()

    def __len__(self) -> int:
        """Documents that are held: live records and turns."""
        return len(self._record_slots) + len(self._turn_slots)

    @property
    def is_sparse(self) -> bool:
        """Whether removed documents take up so much room that building again is better."""
        slots = len(self._own_bags) + len(self._turn_bags)
        return slots - len(self) > _SPARE_SLOTS + len(self)

    def catch_up(self, delta: Delta) -> None:
        """Take over what changed in the store. Rows that are already here are replaced."""
        if delta.restart:
            self._clear()
        for key in delta.removed_records:
            self._remove_record(key)
        for key in delta.removed_turns:
            self._remove_turn(key)
        # A record that repeats its turn word for word, as all do without an extractor, is not analysed again.
        analysed: dict[str, tuple[list[int], list[int]]] = {}
        for turn in delta.turns:
            self._add_turn(turn, analysed)
        changed = {self._add_record(record, analysed) for record in delta.records}
        if delta.records:
            self.vectors.extend(delta.vectors)
        if delta.turns or delta.removed_turns:
            self._rejected = None
        for turn_slot in self._within_reach(self._neighbours.moved()):
            changed.update(self._drawn.get(turn_slot, ()))
        self._index_words(np.array(sorted(changed), np.int32))
        self._window_lengths = np.empty(0, np.float32)
        self.version = delta.version

    @classmethod
    def of(cls, selection: Selection, dimension: int, neighbour_weight: float, neighbour_reach: int) -> Self:
        """An index of candidates that a store chose from a larger scope, scored by the statistics of the whole."""
        index = cls(dimension, neighbour_weight, neighbour_reach)
        index.catch_up(selection.delta)
        counts = selection.frequencies
        numbers = {number: counts[term] for term in counts for number in index._vocabulary.known([term])}
        index._lexical.stand_for(selection.documents, numbers)
        return index

    def lexical(self, terms: Sequence[str], allowed: MaskArray, depth: int) -> Candidates:
        """The best allowed records by BM25, with a score above 0."""
        return self._lexical.best(self._vocabulary.known(terms), allowed, depth)

    def dense(self, vector: Vectors, allowed: MaskArray, depth: int) -> Candidates:
        """The best allowed records by cosine."""
        return self.vectors.best(vector, allowed, depth)

    def lexical_scores(self, terms: Sequence[str], slots: IntArray) -> FloatArray:
        """BM25 of some records."""
        return self._lexical.scores_of(self._vocabulary.known(terms), slots)

    def dense_scores(self, vector: Vectors, slots: IntArray) -> FloatArray:
        """Cosine of some records."""
        return self.vectors.scores_of(vector, slots)

    def lexical_bound(self, terms: Sequence[str]) -> float:
        """What no record can score by BM25 for these terms; 0 when none of them is known."""
        return self._lexical.bound(self._vocabulary.known(terms))

    def window_scores(self, vector: Vectors, slots: IntArray) -> FloatArray:
        """Cosine of a normalised query with the weighted sum of a record's vector and those around it.

        Around it are the records drawn from the turns beside its sources, weighted as their words are; a turn that
        several records come from counts once.
        """
        places, around, weights = self._around(slots)
        held = np.concatenate((slots, around))
        found = self.vectors.scores_of(vector, held)
        parts = np.bincount(places, weights=weights * found[len(slots) :], minlength=len(slots))
        scores: FloatArray = (found[: len(slots)] + parts).astype(np.float32) / self._lengths_of(slots)
        return scores

    def words(self, slots: IntArray) -> FloatArray:
        """Terms of some records, their own only."""
        counted: FloatArray = np.frombuffer(self._own_words, np.float32)[slots]
        return counted

    def spoken_by(self, names: Collection[str], slots: IntArray) -> MaskArray:
        """Whether one of `names` is the speaker of each of some records."""
        speakers = np.frombuffer(self._speakers, np.int32)[slots]
        spoken_by = np.zeros(len(slots), np.bool_)
        for name in names:  # rarely more than one
            spoken_by |= speakers == self._speaker_codes[name]
        return spoken_by

    @property
    def speakers(self) -> tuple[str, ...]:
        """Names of everyone a record comes from."""
        return tuple(self._speaker_codes)

    def rejected_bound(self, terms: Sequence[str]) -> float:
        """What no rejected turn can score by BM25 for these terms; 0 before the first search for them."""
        return self._rejected.bound(self._vocabulary.known(terms)) if self._rejected else 0.0

    def rejected(self, terms: Sequence[str], scope: ScopeFilter, depth: int) -> Candidates:
        """The best turns that the gate rejected, by their own words. The first search builds their index."""
        if self._rejected is None:
            self._rejected = LexicalIndex()
            slots = np.array(sorted(self._turn_slots.values()), np.int32)
            self._rejected.put(slots, *self._turn_bags.gather(slots))
        mask = self._turn_entries.rejected(scope).copy()
        used = np.array(self._first_turn + self._last_turn, np.int32)
        mask[used[used >= 0]] = False
        return self._rejected.best(self._vocabulary.known(terms), mask, depth)

    def allowed_records(self, scope: ScopeFilter, statuses: Collection[Status] = ACTIVE_ONLY) -> MaskArray:
        """Records of these statuses that the filter lets through, by slot. Not to be written to."""
        return self._entries.passing(scope, statuses)

    def content(self, slot: int) -> str:
        """A record's text."""
        return self._entries.columns.record(slot).content

    def record_key(self, slot: int) -> int:
        """The store's key of a record."""
        return self._entries.keys[slot]

    def turn_key(self, slot: int) -> int:
        """The store's key of a turn."""
        return self._turn_entries.keys[slot]

    def matched(self, terms: Sequence[str], slot: int) -> tuple[str, ...]:
        """Those of `terms` that a record itself, not its neighbours, has."""
        _, held, _ = self._own_bags.gather(np.array([slot], np.int32))
        numbers = set(held.tolist())
        return tuple(term for term in dict.fromkeys(terms) if any(n in numbers for n in self._vocabulary.known([term])))

    def _index_words(self, slots: IntArray) -> None:
        """Put the bags of some records into the lexical index: own words, and the words around them."""
        if not len(slots):
            return
        first, last, own = (
            np.frombuffer(side, np.int32)[slots] for side in (self._first_turn, self._last_turn, self._own_turn)
        )
        parts, weights = [self._own_bags.gather(slots)], [1.0]
        if self.neighbour_weight:
            parts.append(self._turn_bags.gather(own))
            weights.append(self.neighbour_weight)
        for weight, before, after in self._sides(first, last):
            parts += [self._turn_bags.gather(side) for side in (before, after)]
            weights += [weight, weight]
        owners = np.concatenate([np.repeat(np.arange(len(slots), dtype=np.int32), sizes) for sizes, _, _ in parts])
        counts = np.concatenate([part[2] * np.float32(weight) for part, weight in zip(parts, weights, strict=True)])
        self._lexical.put(slots, *summed(owners, np.concatenate([part[1] for part in parts]), counts, len(slots)))

    def _sides(self, first: IntArray, last: IntArray) -> Iterator[tuple[float, IntArray, IntArray]]:
        """The turns before `first` and after `last` (slots of turns), nearest ones first, each with its weight."""
        before, after, weight = first, last, self.neighbour_weight
        for _ in range(self.neighbour_reach):
            before, after = self._neighbours.before(before), self._neighbours.after(after)
            yield weight, before, after
            weight /= 2

    def _around(self, slots: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Records in the windows of `slots`: the place of the window, the record's slot, its weight."""
        first, last = (np.frombuffer(side, np.int32)[slots] for side in (self._first_turn, self._last_turn))
        places, around, weights = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [np.empty(0, np.float32)]
        for weight, *sides in self._sides(first, last) if self._sole else ():
            for side in sides:
                sole = np.where(side < 0, _NONE, np.frombuffer(self._sole, np.int32)[side])
                held = (sole >= 0).nonzero()[0].astype(np.int32)
                places.append(held)
                around.append(sole[held])
                weights.append(np.full(len(held), weight, np.float32))
                for place in (sole == _SEVERAL).nonzero()[0].tolist():
                    drawn = self._drawn[int(side[place])]
                    places.append(np.full(len(drawn), place, np.int32))
                    around.append(np.array(drawn, np.int32))
                    weights.append(np.full(len(drawn), weight / len(drawn), np.float32))
        return np.concatenate(places), np.concatenate(around), np.concatenate(weights)

    def _lengths_of(self, slots: IntArray) -> FloatArray:
        """Euclidean lengths of the windows of some records, kept until the next change."""
        if len(self._window_lengths) < len(self._entries.keys):
            self._window_lengths = np.full(len(self._entries.keys), np.nan, np.float32)
        missing = slots[np.isnan(self._window_lengths[slots])]
        if len(missing):
            places, around, weights = self._around(missing)
            windows = self.vectors.rows_of(missing)
            np.add.at(windows, places, self.vectors.rows_of(around) * weights[:, None])
            self._window_lengths[missing] = np.maximum(np.linalg.norm(windows, axis=1), np.float32(1e-12))
        lengths: FloatArray = self._window_lengths[slots]
        return lengths

    def _within_reach(self, moved: set[int]) -> set[int]:
        """Turns whose surroundings may have changed: those that moved, and the turns that see them."""
        reached, edge = set(moved), np.array(sorted(moved), np.int32)
        for _ in range(self.neighbour_reach - 1):
            edge = np.setdiff1d(np.concatenate(self._neighbours.around(edge)), np.array([-1], np.int32))
            reached.update(edge.tolist())
        return reached

    def _add_record(self, record: IndexedRecord, analysed: dict[str, tuple[list[int], list[int]]]) -> int:
        self._remove_record(record.key)
        text = lexical_text(record)
        bag = analysed.get(text) or self._bag(text)
        slot = self._own_bags.append(*bag)
        self._own_words.append(sum(bag[1]))
        sources = [self._turn_slots.get(key, -1) for key in record.turn_keys] or [-1]
        session = self._turn_places[record.turn_keys[0]][0][2] if sources[0] >= 0 else ""
        self._entries.add(record, session)
        self._record_slots[record.key] = slot
        self._speakers.append(self._speaker_codes.setdefault(record.speaker, len(self._speaker_codes)))
        # A record that repeats its source word for word would count every word of it again.
        repeats = any(self._turn_words.get(key) == hash(text) for key in record.turn_keys)
        self._own_turn.append(-1 if repeats else sources[0])
        self._first_turn.append(sources[0])
        self._last_turn.append(sources[-1])
        for turn in {sources[0], sources[-1]}:
            self._drawn.setdefault(turn, []).append(slot)
            self._note_drawn(turn)
        if record.memory_type is not None:
            self.dimensions.add(slot, record)
        return slot

    def _add_turn(self, turn: IndexedTurn, analysed: dict[str, tuple[list[int], list[int]]]) -> None:
        self._remove_turn(turn.key)
        text = spoken(turn.speaker, turn.text)
        bag = analysed.get(text) or self._bag(text)
        analysed[text] = bag
        slot = self._turn_bags.append(*bag)
        self._turn_entries.add(turn)
        self._sole.append(_NONE)
        self._turn_slots[turn.key] = slot
        self._turn_words[turn.key] = hash(text)
        session = (turn.agent_id, turn.run_id, turn.session_id)
        self._neighbours.add(session, turn.moment, turn.key, slot)
        self._turn_places[turn.key] = (session, turn.moment)

    def _note_drawn(self, turn: int) -> None:
        """Keep `_sole` beside `_drawn`: nearly every turn has one record or none, and those need no lists."""
        if turn >= 0:
            drawn = self._drawn[turn]
            self._sole[turn] = _SEVERAL if len(drawn) > 1 else drawn[0] if drawn else _NONE

    def _bag(self, text: str) -> tuple[list[int], list[int]]:
        return self._vocabulary.bag(Counter(index_terms(text)))

    def _remove_record(self, key: int) -> None:
        slot = self._record_slots.pop(key, None)
        if slot is None:
            return
        for turn in {self._first_turn[slot], self._last_turn[slot]}:
            self._drawn[turn].remove(slot)
            self._note_drawn(turn)
        self._lexical.remove(slot)
        self._entries.remove(slot)
        self.dimensions.remove(slot)
        self._first_turn[slot] = self._last_turn[slot] = self._own_turn[slot] = -1

    def _remove_turn(self, key: int) -> None:
        slot = self._turn_slots.pop(key, None)
        if slot is not None:
            session, moment = self._turn_places.pop(key)
            del self._turn_words[key]
            self._turn_bags.clear(slot)
            self._turn_entries.remove(slot)
            self._neighbours.remove(session, moment, key, slot)
