"""`Memory` for programs that run on asyncio: every verb in a thread of its own, the event loop free meanwhile."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from engrain.runtime.memory import Memory

P = ParamSpec("P")
R = TypeVar("R")

_THREADS = 4
"""Searches run side by side; writes wait for one another in the store anyway."""


def _awaited(
    verb: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, R]]:
    """The same verb with the same arguments, to be awaited."""

    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, functools.partial(verb, self.memory, *args, **kwargs))

    functools.update_wrapper(call, verb)
    return call


class AsyncMemory:
    """A memory whose verbs are awaited; arguments, results and errors are those of `Memory`.

    An awaited verb that is cancelled still ends in its thread: a write is whole, or was never begun.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="engrain")

    @classmethod
    def open(cls, *args: Any, **options: Any) -> Self:
        """Open a memory with the arguments of `Memory.open`."""
        return cls(Memory.open(*args, **options))

    add = _awaited(Memory.add)
    search = _awaited(Memory.search)
    get = _awaited(Memory.get)
    list = _awaited(Memory.list)
    turns = _awaited(Memory.turns)
    sources = _awaited(Memory.sources)
    update = _awaited(Memory.update)
    history = _awaited(Memory.history)
    delete = _awaited(Memory.delete)
    delete_all = _awaited(Memory.delete_all)
    consolidate = _awaited(Memory.consolidate)
    undo = _awaited(Memory.undo)
    counters = _awaited(Memory.counters)

    async def close(self) -> None:
        """Wait for what is under way and release the store. A second close does nothing."""
        await asyncio.to_thread(self._threads.shutdown)
        self.memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
