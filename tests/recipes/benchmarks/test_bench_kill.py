"""A run that is killed again and again ends with the figures of an uninterrupted one, and buys nothing twice."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from local_server import LocalServer

KILLS, CONCURRENCY = 8, 2


def start(recipe: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "engrain.recipes", "bench", "run", str(recipe), "--json"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def bought(ledger: Path) -> set[str]:
    """Hashes of the requests whose answers are stored."""
    if not ledger.is_file():
        return set()
    with closing(sqlite3.connect(ledger)) as connection:
        try:
            return {key for (key,) in connection.execute("SELECT request_hash FROM answers")}
        except sqlite3.OperationalError:
            return set()


@pytest.mark.full
def test_a_killed_run_resumes_and_sends_nothing_twice_that_was_in_the_ledger(
    tmp_path: Path,
    memora: Path,
    embedder_bundle: Path,
    endpoint: Callable[[str], dict[str, Any]],
    model_server: LocalServer,
) -> None:
    model_server.service.latency_s = 0.15
    chance = random.Random(7)

    def recipe(name: str) -> Path:
        folder = tmp_path / "out" / name
        folder.mkdir(parents=True)
        (folder / "embedder").symlink_to(embedder_bundle)
        document = {
            "recipe": "bench",
            "name": name,
            "output": str(tmp_path / "out"),
            "data": {"benchmark": "memora", "root": str(memora)},
            "systems": [{"kind": "engrain", "name": "Engrain"}],
            "reader": {"endpoint": endpoint("reader") | {"concurrency": CONCURRENCY}},
            "judges": [endpoint("judge") | {"concurrency": CONCURRENCY}],
        }
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    whole = recipe("whole")
    assert start(whole).wait() == 0
    needed = len(model_server.service.arrivals)
    assert needed == 14
    model_server.service.arrivals.clear()

    killed, done = recipe("killed"), 0
    ledger = tmp_path / "out" / "killed" / "ledger.db"
    for _ in range(KILLS):
        process = start(killed)
        seen, stored = len(model_server.service.arrivals), bought(ledger)
        until = seen + chance.randint(0, 3)
        while process.poll() is None and len(model_server.service.arrivals) < until:
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.4))
        process.send_signal(signal.SIGKILL)
        done += process.wait() == -signal.SIGKILL
        assert stored <= bought(ledger)
    assert start(killed).wait() == 0
    assert done >= 2, "the run ended before it could be killed"
    assert len(model_server.service.arrivals) <= needed + done * CONCURRENCY
    documents = [json.loads((tmp_path / "out" / name / "results.json").read_text()) for name in ("whole", "killed")]
    answers = [document["systems"][0]["answers"] for document in documents]
    assert answers[0] == answers[1]
    assert documents[0]["rows"] == documents[1]["rows"]
