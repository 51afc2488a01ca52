"""Speed and memory of a whole build: every user turn of Memora quarterly, its quality report included, and then again.

    python -m engrain.recipes.benchmarks.corpus_build DATA/memora [--limit-seconds 60] [--limit-mb 2048]

Each build is a process of its own, as a person would start it: `engrain build gate` with natural sampling, no guard
splits (all 151,617 turns stay), the leaks against Memora weekly, and without the estimate of label noise. The second
build has the same inputs and must say that it read the cache. CPU seconds stand beside the wall clock, which other work
on the machine only lengthens. The bars: 60 s and 2 GB on 2 cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engrain.data_builders.sources.memora import find_split
from engrain.recipes import console
from engrain.runtime.errors import InputError

SECONDS, MEGABYTES = 60.0, 2048.0
_SAYS_CACHED = "read from the cache"


def run(data: Path, validation: int = 500) -> dict[str, Any]:
    """Build twice, with `validation` rows of each persona held out; seconds, peak memory and what was said."""
    weekly = find_split(data, "weekly")
    if weekly is None:
        raise InputError(f"{data} holds no Memora weekly, against which leaks are looked for")
    with TemporaryDirectory() as folder:
        recipe = Path(folder) / "whole.json"
        recipe.write_text(json.dumps(_recipe(data, weekly, Path(folder), validation)), encoding="utf-8")
        builds = {name: _build(recipe) for name in ("first", "second")}
        built = json.loads((Path(folder) / "memora-whole" / "build.json").read_text(encoding="utf-8"))
    rows = sum(split["rows"] for split in built["report"]["splits"].values())
    return {"rows": rows, **builds}


def _recipe(data: Path, weekly: Path, output: Path, validation: int) -> dict[str, Any]:
    return {
        "recipe": "label",
        "name": "memora-whole",
        "output": str(output),
        "memora": {
            "root": str(data.resolve()),
            "rows_per_persona": None,
            "validation_per_persona": validation,
            "sampling": "natural",
            "guard_splits": [],
        },
        "expected_weight": None,
        "quality": {"label_noise": False},
        "benchmarks": [{"name": "memora", "root": str(weekly.resolve())}],
    }


def _build(recipe: Path) -> dict[str, Any]:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "engrain.recipes", "build", "gate", str(recipe)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise InputError(f"the build failed: {said.strip()}")
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        # Linux counts kilobytes, macOS bytes.
        "peak_mb": round(usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)),
        "cached": _SAYS_CACHED in said,
    }


def main() -> None:
    """Print the figures as JSON; exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="Memora's folder.")
    parser.add_argument("--limit-seconds", type=float, default=SECONDS)
    parser.add_argument("--limit-mb", type=float, default=MEGABYTES)
    given = parser.parse_args()
    found = run(given.data)
    console.show_json(found)
    first, second = found["first"], found["second"]
    met = first["seconds"] <= given.limit_seconds and first["peak_mb"] <= given.limit_mb and second["cached"]
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
