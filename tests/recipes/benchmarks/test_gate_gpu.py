"""The arithmetic behind model FLOP utilisation, and that a machine without a GPU says so."""

from __future__ import annotations

import pytest
import torch

from engrain.recipes.benchmarks import gate_gpu
from engrain.runtime.errors import InputError


def test_weights_are_those_of_the_real_class() -> None:
    from transformers import ModernBertConfig, ModernBertModel

    config = ModernBertConfig(vocab_size=100, num_hidden_layers=2, pad_token_id=0)
    layers = ModernBertModel(config).layers
    counted = sum(weight.numel() for weight in layers.parameters() if weight.ndim > 1)
    assert gate_gpu.Shape(layers=2).weights == counted


def test_flops_grow_with_what_is_attended() -> None:
    shape = gate_gpu.Shape()
    assert shape.flops_a_token(64) == 6 * shape.weights + 12 * 768 * 22 * 64
    assert shape.flops_a_token(512) == 6 * shape.weights + 12 * 768 * (8 * 512 + 14 * 128)


def test_a_card_is_known_or_its_peak_is_given() -> None:
    assert gate_gpu.peak_tflops("NVIDIA H200", None) == 989.0
    assert gate_gpu.peak_tflops("Unknown", 10.0) == 10.0
    with pytest.raises(InputError, match="--peak-tflops"):
        gate_gpu.peak_tflops("Unknown", None)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    gate_gpu.main()
    assert "skipped: torch sees no GPU" in capsys.readouterr().err
