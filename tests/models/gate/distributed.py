"""Run by torchrun: trains the tiny gate with the strategy that its arguments name, and writes what it found.

Not a test module. Arguments: config as JSON, output folder, and `stale-data` to give the last rank other rows.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import torch
from conftest import example_rows  # type: ignore[import-not-found]
from deepspeed_cpu import on_cpu

from engrain.models.gate.config import GateConfig
from engrain.models.gate.training import train_gate


def main(settings: str, out: Path, flags: list[str]) -> None:
    torch.set_num_threads(1)
    config = GateConfig.model_validate_json(settings)
    if config.training.strategy.startswith("zero"):
        on_cpu()
    rank = int(os.environ.get("RANK", "0"))
    rows = example_rows(48)
    if "stale-data" in flags and rank == 1:
        rows = rows[:-1]
    run = train_gate(config, rows, example_rows(18, "validation"), out, seed=1, resume="auto")
    report: dict[str, Any] = {
        "history": [entry.model_dump() for entry in run.history],
        "strategy": run.strategy,
        "steps": run.steps,
        "first": run.first,
    }
    (out / f"report-{rank}.json").write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
