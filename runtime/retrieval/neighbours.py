"""Which turn stands before and after which, session by session, as turns arrive in any order."""

from __future__ import annotations

from array import array
from bisect import insort
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
        self._dirty: set[Hashable] = set()

    def add(self, session: Hashable, moment: float, key: int, slot: int) -> None:
        """Place a turn. Slots come in order: 0, 1, 2, ..."""
        insort(self._sessions.setdefault(session, []), (moment, key, slot))
        self._previous.append(-1)
        self._following.append(-1)
        self._dirty.add(session)

    def remove(self, session: Hashable, moment: float, key: int, slot: int) -> None:
        """Take a turn out; its neighbours become each other's."""
        self._sessions[session].remove((moment, key, slot))
        self._previous[slot] = self._following[slot] = -1
        self._dirty.add(session)

    def around(self) -> tuple[IntArray, IntArray]:
        """Previous and following slot of every slot. Only sessions that changed are walked again."""
        for session in self._dirty:
            slots = [slot for _, _, slot in self._sessions[session]]
            for before, slot, after in zip([-1, *slots[:-1]], slots, [*slots[1:], -1], strict=True):
                self._previous[slot], self._following[slot] = before, after
        self._dirty.clear()
        return np.array(self._previous, dtype=np.int32), np.array(self._following, dtype=np.int32)
