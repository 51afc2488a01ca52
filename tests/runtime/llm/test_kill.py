"""Killed runs and shared ledgers: nothing is bought twice, nothing paid is lost. Real processes, real HTTP."""

from __future__ import annotations

import json
import logging
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from local_server import LocalServer

from engrain.runtime.llm.accounts import cost

WORKER = Path(__file__).parent / "paid_run.py"


def start(
    server: LocalServer, ledger: Path, requests: int, concurrency: int, mode: str = "online"
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(WORKER), server.url, str(ledger), str(requests), str(concurrency), mode]
    )


def stored(ledger: Path) -> set[str]:
    """The markers whose answers are in the ledger; the server answers with the marker."""
    if not ledger.is_file():
        return set()
    with closing(sqlite3.connect(ledger)) as connection:
        try:
            return {text for (text,) in connection.execute("SELECT text FROM answers")}
        except sqlite3.OperationalError:
            return set()  # killed before the tables were made


def kill_at_random(process: subprocess.Popen[bytes], server: LocalServer, arrivals: int, chance: random.Random) -> bool:
    """Kill after that many more arrivals and a random fraction of a second; False when it ended before."""
    target = len(server.service.arrivals) + arrivals
    while len(server.service.arrivals) < target and process.poll() is None:
        time.sleep(0.002)
    time.sleep(chance.uniform(0.0, 0.06))
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def kill_loop(server: LocalServer, ledger: Path, requests: int, concurrency: int, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    server.service.reply = "{marker}"
    server.service.latency_s = 0.05
    for kill in range(kills):
        before = stored(ledger)
        seen = len(server.service.arrivals)
        process = start(server, ledger, requests, concurrency)
        share = (requests - len(before)) // (2 * (kills - kill))
        assert kill_at_random(process, server, chance.randrange(0, max(1, share)), chance), "the run ended unkilled"
        assert not before & set(server.markers()[seen:]), "a request that was in the ledger was sent again"
    before, seen = stored(ledger), len(server.service.arrivals)
    assert start(server, ledger, requests, concurrency).wait() == 0
    assert not before & set(server.markers()[seen:])
    assert stored(ledger) == {f"q{index}" for index in range(requests)}
    total = len(server.service.arrivals)
    assert total <= requests + kills * concurrency
    [line] = cost(ledger)
    assert line.answers == requests
    assert line.lost >= total - requests, "a call without an answer is accounted for"
    assert line.lost <= kills * concurrency
    logging.info("%d requests, %d kills: the server saw %d, %d were logged as lost", requests, kills, total, line.lost)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX signal")
def test_a_killed_run_resumes_without_buying_again(server: LocalServer, tmp_path: Path) -> None:
    kill_loop(server, tmp_path / "ledger.db", requests=60, concurrency=8, kills=3, seed=1)


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX signal")
def test_500_requests_killed_at_20_random_moments(server: LocalServer, tmp_path: Path) -> None:
    kill_loop(server, tmp_path / "ledger.db", requests=500, concurrency=16, kills=20, seed=2)


def test_two_processes_share_a_ledger_and_buy_each_answer_once(server: LocalServer, tmp_path: Path) -> None:
    server.service.reply, server.service.latency_s = "{marker}", 0.05
    ledger = tmp_path / "ledger.db"
    processes = [start(server, ledger, 80, 8) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert sorted(server.markers()) == sorted(f"q{index}" for index in range(80))
    assert stored(ledger) == set(server.markers())


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX signal")
def test_a_killed_batch_run_creates_no_batch_twice(server: LocalServer, tmp_path: Path) -> None:
    chance, batches = random.Random(3), server.service.batches
    server.service.reply, batches.looks = "{marker}", 4
    ledger = tmp_path / "ledger.db"
    for _ in range(15):
        process = start(server, ledger, 60, 1, "batch")
        target = len(batches.calls) + chance.randrange(1, 8)
        while len(batches.calls) < target and process.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start(server, ledger, 60, 1, "batch").wait() == 0
    assert stored(ledger) == {f"q{index}" for index in range(60)}
    inputs = [
        json.loads(line)["custom_id"]
        for batch in batches.batches.values()
        for line in batches.files[batch["input_file_id"]].splitlines()
    ]
    assert len(inputs) == len(set(inputs)) == 60
