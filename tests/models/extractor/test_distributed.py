"""Several real processes over gloo: a run on two equals one with twice the accumulation, and leaves a whole adapter."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engrain.models.extractor.config import ExtractorConfig, ExtractorTrainingConfig
from engrain.models.extractor.training import ExtractorRun, train_extractor
from engrain.runtime.errors import InputError
from engrain.runtime.schema import ExtractionExample

SCRIPT = Path(__file__).with_name("distributed.py")
Build = Callable[..., ExtractionExample]
DEEPSPEED = pytest.mark.skipif(importlib.util.find_spec("deepspeed") is None, reason="deepspeed is not installed")


def settings(config: ExtractorConfig, **training: object) -> ExtractorConfig:
    values = {"learning_rate": 1e-2, "batch_size": 2, "epochs": 3, "evaluate_every": 2, "accelerator": "cpu"}
    lora = config.lora.model_copy(update={"dropout": 0.0})
    wanted = ExtractorTrainingConfig.model_validate({**values, "accumulate": 1, **training})
    return config.model_copy(update={"training": wanted, "lora": lora})


def torchrun(config: ExtractorConfig, out: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    out.mkdir(parents=True)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={port}"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RANK", "WORLD", "LOCAL_"))}
    environment = clean | {"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    command += [str(SCRIPT), config.model_dump_json(), str(out)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    assert ended.returncode == 0, ended.stderr[-6000:]


@pytest.mark.full
@pytest.mark.parametrize(
    "strategy",
    ["ddp", "fsdp", pytest.param("zero2", marks=DEEPSPEED), pytest.param("zero3", marks=DEEPSPEED)],
)
@pytest.mark.parametrize("pack", [False, True])
def test_two_processes_equal_one(
    config: ExtractorConfig, example: Build, tmp_path: Path, strategy: str, pack: bool
) -> None:
    torchrun(settings(config, strategy=strategy, pack=pack, accumulate=2), tmp_path / "two")
    alone = train_extractor(
        settings(config, accumulate=4, pack=pack),
        [example(i, messages=1 + i % 3) for i in range(13)],
        [example(i) for i in range(20, 25)],
        tmp_path / "one",
        seed=1,
    )
    first, second = (
        ExtractorRun.model_validate_json((tmp_path / "two" / f"report-{rank}.json").read_text("utf-8"))
        for rank in (0, 1)
    )
    assert first.history == second.history
    assert [entry.step for entry in first.history] == [entry.step for entry in alone.history]
    for found, expected in zip(first.history, alone.history, strict=True):
        assert found.loss == pytest.approx(expected.loss, abs=1e-5)
        assert found.train_loss == pytest.approx(expected.train_loss, abs=1e-5)
    weights = load_file(alone.adapter / "adapter_model.safetensors")
    shared = load_file(tmp_path / "two" / "adapter" / "adapter_model.safetensors")
    assert shared.keys() == weights.keys() and weights
    for name, weight in weights.items():
        torch.testing.assert_close(shared[name], weight, atol=1e-4, rtol=0)


def test_a_strategy_without_torchrun_says_how_to_start_it(
    config: ExtractorConfig, example: Build, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="started by torchrun"):
        train_extractor(settings(config, strategy="ddp"), [example(0), example(1)], [example(2)], tmp_path, seed=1)
