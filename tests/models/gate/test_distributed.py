"""Several real processes over gloo: the same losses as one process, whole checkpoints, the strategy that was asked for.

A run on two processes must equal one with twice the accumulation: the same global batches, dropout 0.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engrain.models.gate.config import GateConfig, GateModelConfig, GateTrainingConfig
from engrain.models.gate.training import load_module, score_examples, train_gate
from engrain.runtime.schema import GateExample

SCRIPT = Path(__file__).with_name("distributed.py")
DEEPSPEED = pytest.mark.skipif(importlib.util.find_spec("deepspeed") is None, reason="deepspeed is not installed")


@pytest.fixture
def config(tiny_base: Path) -> Callable[..., GateConfig]:
    def make(**training: object) -> GateConfig:
        values = {"learning_rate": 5e-3, "epochs": 2, "evaluate_every": 3, "accelerator": "cpu", "batch_size": 3}
        model = GateModelConfig(base=str(tiny_base), max_length=48, pooling="mean", dropout=0.0)
        return GateConfig(model=model, training=GateTrainingConfig.model_validate({**values, **training}))

    return make


def torchrun(config: GateConfig, out: Path, *flags: str, processes: int = 2) -> subprocess.CompletedProcess[str]:
    """Start `processes` ranks and wait for them; a hang is a failure. DeepSpeed's first run compiles an operator."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}"]
    command += [f"--master-port={port}", str(SCRIPT), config.model_dump_json(), str(out), *flags]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RANK", "WORLD", "LOCAL_"))}
    environment = clean | {"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        output, errors = process.communicate(timeout=1200 if config.training.strategy.startswith("zero") else 300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def reports(out: Path, processes: int = 2) -> list[dict[str, Any]]:
    return [json.loads((out / f"report-{rank}.json").read_text()) for rank in range(processes)]


def values(report: dict[str, Any]) -> np.ndarray:
    names = ("step", "train_objective", "bce", "objective", "auprc")
    return np.array([[entry[name] for name in names] for entry in report["history"]])


def assert_equals_one_process(
    config: Callable[..., GateConfig], rows: Callable[..., list[GateExample]], tmp_path: Path, strategy: str
) -> None:
    ended = torchrun(config(strategy=strategy, accumulate=2), tmp_path / "two")
    assert ended.returncode == 0, ended.stderr[-3000:]
    alone = train_gate(config(accumulate=4), rows(48), rows(18, "validation"), tmp_path / "one", seed=1)
    expected = np.array([[*entry.model_dump().values()] for entry in alone.history])
    first, second = reports(tmp_path / "two")
    assert (first["first"], second["first"]) == (True, False)
    assert first["strategy"] == second["strategy"] == f"{strategy} on 2 processes"
    np.testing.assert_allclose(values(first), values(second), rtol=0, atol=0)
    names = list(alone.history[0].model_dump())
    order = [names.index(name) for name in ("step", "train_objective", "bce", "objective", "auprc")]
    np.testing.assert_allclose(values(first), expected[:, order], atol=1e-6, rtol=0)
    # The checkpoint is whole, loads without the strategy, and scores as it did in training.
    best = tmp_path / "two" / "best.ckpt"
    state = load_module(best).state_dict()
    one = load_module(alone.best).state_dict()
    for name, weight in one.items():
        if name.endswith("key.bias"):
            continue  # A softmax does not see it, so its gradient is rounding noise, which AdamW scales up.
        torch.testing.assert_close(state[name], weight, atol=1e-5, rtol=0)
    validation = rows(18, "validation")
    scores = score_examples(best, validation)
    labels = np.array([row.label for row in validation])
    bce = -np.mean(np.log(np.where(labels, scores, 1 - scores)))
    assert bce == pytest.approx(min(entry["bce"] for entry in first["history"]), abs=1e-5)


def test_ddp_on_two_processes_equals_one(
    config: Callable[..., GateConfig], make_rows: Callable[..., list[GateExample]], tmp_path: Path
) -> None:
    assert_equals_one_process(config, make_rows, tmp_path, "ddp")


@pytest.mark.full
def test_fully_sharded_equals_one_process(
    config: Callable[..., GateConfig], make_rows: Callable[..., list[GateExample]], tmp_path: Path
) -> None:
    assert_equals_one_process(config, make_rows, tmp_path, "fsdp")


@pytest.mark.full
@DEEPSPEED
@pytest.mark.parametrize("strategy", ["zero2", "zero3"])
def test_zero_equals_one_process(
    config: Callable[..., GateConfig], make_rows: Callable[..., list[GateExample]], tmp_path: Path, strategy: str
) -> None:
    assert_equals_one_process(config, make_rows, tmp_path, strategy)


@pytest.mark.full
@pytest.mark.parametrize("strategy", ["ddp", "fsdp", pytest.param("zero2", marks=DEEPSPEED)])
def test_a_finished_run_is_taken_up_on_two_processes(
    config: Callable[..., GateConfig], tmp_path: Path, strategy: str
) -> None:
    """The last checkpoint is read back, by the same number of processes, without another step."""
    first = torchrun(config(strategy=strategy, accumulate=2), tmp_path)
    assert first.returncode == 0, first.stderr[-3000:]
    before = values(reports(tmp_path)[0])
    again = torchrun(config(strategy=strategy, accumulate=2), tmp_path)
    assert again.returncode == 0, again.stderr[-3000:]
    np.testing.assert_array_equal(values(reports(tmp_path)[0]), before)
    assert reports(tmp_path)[0]["strategy"] == ""


@pytest.mark.full
def test_ranks_with_other_data_are_refused_before_the_first_step(
    config: Callable[..., GateConfig], tmp_path: Path
) -> None:
    ended = torchrun(config(strategy="ddp", accumulate=2), tmp_path, "stale-data")
    assert ended.returncode != 0
    assert "ranks [1] have other data, settings or seed than rank 0" in ended.stderr
    assert not (tmp_path / "best.ckpt").exists()
