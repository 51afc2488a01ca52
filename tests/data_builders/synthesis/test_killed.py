"""`engrain synthesize`, killed and started again: nothing that the ledger holds is sent twice, nothing is lost."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.parquet import read_extraction_examples


def command(teacher: Any, folder: Path) -> list[str]:
    recipe = {
        "recipe": "synthesize",
        "name": "killed",
        "output": str(folder),
        "teacher": {"name": "teacher", "base_url": teacher.url, "model": "m", "concurrency": 4},
        "stories": {"examples": 60},
        "chats": {"examples": 0},
    }
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(recipe), encoding="utf-8")  # JSON is YAML.
    return [sys.executable, "-m", "engrain.recipes", "synthesize", str(path), "--json"]


def stored(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])


@pytest.mark.parametrize("arrivals", [30, pytest.param(3, marks=pytest.mark.full)])
def test_a_killed_run_goes_on_where_it_was(teacher: Any, tmp_path: Path, arrivals: int) -> None:
    teacher.latency_s = 0.05
    arguments = command(teacher, tmp_path)
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(teacher.bodies) < arrivals and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    time.sleep(0.2)
    kept, sent = stored(tmp_path), len(teacher.bodies)
    assert sent >= arrivals
    teacher.latency_s = 0.0
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    requests = Counter(json.dumps(body, sort_keys=True) for body in teacher.bodies)
    assert len(teacher.bodies) - sent == len(requests) - kept, "the second run sent exactly what the ledger lacked"
    assert max(requests.values()) <= 2
    assert sum(requests.values()) - len(requests) == sent - kept, "sent twice: only what was in flight at the kill"
    assert (document["examples"], document["rejected"]) == (60, {})
    corpus = read_extraction_examples(tmp_path / "killed" / "synthetic.parquet")
    assert len(corpus) == 60
    again = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout) == document
    assert len(teacher.bodies) == sum(requests.values()), "a third run sends nothing"
