"""A lazy, bounded, asynchronous map: thousands of items, a fixed number of tasks, results as they complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def stream(
    worker: Callable[[Item], Awaitable[Result]], items: Iterable[Item], width: int
) -> AsyncGenerator[Result, None]:
    """Apply `worker` to every item with at most `width` at once.

    Items are drawn only as room appears, so memory does not grow with their number; a slow consumer slows the
    intake. After the first error (of a worker or of `items`) nothing new is started, what is in flight finishes and
    is yielded, then the error is raised: a paid answer is not thrown away because its neighbour failed. Closing the
    iterator also waits for what is in flight; cancelling does not.
    """
    source = iter(items)
    finished: asyncio.Queue[asyncio.Task[Result]] = asyncio.Queue()
    running: set[asyncio.Task[Result]] = set()
    error: Exception | None = None
    drained = False

    async def guarded(item: Item) -> Result:
        return await worker(item)

    try:
        while True:
            while not drained and error is None and len(running) < width:
                try:
                    item = next(source)
                except StopIteration:
                    drained = True
                    break
                except Exception as raised:
                    error = raised
                    break
                task = asyncio.create_task(guarded(item))
                running.add(task)
                task.add_done_callback(finished.put_nowait)
            if not running:
                break
            task = await finished.get()
            running.discard(task)
            if (raised_by_worker := _error_of(task)) is not None:
                error = error or raised_by_worker
                continue
            yield task.result()
    except asyncio.CancelledError:
        for task in running:
            task.cancel()
        raise
    finally:
        if running:
            await asyncio.gather(*running, return_exceptions=True)
    if error is not None:
        raise error


def _error_of(task: asyncio.Task[Result]) -> Exception | None:
    if task.cancelled():
        return asyncio.InvalidStateError("a call was cancelled from outside")
    raised = task.exception()
    if raised is None or isinstance(raised, Exception):
        return raised
    raise raised
