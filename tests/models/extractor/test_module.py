"""The module: loss over target tokens whatever the batching, frozen base, adapter-only checkpoints, learning rate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as functional

from engrain.models.extractor.base import load_tokenizer, locate_base
from engrain.models.extractor.config import ExtractorConfig, ExtractorTrainingConfig
from engrain.models.extractor.data import Batch, EncodedExample, collate, encode_example
from engrain.models.extractor.module import ExtractorModule, rate_factor, trainable_parameters
from engrain.models.extractor.packing import collate_packed
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.schema import ExtractionExample

Build = Callable[..., ExtractionExample]
BuildModule = Callable[..., ExtractorModule]


@pytest.fixture
def encoded(config: ExtractorConfig, example: Build) -> list[EncodedExample]:
    tokenizer = load_tokenizer(locate_base(config.model.base))
    return [encode_example(tokenizer, example(index, messages=1 + index), config.model) for index in range(4)]


def gradients(module: ExtractorModule, batches: list[Batch]) -> dict[str, torch.Tensor]:
    """What the step's gradient is, given that Lightning divides each loss by the number of batches."""
    module.zero_grad()
    for index, batch in enumerate(batches):
        (module.training_step(batch, index) / module.config.training.accumulate).backward()
    return {name: w.grad.clone() for name, w in module.named_parameters() if w.requires_grad and w.grad is not None}


def test_unequal_micro_batches_give_the_gradient_of_one_batch(
    build_module: BuildModule, config: ExtractorConfig, encoded: list[EncodedExample]
) -> None:
    total = sum(example.target_tokens for example in encoded)
    training = config.training
    whole = build_module(config.model_copy(update={"training": training.model_copy(update={"accumulate": 1})}))
    split = build_module(config.model_copy(update={"training": training.model_copy(update={"accumulate": 2})}))
    expected = gradients(whole, [collate(encoded, 0, total)])
    found = gradients(split, [collate(encoded[:1], 0, total), collate(encoded[1:], 0, total)])
    assert expected.keys() == found.keys()
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, atol=1e-6), name


def test_loss_counts_the_answer_only(
    build_module: BuildModule, config: ExtractorConfig, encoded: list[EncodedExample]
) -> None:
    module = build_module(config)
    batch = collate(encoded, 0, 1)
    with torch.no_grad():
        logits = module.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        expected = sum(
            functional.cross_entropy(
                logits[row, example.prompt_length - 1 : len(example.ids) - 1],
                torch.tensor(example.ids[example.prompt_length :]),
                reduction="sum",
            )
            for row, example in enumerate(encoded)
        )
        assert torch.allclose(module.loss_sum(batch), torch.as_tensor(expected), rtol=1e-5)
        module._keeps_logits = False
        assert torch.allclose(module.loss_sum(batch), torch.as_tensor(expected), rtol=1e-5)


@pytest.mark.parametrize("pack", [False, True])
def test_the_fused_loss_equals_the_plain_one(
    build_module: BuildModule, config: ExtractorConfig, encoded: list[EncodedExample], pack: bool
) -> None:
    total = sum(example.target_tokens for example in encoded)
    batch = collate_packed([encoded[:2], encoded[2:]], 0, total, shared=0) if pack else collate(encoded, 0, total)
    training = config.training.model_copy(update={"fused_loss": True})
    plain, fused = build_module(config), build_module(config.model_copy(update={"training": training}))
    expected, found = gradients(plain, [batch]), gradients(fused, [batch])
    assert torch.allclose(fused.loss_sum(batch), plain.loss_sum(batch), rtol=1e-5)
    assert expected.keys() == found.keys() and expected
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=1e-6, rtol=1e-4, msg=name)


def test_the_fused_loss_is_refused_where_logits_are_more_than_a_product(
    build_module: BuildModule, config: ExtractorConfig
) -> None:
    module = build_module(config)
    module.model.config.model_type = "granite"
    training = config.training.model_copy(update={"fused_loss": True})
    with pytest.raises(InputError, match="granite models may scale their logits"):
        ExtractorModule(module.model, config.model_copy(update={"training": training}))
    with pytest.raises(ValueError, match="which fsdp divides"):
        ExtractorTrainingConfig(strategy="fsdp", fused_loss=True)


def test_only_lora_is_trained_and_the_head_is_not_adapted(build_module: BuildModule, config: ExtractorConfig) -> None:
    module = build_module(config)
    trained = module.trained_state()
    assert all("lora_" in name for name in trained)
    assert not any("lm_head" in name for name in trained)
    # r (in + out) for q, k, v, o and the three of the MLP, in two layers.
    per_layer = 4 * ((16 + 16) + (16 + 8) * 2 + (16 + 16) + (16 + 32) * 2 + (32 + 16))
    assert trainable_parameters(module) == 2 * per_layer


def test_lora_on_the_last_layers_and_named_targets(build_module: BuildModule, config: ExtractorConfig) -> None:
    module = build_module(config, layers=1, targets=("q_proj", "v_proj"))
    assert {name.split(".")[5] for name in module.trained_state()} == {"1"}
    assert trainable_parameters(module) == 4 * ((16 + 16) + (16 + 8))
    with pytest.raises(InputError, match=r"lora.layers is 3, but the base model has 2 blocks"):
        build_module(config, layers=3)
    with pytest.raises(InputError, match="do not fit this base model"):
        build_module(config, targets=("no_such_layer",))


@pytest.mark.parametrize("flag", ["rslora", "dora"])
def test_variants_of_lora_train(
    build_module: BuildModule, config: ExtractorConfig, encoded: list[EncodedExample], flag: str
) -> None:
    module = build_module(config, **{flag: True})
    assert gradients(module, [collate(encoded, 0, 50)])


def test_gradient_checkpointing_changes_no_gradient(
    build_module: BuildModule, config: ExtractorConfig, encoded: list[EncodedExample]
) -> None:
    batch = [collate(encoded, 0, 50)]
    expected = gradients(build_module(config), batch)
    model = config.model.model_copy(update={"gradient_checkpointing": True})
    found = gradients(build_module(config.model_copy(update={"model": model})), batch)
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, atol=1e-6), name


def test_dropout_is_on_while_training(
    build_module: BuildModule, config: ExtractorConfig, encoded: list[EncodedExample]
) -> None:
    module = build_module(config, dropout=0.5)
    batch = collate(encoded, 0, 50)
    assert module.loss_sum(batch) != module.loss_sum(batch)
    module.eval()
    assert module.loss_sum(batch) == module.loss_sum(batch)


def test_a_loss_that_is_not_a_number_names_the_examples(
    build_module: BuildModule, config: ExtractorConfig, encoded: list[EncodedExample], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = build_module(config)
    module.names = lambda index: [f"example-of-batch-{index}"]
    monkeypatch.setattr(module, "loss_sum", lambda batch: torch.tensor(float("nan")))
    with pytest.raises(TrainingError, match=r"the loss is nan at step 0 \(examples example-of-batch-3\)"):
        module.training_step(collate(encoded, 0, 50), 3)


def test_a_checkpoint_of_another_shape_is_refused(
    build_module: BuildModule, config: ExtractorConfig, tmp_path: Path
) -> None:
    small, large = build_module(config), build_module(config, rank=8)
    checkpoint: dict[str, Any] = {"state_dict": small.state_dict()}
    small.on_save_checkpoint(checkpoint)
    assert checkpoint["state_dict"].keys() == small.trained_state().keys()
    small.on_load_checkpoint(checkpoint)
    with pytest.raises(TrainingError, match="no fitting weight"):
        large.on_load_checkpoint(checkpoint)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_rate_rises_then_falls_to_zero(schedule: str) -> None:
    rates = [rate_factor(step, 20, 0.2, schedule) for step in range(20)]
    assert rates[:4] == sorted(rates[:4]) and rates[0] > 0
    assert rates[4] == max(rates) == 1.0
    assert rates[4:] == sorted(rates[4:], reverse=True) and rates[-1] > 0
    assert rate_factor(20, 20, 0.2, schedule) == pytest.approx(0.0)
