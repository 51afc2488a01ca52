"""Messages held back until a window is full, for callers who prefer full windows to records at once.

By default every `add` is extracted by itself, with the last messages of its session as context (DimMem section 3.2
cuts full windows). A buffer trades that promptness for fewer, fuller calls: what it holds is not stored yet, and is
lost with the process unless `flush` is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self

from engrain.runtime.errors import InputError


class Adding(Protocol):
    """The part of `Memory` that is used."""

    def add(self, messages: Any, **arguments: Any) -> Any:
        """Store messages and extract from them."""
        ...


class WindowBuffer:
    """Collects messages by person and session and adds them in full windows.

    `size` and `overlap` are the extractor's: a window is handed over when it has `size` messages, the first of a
    session, or `size - overlap` new ones, those after it. Use it as a context manager, or call `flush` at the end:

        with WindowBuffer(memory, size=15, overlap=3) as buffer:
            buffer.add(message, user_id="ana", session_id="monday", timestamp=moment)
    """

    def __init__(self, memory: Adding, *, size: int, overlap: int = 0) -> None:
        if not 0 <= overlap < size:
            raise InputError(f"window size {size} with overlap {overlap}: the overlap must be smaller")
        self.memory, self.size, self.overlap = memory, size, overlap
        self._held: dict[tuple[tuple[str, Any], ...], list[Mapping[str, Any]]] = {}
        self._begun: set[tuple[tuple[str, Any], ...]] = set()

    @property
    def held(self) -> int:
        """Messages that are not stored yet."""
        return sum(len(messages) for messages in self._held.values())

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        *,
        session_id: str,
        timestamp: datetime | str,
        **arguments: Any,
    ) -> list[Any]:
        """Hold messages; returns what `Memory.add` returned for every window that became full, often nothing.

        The session and a time have to be given, since a message is stored later than it is said; both, and the other
        arguments, are those of `Memory.add`. A failed window stays held: call `flush` to try it again.
        """
        items = [messages] if isinstance(messages, str | Mapping) else list(messages)
        key = tuple(sorted({**arguments, "session_id": session_id}.items()))
        held = self._held.setdefault(key, [])
        for item in items:
            message = {"role": "user", "content": item} if isinstance(item, str) else dict(item)
            held.append({"timestamp": timestamp, **message})
        results = []
        while len(held) >= self._wanted(key):
            results.append(self._hand_over(key, self._wanted(key)))
        return results

    def flush(self) -> list[Any]:
        """Add everything that is held, in windows that may be short; returns `Memory.add`'s results."""
        return [self._hand_over(key, len(held)) for key, held in list(self._held.items()) if held]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()

    def _wanted(self, key: tuple[tuple[str, Any], ...]) -> int:
        return self.size - self.overlap if key in self._begun else self.size

    def _hand_over(self, key: tuple[tuple[str, Any], ...], count: int) -> Any:
        held = self._held[key]
        result = self.memory.add(held[:count], **dict(key))
        self._begun.add(key)
        del held[:count]
        return result
