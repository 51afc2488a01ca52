"""The bounded map: width, laziness, and what an error leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from engrain.runtime.errors import ModelServiceError
from engrain.runtime.llm.health import FailureWatch
from engrain.runtime.llm.streaming import stream


async def double(item: int) -> int:
    await asyncio.sleep(0.001 * (item % 3))
    return 2 * item


def gather(source: Iterator[int], width: int, results: list[int]) -> None:
    async def go() -> None:
        async for result in stream(double, source, width):
            results.append(result)

    asyncio.run(go())


@pytest.mark.parametrize("width", [1, 4, 100])
def test_every_item_once(width: int) -> None:
    results: list[int] = []
    gather(iter(range(50)), width, results)
    assert sorted(results) == [2 * item for item in range(50)]
    gather(iter(()), width, empty := [])
    assert empty == []


def test_an_error_of_the_source_comes_after_what_was_in_flight() -> None:
    def source() -> Iterator[int]:
        yield from range(5)
        raise ValueError("bad row")

    results: list[int] = []
    with pytest.raises(ValueError, match="bad row"):
        gather(source(), 10, results)
    assert sorted(results) == [0, 2, 4, 6, 8]


def test_an_error_of_a_worker_stops_the_intake_and_keeps_its_neighbours() -> None:
    started: list[int] = []

    async def work(item: int) -> int:
        started.append(item)
        await asyncio.sleep(0.01 if item == 2 else 0.05)
        if item == 2:
            raise ModelServiceError("stop")
        return item

    results: list[int] = []

    async def go() -> None:
        async for result in stream(work, iter(range(100)), 4):
            results.append(result)

    with pytest.raises(ModelServiceError, match="stop"):
        asyncio.run(go())
    assert started == [0, 1, 2, 3]
    assert sorted(results) == [0, 1, 3]


def test_the_watch_looks_at_the_last_calls_only() -> None:
    watch = FailureWatch("teacher a", share=0.5, over=4)
    for _ in range(100):
        watch.success()
    watch.failure("first")
    watch.failure("second")
    with pytest.raises(ModelServiceError, match=r"teacher a was stopped: 3 of its last 4 .*\n  1. first\n  2. second"):
        watch.failure("third")


def test_few_calls_are_not_judged() -> None:
    watch = FailureWatch("a", share=0.0, over=3)
    watch.failure("x")
    watch.failure("y")
    with pytest.raises(ModelServiceError):
        watch.failure("z")
