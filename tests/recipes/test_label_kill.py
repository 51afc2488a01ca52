"""`engrain label` killed at random moments: what is bought stays bought. Real processes, real HTTP."""

from __future__ import annotations

import json
import logging
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engrain.data_builders.teachers.records import Annotation, read_rows
from engrain.runtime.llm.accounts import cost

sys.path.insert(0, str(Path(__file__).parent))

from label_run import TeacherServer, write_chats, write_recipe

CONCURRENCY = 8
TEACHERS = ("a", "b")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX signal")


@pytest.fixture
def server() -> Iterator[TeacherServer]:
    with TeacherServer() as running:
        running.service.latency_s = 0.04
        yield running


def start(recipe: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "engrain.recipes", "label", str(recipe)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def said(process: subprocess.Popen[bytes]) -> str:
    """What a process that has ended wrote to its standard error."""
    return process.stderr.read().decode() if process.stderr else ""


def stored(ledger: Path) -> set[tuple[str, str]]:
    """Teacher and rationale of every answer in the ledger; the server's rationale holds the target, which is unique."""
    if not ledger.is_file():
        return set()
    with closing(sqlite3.connect(ledger)) as connection:
        try:
            rows = connection.execute("SELECT teacher, text FROM answers").fetchall()
        except sqlite3.OperationalError:
            return set()  # killed before the tables were made
    return {(teacher, json.loads(text)["reason"]) for teacher, text in rows}


def sent(server: TeacherServer, since: int = 0) -> list[tuple[str, str]]:
    """Teacher and target of every request that arrived, in the ledger's words."""
    bodies = server.service.bodies[since:]
    return [(body["model"], "It says: " + body["messages"][-1]["content"].rsplit("S1: ", 1)[1]) for body in bodies]


def kill_loop(server: TeacherServer, folder: Path, candidates: int, kills: int, seed: int) -> None:
    """Kill a run `kills` times, each at a random moment of its sending, let it end, and count."""
    write_chats(folder / "only.jsonl", candidates // 3 + 1)
    quick = {"base_url": server.url, "backoff_s": 0.05, "concurrency": CONCURRENCY}
    recipe = write_recipe(
        folder,
        server.url,
        corpora=[{"name": "jsonl", "root": str(folder / "only.jsonl")}],
        candidates={"count": candidates},
        teachers=[{"name": name, "model": name, **quick} for name in TEACHERS],
    )
    ledger, chance, requests = folder / "runs" / "ledger.db", random.Random(seed), candidates * len(TEACHERS)
    for kill in range(kills):
        before, seen = stored(ledger), len(server.service.bodies)
        process = start(recipe)
        share = (requests - len(before)) // (2 * (kills - kill))
        target = seen + chance.randrange(0, max(1, share))
        while len(server.service.bodies) < target and process.poll() is None:
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.06))
        process.send_signal(signal.SIGKILL)
        code = process.wait()
        assert code == -signal.SIGKILL, f"the run ended unkilled: {said(process)}"
        assert not before & set(sent(server, seen)), "a request that was in the ledger was sent again"
        logging.info("kill %d: %d answers stored, %d requests seen", kill + 1, len(before), len(server.service.bodies))
    before, seen = stored(ledger), len(server.service.bodies)
    process = start(recipe)
    assert process.wait() == 0, said(process)
    assert not before & set(sent(server, seen))
    total = len(server.service.bodies)
    assert total <= requests + kills * CONCURRENCY * len(TEACHERS)
    assert len(stored(ledger)) == requests == len(set(sent(server)))
    rows = read_rows(folder / "runs" / "trial" / "labels" / "only.jsonl", Annotation)
    assert len(rows) == candidates and all(len(row.votes) == len(TEACHERS) for row in rows)
    assert sum(line.answers for line in cost(ledger)) == requests
    logging.info("%d requests, %d kills: the server saw %d", requests, kills, total)


def test_a_killed_labelling_run_ends_complete(server: TeacherServer, tmp_path: Path) -> None:
    kill_loop(server, tmp_path, candidates=30, kills=2, seed=1)


@pytest.mark.full
def test_500_requests_killed_at_20_random_moments(server: TeacherServer, tmp_path: Path) -> None:
    kill_loop(server, tmp_path, candidates=250, kills=20, seed=2)
