"""The client for code that is not asynchronous: a list in, a list out, also inside a notebook's running loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

from engrain.runtime.llm.chat import Call, ModelClient, Outcome

T = TypeVar("T")


def answer_all(
    client: ModelClient, calls: Sequence[Call], progress: Callable[[int, int], None] | None = None
) -> list[Outcome]:
    """Run the calls and return their outcomes in the order of `calls`. `progress` gets (done, total)."""

    async def gather() -> list[Outcome]:
        # Numbers instead of the calls' own tags, which need not be unique.
        numbered = (Call(call.request, call.stage, call.teacher, tag=number) for number, call in enumerate(calls))
        outcomes: list[Outcome | None] = [None] * len(calls)
        done = 0
        async with aclosing(client.run(numbered)) as completed:
            async for outcome in completed:
                number = outcome.call.tag
                outcomes[number] = replace(outcome, call=calls[number])
                done += 1
                if progress is not None:
                    progress(done, len(calls))
        return [outcome for outcome in outcomes if outcome is not None]

    return run_blocking(gather())


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own where this one already runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    results: list[T] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target, name="engrain-llm")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
