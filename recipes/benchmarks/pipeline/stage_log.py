"""The cache of a stage: one JSON line a finished unit, keyed by the hash of everything that decided it.

A line is synced before the next unit begins. A line that a crash cut is dropped and its unit done again.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engrain.runtime.bundle import text_hash


class StageLog:
    """Finished units of one stage of one system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rows: dict[str, dict[str, Any]] = {}
        self.dropped = 0
        good = 0
        for line in path.read_bytes().splitlines(keepends=True) if path.is_file() else []:
            row = _read(line)
            if row is None:
                self.dropped += 1
                break
            self._rows[row["key"]] = row
            good += len(line)
        if self.dropped:
            os.truncate(path, good)

    def get(self, key: str) -> dict[str, Any] | None:
        """The unit of that key, if it is finished."""
        return self._rows.get(key)

    def add(self, key: str, row: dict[str, Any]) -> dict[str, Any]:
        """Keep a finished unit, on the disk before this returns."""
        kept = {"key": key, **row}
        with self.path.open("ab") as file:
            file.write(json.dumps(kept, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[key] = kept
        return kept


def unit_key(*parts: Any) -> str:
    """The hash of everything that decides a unit."""
    return text_hash("unit", json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str))


class Spent:
    """Wall and CPU seconds of a piece of work, children included."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    def document(self) -> dict[str, float]:
        """The two figures by name."""
        return {"wall_s": round(self.wall_s, 4), "cpu_s": round(self.cpu_s, 4)}


@contextmanager
def spending() -> Iterator[Spent]:
    """Measure what is done inside."""
    spent, wall, cpu = Spent(), time.perf_counter(), _cpu()
    yield spent
    spent.wall_s, spent.cpu_s = time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return row if isinstance(row, dict) and "key" in row else None
