"""Which turn stands before and after which, session by session, as turns arrive in any order."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int32]
Place = tuple[float, int, int]
"""Moment, key, slot: turns of a session are ordered by time, then by arrival."""


class Neighbours:
    """Slots of the previous and next turn by slot; -1 where there is none."""

    def __init__(self) -> None:
        self._sessions: dict[Hashable, list[Place]] = {}
        self._previous = array("i")
        self._following = array("i")
        self._moved: set[int] = set()

    def add(self, session: Hashable, moment: float, key: int, slot: int) -> None:
        """Place a turn. Slots come in order: 0, 1, 2, ..."""
        places = self._sessions.setdefault(session, [])
        place = (moment, key, slot)
        index = bisect_left(places, place)
        places.insert(index, place)
        before = places[index - 1][2] if index else -1
        after = places[index + 1][2] if index + 1 < len(places) else -1
        self._previous.append(before)
        self._following.append(after)
        self._moved.add(slot)
        self._join(before, slot)
        self._join(slot, after)

    def remove(self, session: Hashable, moment: float, key: int, slot: int) -> None:
        """Take a turn out; its neighbours become each other's."""
        places = self._sessions[session]
        del places[bisect_left(places, (moment, key, slot))]
        before, after = self._previous[slot], self._following[slot]
        self._previous[slot] = self._following[slot] = -1
        self._join(before, after)

    def around(self, slots: IntArray) -> tuple[IntArray, IntArray]:
        """Previous and following slot of some slots; -1 for -1."""
        return self.before(slots), self.after(slots)

    def before(self, slots: IntArray) -> IntArray:
        """Previous slot of some slots; -1 for -1."""
        return _beside(self._previous, slots)

    def after(self, slots: IntArray) -> IntArray:
        """Following slot of some slots; -1 for -1."""
        return _beside(self._following, slots)

    def moved(self) -> set[int]:
        """Slots whose neighbours have changed since the last call."""
        moved, self._moved = self._moved, set()
        return moved

    def _join(self, before: int, after: int) -> None:
        if before >= 0:
            self._following[before] = after
            self._moved.add(before)
        if after >= 0:
            self._previous[after] = before
            self._moved.add(after)


def _beside(side: array[int], slots: IntArray) -> IntArray:
    if not len(side):
        return np.full(len(slots), -1, np.int32)
    beside: IntArray = np.where(slots < 0, np.int32(-1), np.frombuffer(side, np.int32)[slots])
    return beside
