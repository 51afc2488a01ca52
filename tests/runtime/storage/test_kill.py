"""Writers killed at random moments: every acknowledged write is there, none twice, and the file is sound."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from engrain.runtime.memory import Memory
from engrain.runtime.storage.inspection import inspect_store
from engrain.runtime.storage.sqlite import SQLiteStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

WRITERS = 4
NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)


class Flat:
    identity, dimension = "flat@1", 8

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.eye(8, dtype=np.float32)[[len(text) % 8 for text in texts]]


def write(path: Path, journal: Path, name: str, seed: int) -> None:
    """Add, update, delete and search until killed; every step is written down before and after."""
    chance = random.Random(seed)
    log = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    memory = Memory.open(path, embedder=Flat())
    mine: list[str] = []
    for number in range(100_000):
        text = f"{name} says {number}"
        kind = chance.choice(("add", "add", "add", "update", "delete", "search")) if mine else "add"
        if kind == "search":
            memory.search("says", user_id="ana", top_k=3)
            continue
        target = text if kind == "add" else chance.choice(mine)
        os.write(log, f"try\t{kind}\t{target}\t{text}\n".encode())
        if kind == "add":
            [record_id] = memory.add(
                text, user_id="ana", session_id=name, timestamp=NOON + timedelta(0, number)
            ).record_ids
            target = record_id
            mine.append(record_id)
        elif kind == "update":
            memory.update(target, text, user_id="ana")
        else:
            memory.delete(target, user_id="ana")
            mine.remove(target)
        os.write(log, f"done\t{kind}\t{target}\t{text}\n".encode())


def expected(journal: Path) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """Texts that each record may have, records that must be gone, and those that may be gone."""
    texts: dict[str, set[str]] = defaultdict(set)
    gone: set[str] = set()
    attempted: set[str] = set()
    for line in journal.read_text().splitlines():
        stage, kind, target, text = line.split("\t")
        if stage == "done" and kind in ("add", "update"):
            texts[target] = {text}
        elif stage == "try" and kind == "update":
            texts[target] = texts[target] | {text}
        elif kind == "delete":
            (gone if stage == "done" else attempted).add(target)
    return texts, gone, attempted


def rounds(tmp_path: Path, count: int, fork: Callable[..., multiprocessing.Process]) -> None:
    path, chance = tmp_path / "memory.db", random.Random(11)
    SQLiteStore(path, "flat@1", 8).close()
    journals: list[Path] = []
    acknowledged = 0
    for number in range(count):
        started = []
        for writer in range(WRITERS):
            journals.append(tmp_path / f"{number}-{writer}.log")
            name = f"round {number} writer {writer}"
            started.append(fork(target=write, args=(path, journals[-1], name, 100 * number + writer)))
        for process in started:
            process.start()
        deadline = time.monotonic() + 30
        while not any(journal.exists() and journal.stat().st_size for journal in journals[-WRITERS:]):
            assert time.monotonic() < deadline, "no writer began"
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.5))
        for process in started:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
        for process in started:
            process.join()
            assert process.exitcode == -signal.SIGKILL
        acknowledged += check(path, journals)
    assert acknowledged > 3 * count


def check(path: Path, journals: list[Path]) -> int:
    """What the file holds against what was written down; returns the number of acknowledged steps."""
    with Memory.open(path, embedder=Flat()) as memory:
        records = {record.id: record.content for record in memory.list(user_id="ana")}
        found = [hit.id for hit in memory.search("says", user_id="ana", top_k=100_000).results]
        turns = Counter((turn.turn.session_id, turn.turn.text) for turn in memory.turns(user_id="ana"))
    assert sorted(found) == sorted(records), "the index differs from the tables"
    assert not turns or max(turns.values()) == 1
    steps = 0
    for journal in journals:
        texts, gone, attempted = expected(journal) if journal.exists() else ({}, set(), set())
        steps += len(texts) + len(gone)
        for record_id, possible in texts.items():
            if record_id in gone:
                assert record_id not in records
            elif record_id not in attempted or record_id in records:
                assert records[record_id] in possible
    assert inspect_store(path) == []
    return steps


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_writers_killed_at_a_few_moments_lose_nothing(tmp_path: Path) -> None:
    rounds(tmp_path, 3, multiprocessing.get_context("fork").Process)  # type: ignore[arg-type]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_writers_killed_at_fifty_moments_lose_nothing(tmp_path: Path) -> None:
    rounds(tmp_path, 50, multiprocessing.get_context("fork").Process)  # type: ignore[arg-type]
