"""What the model client adds to a bare AsyncOpenAI loop, and whether its memory stays flat.

    python recipes/benchmarks/llm_client.py ratio          # 2,000 requests, concurrency 64, 1 s latency, both clients
    python recipes/benchmarks/llm_client.py memory         # 20,000 requests, resident memory by thousands
    python recipes/benchmarks/llm_client.py rate           # the share of a requests budget that is reached

The server is the one of the tests, in a process of its own. Absolute times depend on the machine; the ratio is of two
loops measured in turns in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import sys
import tempfile
import time
import tracemalloc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engrain.recipes import console
from engrain.runtime.errors import InputError
from engrain.runtime.llm.chat import Call, ChatRequest, Stage
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.online import OnlineClient

SERVER = Path(__file__).resolve().parents[2] / "tests" / "runtime" / "llm" / "local_server.py"
PROMPT = "Is this turn worth keeping? Answer with one JSON object. " * 8


@contextmanager
def local_server(**settings: Any) -> Iterator[Any]:
    """The tests' server in a process of its own; only a clone of the repository has it."""
    if not SERVER.is_file():
        raise InputError(f"{SERVER}: the benchmark needs the tests' server; run it from a clone of the repository")
    sys.path.insert(0, str(SERVER.parent))
    spec = importlib.util.spec_from_file_location("local_server", SERVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.ServerProcess(**settings) as server:
        yield server


def calls(name: str, number: int) -> Iterator[Call]:
    """Distinct requests, made one by one."""
    for index in range(number):
        messages = ({"role": "system", "content": PROMPT}, {"role": "user", "content": f"{name} {index}"})
        request = ChatRequest.model_validate({"messages": messages, "max_tokens": 50, "json_object": True})
        yield Call(request, Stage.LABEL)


async def bare(url: str, name: str, number: int, concurrency: int) -> float:
    """Seconds of the plain loop: a semaphore, `gather`, no ledger, no budgets."""
    import openai

    room = asyncio.Semaphore(concurrency)
    async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:

        async def one(index: int) -> None:
            async with room:
                await client.chat.completions.create(
                    model="m",
                    messages=[{"role": "system", "content": PROMPT}, {"role": "user", "content": f"{name} {index}"}],
                    max_tokens=50,
                    response_format={"type": "json_object"},
                )

        start = time.monotonic()
        await asyncio.gather(*(one(index) for index in range(number)))
        return time.monotonic() - start


async def through_ledger(url: str, name: str, number: int, concurrency: int) -> float:
    """Seconds of the client, every answer synced to a ledger file."""
    settings = EndpointSettings(name="local", base_url=url, model="m", concurrency=concurrency)
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        client = OnlineClient(settings, ledger, run=name)
        start = time.monotonic()
        async for outcome in client.run(calls(name, number)):
            assert outcome.answer is not None, outcome.failure
        return time.monotonic() - start


def ratio(number: int, concurrency: int, latency_s: float, rounds: int) -> None:
    """Both loops in turns; prints each time and the ratio of each round."""
    with local_server(latency_s=latency_s) as server:
        for client in (bare, through_ledger):
            asyncio.run(client(server.url, f"warm {client.__name__}", concurrency, concurrency))
        for turn in range(rounds):
            plain = asyncio.run(bare(server.url, f"bare {turn}", number, concurrency))
            ours = asyncio.run(through_ledger(server.url, f"ours {turn}", number, concurrency))
            least = -(-number // concurrency) * latency_s
            console.say(
                f"round {turn + 1}: bare {plain:.2f} s, client {ours:.2f} s (latency alone {least:.1f} s): "
                f"ratio {ours / plain:.3f}"
            )


async def watch_memory(url: str, number: int, concurrency: int, step: int, trace: bool) -> None:
    """Resident memory, and with `trace` the live Python allocations, after every `step` answers."""
    settings = EndpointSettings(name="local", base_url=url, model="m", concurrency=concurrency)
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        done, start, cpu = 0, time.monotonic(), time.process_time()
        async for outcome in OnlineClient(settings, ledger, run="memory").run(calls("memory", number)):
            assert outcome.answer is not None, outcome.failure
            done += 1
            if trace and done == step:
                tracemalloc.start(1)
            if done % step == 0:
                live = f", live since the first step {tracemalloc.get_traced_memory()[0] / 1e6:.2f} MB" if trace else ""
                console.say(
                    f"{done:6d} answers: resident {resident_mb():.1f} MB{live}, {time.monotonic() - start:.0f} s, "
                    f"{(time.process_time() - cpu) / step * 1e3:.1f} ms of CPU a call"
                )
                cpu = time.process_time()


def resident_mb() -> float:
    """Resident memory now; 0 where the system has no /proc."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if status.is_file() else 0.0


def memory(number: int, concurrency: int, latency_s: float, trace: bool) -> None:
    """Prints resident memory along a long run."""
    with local_server(latency_s=latency_s) as server:
        asyncio.run(watch_memory(server.url, number, concurrency, max(1, number // 10), trace))


def rate(limit: int, window_s: float, windows: float) -> None:
    """Prints the share of the budget that is reached and the fullest sliding window at the server."""
    with local_server(latency_s=0.05) as server, Ledger(None) as ledger:
        settings = EndpointSettings(
            name="local", base_url=server.url, model="m", concurrency=32, requests_per_minute=limit, window_s=window_s
        )

        async def go() -> None:
            async for _ in OnlineClient(settings, ledger, run="rate").run(calls("rate", int(limit * windows))):
                pass

        asyncio.run(go())
        times = sorted(moment for moment, _ in server.seen()["arrivals"])
    reached = (len(times) - 1) / (times[-1] - times[0]) * window_s / limit
    console.say(
        f"budget {limit} in {window_s:g} s, {len(times)} requests: reached {reached:.1%}, "
        f"fullest sliding window {fullest(times, window_s)} of {limit}"
    )


def fullest(times: list[float], window_s: float) -> int:
    """The most arrivals in any window of that length."""
    inside: deque[float] = deque()
    most = 0
    for moment in times:
        inside.append(moment)
        while inside[0] <= moment - window_s:
            inside.popleft()
        most = max(most, len(inside))
    return most


def main() -> None:
    """Parse the arguments and run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, defaults in (("ratio", (2000, 64, 1.0)), ("memory", (20_000, 64, 0.01))):
        verb = verbs.add_parser(name)
        verb.add_argument("--requests", type=int, default=defaults[0])
        verb.add_argument("--concurrency", type=int, default=defaults[1])
        verb.add_argument("--latency", type=float, default=defaults[2], help="seconds")
        if name == "ratio":
            verb.add_argument("--rounds", type=int, default=3)
        else:
            verb.add_argument("--trace", action="store_true", help="count Python allocations too; three times slower")
    verb = verbs.add_parser("rate")
    verb.add_argument("--limit", type=int, default=200)
    verb.add_argument("--window", type=float, default=10.0, help="seconds")
    verb.add_argument("--windows", type=float, default=4.0, help="length of the run in windows")
    given = parser.parse_args()
    if given.verb == "ratio":
        ratio(given.requests, given.concurrency, given.latency, given.rounds)
    elif given.verb == "memory":
        memory(given.requests, given.concurrency, given.latency, given.trace)
    else:
        rate(given.limit, given.window, given.windows)


if __name__ == "__main__":
    main()
