"""A blend is the straight line between two gates' weights, and scores like a gate of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engrain.models.gate.blending import blend_checkpoints
from engrain.models.gate.config import GateConfig
from engrain.models.gate.training import load_module, score_examples, train_gate
from engrain.runtime.errors import InputError
from engrain.runtime.schema import GateExample

Config = Callable[..., GateConfig]
Rows = Callable[..., list[GateExample]]


def test_a_blend_lies_between_its_ends(tiny_config: Config, make_rows: Rows, tmp_path: Path) -> None:
    first = train_gate(tiny_config(epochs=1), make_rows(48), make_rows(18, "validation"), tmp_path / "a", seed=1)
    config = tiny_config(epochs=1, learning_rate=1e-2)
    config = config.model_copy(update={"model": config.model.model_copy(update={"start": first.best})})
    second = train_gate(config, make_rows(48), make_rows(18, "validation"), tmp_path / "b", seed=2)
    ends = [load_module(path).state_dict() for path in (first.best, second.best)]
    for share in (0.0, 0.3, 1.0):
        out = blend_checkpoints(first.best, second.best, tmp_path / f"{share}" / "best.ckpt", share)
        blended = load_module(out)
        for name, weight in blended.state_dict().items():
            torch.testing.assert_close(weight, share * ends[0][name] + (1 - share) * ends[1][name], atol=1e-6, rtol=0)
        assert blended.facts["blended_with_start"] == share
        assert len(score_examples(out, make_rows(5, "other"))) == 5
    with pytest.raises(InputError, match="between 0 and 1"):
        blend_checkpoints(first.best, second.best, tmp_path / "x.ckpt", 1.5)


def test_gates_of_other_shapes_are_not_blended(tiny_config: Config, make_rows: Rows, tmp_path: Path) -> None:
    run = train_gate(tiny_config(epochs=1), make_rows(48), make_rows(18, "validation"), tmp_path / "a", seed=1)
    content = torch.load(run.best, weights_only=True)
    content["engrain_gate"]["encoder"]["num_hidden_layers"] = 1
    content["state_dict"] = {name: value for name, value in content["state_dict"].items() if "layer.1." not in name}
    torch.save(content, tmp_path / "shallow.ckpt")
    with pytest.raises(InputError, match="not gates of one shape"):
        blend_checkpoints(tmp_path / "shallow.ckpt", run.best, tmp_path / "x.ckpt", 0.5)
