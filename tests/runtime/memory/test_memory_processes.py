"""Two processes, one file: nothing is lost, nothing is doubled, and each sees the other's writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from engrain.runtime.memory import Memory
from engrain.runtime.storage.inspection import inspect_store

WRITER = """
import sys
import numpy as np
from datetime import UTC, datetime
from engrain.runtime.memory import Memory

class Flat:
    identity, dimension = "hashing@1", 64
    def embed(self, texts):
        return np.eye(64, dtype=np.float32)[[len(text) % 64 for text in texts]]

path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
noon = datetime(2026, 5, 8, 12, tzinfo=UTC)
print("ready", flush=True)
sys.stdin.readline()
with Memory.open(path, embedder=Flat()) as memory:
    for number in range(count):
        memory.add(f"{name} says {number}", user_id="ana", session_id=name, timestamp=noon)
        memory.add(f"shared {number}", user_id="ana", session_id="shared", timestamp=noon)
        if number % 5 == 0:
            memory.search("shared", user_id="ana")
"""
COUNT = 25


def start(path: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(COUNT)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_add_to_a_new_file_at_once(path: Path, open_memory: Callable[..., Memory]) -> None:
    writers = [start(path, name) for name in ("left", "right")]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    failures = [writer.communicate(timeout=120)[1] for writer in writers if writer.wait(timeout=120)]

    assert failures == []
    memory = open_memory()
    expected = {f"{name} says {number}" for name in ("left", "right") for number in range(COUNT)}
    expected |= {f"shared {number}" for number in range(COUNT)}
    records = memory.list(user_id="ana")
    assert {record.content for record in records} == expected and len(records) == 3 * COUNT
    assert len(memory.search("shared", user_id="ana", top_k=200).results) == 3 * COUNT
    assert inspect_store(path) == []
