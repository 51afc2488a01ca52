"""Killed at any moment, the store is what its log says, and the next run ends where an unbroken one ends."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from word_records import START, WordEmbedder

from engrain.runtime.consolidation.engine import Consolidator
from engrain.runtime.memory import Memory
from engrain.runtime.schema import Change, Status
from engrain.runtime.storage.changes import LINKS
from engrain.runtime.storage.sqlite import SQLiteStore

NOUNS = ("violin", "kayak", "drone", "tent", "loom", "piano", "canoe", "telescope", "trailer", "scooter")
KINDS = ("red", "blue", "old", "small", "wooden")


def fill(path: Path) -> None:
    """Pairs of statements, each later one outdating an earlier, whole or in part."""
    day = 0
    with Memory.open(path, embedder=WordEmbedder()) as memory:
        for kind in KINDS:
            for noun in NOUNS:
                for text in (f"User owns a {kind} {noun}.", f"User needs to mend the {kind} {noun} and has a cat."):
                    memory.add({"role": "user", "content": text}, user_id="ana", timestamp=START + timedelta(days=day))
                    day += 1
        for kind in KINDS:
            for noun in NOUNS:
                for text in (f"User mended the {kind} {noun}.", f"User sold the {kind} {noun}."):
                    memory.add({"role": "user", "content": text}, user_id="ana", timestamp=START + timedelta(days=day))
                    day += 1


def state(store: SQLiteStore) -> dict[str, Any]:
    return {r.id: (r.status, r.superseded_spans, r.links) for r in store.records("ana", statuses=tuple(Status))}


def replayed(names: list[str], log: list[Change]) -> dict[str, Any]:
    """The state that a log brings about, made without the store."""
    found: dict[str, list[Any]] = {name: [Status.ACTIVE, [], []] for name in names}
    for change in log:
        there, back = LINKS[change.relation]
        assert found[change.record_id][0] is change.before
        found[change.record_id][0] = change.after
        if change.part is not None:
            found[change.record_id][1].append((*change.part, change.id))
        found[change.record_id][2].append((there, change.other_id))
        found[change.other_id or ""][2].append((back, change.record_id))
    return {name: (status, spans, links) for name, (status, spans, links) in found.items()}


def plain(found: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (status, [(s.start, s.end, s.change_id) for s in spans], [(k.relation, k.record_id) for k in links])
        for name, (status, spans, links) in found.items()
    }


def consolidate(path: Path) -> None:
    store = SQLiteStore(path, WordEmbedder.identity, WordEmbedder.dimension)
    try:
        Consolidator(store).run("ana")
    finally:
        store.close()


def kill_after(path: Path, seconds: float) -> bool:
    """Consolidate in a child and kill it; False when it was done before."""
    child = os.fork()
    if child == 0:
        try:
            consolidate(path)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.full
def test_fifty_kills_leave_a_prefix_of_the_log(tmp_path: Path) -> None:
    base = tmp_path / "base.db"
    fill(base)
    whole = tmp_path / "whole.db"
    shutil.copy(base, whole)
    began = time.monotonic()
    consolidate(whole)
    lasted = time.monotonic() - began
    store = SQLiteStore(whole, WordEmbedder.identity, WordEmbedder.dimension)
    wanted = {name: status for name, (status, *_) in state(store).items()}
    full_log = len(store.changes("ana"))
    store.close()
    rng = random.Random(20261130)
    kills, lengths = 0, []
    while kills < 50:
        path = tmp_path / f"{kills}.db"
        shutil.copy(base, path)
        if not kill_after(path, rng.uniform(0.0, lasted)):
            path.unlink()
            continue
        kills += 1
        store = SQLiteStore(path, WordEmbedder.identity, WordEmbedder.dimension)
        log = store.changes("ana")
        assert plain(state(store)) == replayed(list(wanted), log)
        lengths.append(len(log))
        Consolidator(store).run("ana")
        assert {name: status for name, (status, *_) in state(store).items()} == wanted
        assert len(store.changes("ana")) == full_log
        store.close()
    assert sum(0 < length < full_log for length in lengths) > 0, f"no kill fell between two changes: {lengths}"
