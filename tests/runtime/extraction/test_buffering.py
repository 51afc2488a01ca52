"""A buffer hands over full windows, keeps people and sessions apart, and loses nothing when a window fails."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.errors import InputError, ModelServiceError
from engrain.runtime.extraction.buffering import WindowBuffer
from engrain.runtime.memory import Memory

MOMENT = datetime(2026, 3, 2, tzinfo=UTC)


class Recording:
    """Remembers what it was asked to add; fails when told to."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], dict[str, Any]]] = []
        self.failing = False

    def add(self, messages: Any, **arguments: Any) -> int:
        if self.failing:
            raise ModelServiceError("no answer")
        self.calls.append(([message["content"] for message in messages], arguments))
        return len(messages)


def test_windows_are_full_and_overlap_in_size_only() -> None:
    memory = Recording()
    buffer = WindowBuffer(memory, size=4, overlap=1)
    sizes = [buffer.add(f"m{n}", user_id="ana", session_id="s", timestamp=MOMENT) for n in range(9)]
    # The first window has 4 new messages, later ones 3: the fourth is the context that `Memory` gives by itself.
    assert [result for result in sizes if result] == [[4], [3]]
    assert buffer.held == 2
    assert buffer.flush() == [2]
    assert (buffer.held, buffer.flush()) == (0, [])
    assert [texts for texts, _ in memory.calls] == [["m0", "m1", "m2", "m3"], ["m4", "m5", "m6"], ["m7", "m8"]]
    assert memory.calls[0][1] == {"user_id": "ana", "session_id": "s"}


def test_people_and_sessions_are_kept_apart() -> None:
    memory = Recording()
    with WindowBuffer(memory, size=3) as buffer:
        for user, session in (("ana", "s"), ("rui", "s"), ("ana", "t")):
            buffer.add([f"{user} {session} {n}" for n in range(2)], user_id=user, session_id=session, timestamp=MOMENT)
        assert (buffer.held, memory.calls) == (6, [])
    assert [texts for texts, _ in memory.calls] == [
        [f"{user} {session} {n}" for n in range(2)] for user, session in (("ana", "s"), ("rui", "s"), ("ana", "t"))
    ]


def test_a_window_that_fails_stays_held() -> None:
    memory = Recording()
    buffer = WindowBuffer(memory, size=2)
    buffer.add("a", user_id="ana", session_id="s", timestamp=MOMENT)
    memory.failing = True
    with pytest.raises(ModelServiceError):
        buffer.add("b", user_id="ana", session_id="s", timestamp=MOMENT)
    assert buffer.held == 2
    memory.failing = False
    assert buffer.flush() == [2]


def test_a_memory_stores_what_the_buffer_hands_over(embedder_bundle: Path, tmp_path: Path) -> None:
    with (
        Memory.open(tmp_path / "memory.db", embedder=embedder_bundle) as memory,
        WindowBuffer(memory, size=3) as buffer,
    ):
        for n in range(4):
            buffer.add(f"I keep goat {n}.", user_id="ana", session_id="s", timestamp=MOMENT)
        assert len(memory.search("goat", user_id="ana").results) == 3
        buffer.flush()
        assert len(memory.search("goat", user_id="ana").results) == 4


def test_a_window_needs_room_for_a_new_message() -> None:
    with pytest.raises(InputError, match="the overlap must be smaller"):
        WindowBuffer(Recording(), size=3, overlap=3)
