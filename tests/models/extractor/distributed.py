"""One rank of a distributed test: `distributed.py CONFIG_JSON OUT`, under torchrun."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from conftest import build_example
from deepspeed_cpu import on_cpu

from engrain.models.extractor.config import ExtractorConfig
from engrain.models.extractor.training import train_extractor

torch.set_num_threads(1)
config = ExtractorConfig.model_validate_json(sys.argv[1])
if config.training.strategy.startswith("zero"):
    on_cpu()
run = train_extractor(
    config,
    [build_example(i, messages=1 + i % 3) for i in range(13)],
    [build_example(i) for i in range(20, 25)],
    Path(sys.argv[2]),
    seed=1,
)
Path(sys.argv[2], f"report-{os.environ['RANK']}.json").write_text(run.model_dump_json(), encoding="utf-8")
