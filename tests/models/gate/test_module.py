"""The network and its optimisation: pooling, markers, dropout, exact gradients under accumulation, the schedule."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from transformers import BertConfig, ModernBertConfig, ModernBertModel
from transformers.modeling_outputs import BaseModelOutput

from engrain.models.gate.config import GateConfig, GateModelConfig, GateTrainingConfig, Pooling
from engrain.models.gate.data import GateData, check_splits, check_weights, pack_examples, read_examples
from engrain.models.gate.encoder import (
    GateNetwork,
    empty_network,
    encoder_settings,
    load_tokenizer,
    mean_pool,
    pad_id,
    pretrained_network,
)
from engrain.models.gate.metrics import weighted_bce_sum
from engrain.models.gate.module import GateModule, rate_factor
from engrain.runtime.errors import InputError
from engrain.runtime.gate_input import MARKERS
from engrain.runtime.schema import GateExample

Rows = Callable[..., list[GateExample]]


def test_mean_pooling_leaves_padding_out() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]])
    assert mean_pool(states, torch.tensor([[1, 1, 0]])).tolist() == [[2.0, 3.0]]
    assert mean_pool(states, torch.tensor([[0, 0, 0]])).tolist() == [[0.0, 0.0]]


class Lookup(torch.nn.Module):
    """Stands for an encoder whose state at a token is the token's id, twice."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=input_ids.float().unsqueeze(-1).expand(-1, -1, 2))


@pytest.mark.parametrize(("pooling", "expected"), [("cls", 2.0), ("mean", 19 / 5), ("target", 14 / 2)])
def test_pooling_takes_the_first_token_all_of_them_or_the_target(pooling: Pooling, expected: float) -> None:
    network = GateNetwork(Lookup(), 2, pooling, target_marker=6)
    torch.nn.init.constant_(network.head.weight, 0.5)
    torch.nn.init.zeros_(network.head.bias)
    ids = torch.tensor([[2, 1, 2, 6, 8, 50]])
    logit = network(ids, torch.tensor([[1, 1, 1, 1, 1, 0]]))
    assert logit.tolist() == pytest.approx([expected])


def test_markers_get_embeddings_of_their_own(tiny_config: Callable[..., GateConfig]) -> None:
    config = tiny_config().model
    tokenizer = load_tokenizer(config.base)
    torch.manual_seed(1)
    network = pretrained_network(config, tokenizer)
    table = network.encoder.get_input_embeddings().weight
    assert table.shape[0] == tokenizer.get_vocab_size(with_added_tokens=True)
    first, second = (table[tokenizer.token_to_id(marker)] for marker in MARKERS)
    assert not torch.equal(first, second)
    assert network.encoder.pooler is None
    assert all(module.training for module in network.modules())


def test_padding_does_not_change_a_logit(tiny_config: Callable[..., GateConfig]) -> None:
    config = tiny_config().model
    network = pretrained_network(config, load_tokenizer(config.base)).eval()
    ids = torch.tensor([[2, 8, 9, 3]])
    wide = torch.tensor([[2, 8, 9, 3, 0, 0]])
    alone = network(ids, torch.ones_like(ids))
    padded = network(wide, torch.tensor([[1, 1, 1, 1, 0, 0]]))
    assert alone.shape == (1,)
    torch.testing.assert_close(alone, padded, atol=1e-6, rtol=0)


def test_dropout_setting_reaches_every_rate(tiny_config: Callable[..., GateConfig]) -> None:
    config = tiny_config().model.model_copy(update={"dropout": 0.0})
    network = pretrained_network(config, load_tokenizer(config.base)).train()
    assert all(module.p == 0.0 for module in network.modules() if isinstance(module, torch.nn.Dropout))
    assert encoder_settings(network)["attention_probs_dropout_prob"] == 0.0


def test_network_is_rebuilt_from_its_settings_alone(tiny_config: Callable[..., GateConfig]) -> None:
    config = tiny_config().model
    network = pretrained_network(config, load_tokenizer(config.base))
    settings = json.loads(json.dumps(encoder_settings(network)))
    assert config.base not in json.dumps(settings)
    again = empty_network(config, settings, load_tokenizer(config.base))
    again.load_state_dict(network.state_dict())
    assert pad_id(again) == 0


def test_modernbert_with_cls_pooling_gives_finite_logits(tmp_path: Path, tiny_base: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_base))
    settings = ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=3,
        num_attention_heads=2,
        local_attention=8,
        pad_token_id=0,
        cls_token_id=2,
        sep_token_id=3,
        bos_token_id=2,
        eos_token_id=3,
    )
    ModernBertModel(settings).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((tiny_base / "tokenizer.json").read_bytes())
    config = GateModelConfig(base=str(tmp_path), pooling="cls")
    network = pretrained_network(config, load_tokenizer(config.base)).eval()
    ids = torch.randint(4, 20, (3, 40))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    assert torch.isfinite(network(ids, mask)).all()
    assert network.encoder.config._attn_implementation == "sdpa"


def test_encoders_that_cannot_be_batched_or_are_too_short_are_refused(tmp_path: Path, tiny_base: Path) -> None:
    with pytest.raises(InputError, match="64 positions"):
        pretrained_network(GateModelConfig(base=str(tiny_base), max_length=65), load_tokenizer(str(tiny_base)))
    settings = BertConfig.from_pretrained(tiny_base)
    settings.pad_token_id = None
    settings.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="no pad token"):
        pretrained_network(GateModelConfig(base=str(tmp_path), max_length=64), load_tokenizer(str(tiny_base)))
    with pytest.raises(InputError, match="fast tokenizer"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize("rows", [16, 18, 21])
def test_gradient_of_a_step_is_the_mean_over_its_examples(
    rows: int, tiny_config: Callable[..., GateConfig], make_rows: Rows
) -> None:
    """Equation 3 over the step's examples, whatever the sizes of the micro-batches (Lightning divides by 4)."""
    config = tiny_config(batch_size=6, accumulate=4, epochs=1)
    config = config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.0})})
    tokenizer = load_tokenizer(config.model.base)
    torch.manual_seed(0)
    network = pretrained_network(config.model, tokenizer)
    packed = pack_examples(tokenizer, make_rows(rows), config)
    module = GateModule(network, config, tokenizer_json="", w_plus=1.7)
    module.log = lambda *_, **__: None  # type: ignore[method-assign]
    data = GateData(packed, packed, config, pad_id=0, seed=3)
    assert data.steps == 1
    losses = [module.training_step(batch, place) / 4 for place, batch in enumerate(data.train_dataloader())]
    torch.stack(losses).sum().backward()
    found = [weight.grad.clone() for weight in network.parameters() if weight.grad is not None]
    network.zero_grad()
    whole = next(iter(data.val_dataloader()))
    logits = network(whole["input_ids"], whole["attention_mask"])
    (weighted_bce_sum(logits, whole["labels"], 1.7) / rows).backward()
    expected = [weight.grad for weight in network.parameters() if weight.grad is not None]
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-4)


def test_rate_rises_for_a_tenth_and_falls_to_zero() -> None:
    rates = [rate_factor(step, 100, 0.1) for step in range(101)]
    assert rates[0] > 0.0
    assert max(rates) == rates[10] == 1.0
    assert rates[:11] == sorted(set(rates[:11]))
    assert rates[10:] == sorted(set(rates[10:]), reverse=True)
    assert rates[100] == 0.0
    assert rate_factor(0, 5, 0.0) == 1.0


def test_biases_and_norms_are_not_decayed(tiny_config: Callable[..., GateConfig]) -> None:
    config = tiny_config()
    network = pretrained_network(config.model, load_tokenizer(config.model.base))
    groups = GateModule(network, config, tokenizer_json="").configure_optimizers()["optimizer"].param_groups
    assert [group["weight_decay"] for group in groups] == [0.01, 0.0]
    assert {weight.ndim for weight in groups[1]["params"]} == {1}
    assert sum(len(group["params"]) for group in groups) == len(list(network.parameters()))


def test_splits_that_would_mislead_are_refused(make_rows: Rows) -> None:
    train, validation = make_rows(12), make_rows(6, "validation")
    check_splits(train, validation)
    with pytest.raises(InputError, match="training set is empty"):
        check_splits([], validation)
    with pytest.raises(InputError, match="all 12 training examples are positive"):
        check_splits(make_rows(12, positive_every=1), validation)
    negatives = [row for row in validation if not row.label]
    with pytest.raises(InputError, match="validation examples are negative"):
        check_splits(train, negatives)
    shared = [row.model_copy(update={"group": train[0].group}) for row in validation]
    with pytest.raises(InputError, match="train-group-0"):
        check_splits(train, shared)
    with pytest.raises(InputError, match="train-0"):
        check_splits([*train, train[0]], validation)


def test_weights_of_no_corpus_or_of_nothing_are_refused(make_rows: Rows) -> None:
    rows = make_rows(4)
    corpus = rows[0].corpus
    check_weights(rows, {corpus: 0.5})
    with pytest.raises(InputError, match=f"names lled, but the training rows are from {corpus}"):
        check_weights(rows, {"lled": 0.5})
    with pytest.raises(InputError, match="every training row weigh 0"):
        check_weights(rows, {corpus: 0.0})
    for weight in (-1.0, float("nan")):
        with pytest.raises(ValidationError):
            GateTrainingConfig(corpus_weights={corpus: weight})


def test_parquet_rows_come_back_as_examples(tmp_path: Path, make_rows: Rows) -> None:
    from datasets import Dataset

    rows = make_rows(5)
    Dataset.from_list([row.model_dump(mode="json") for row in rows]).to_parquet(tmp_path / "gate.parquet")
    assert read_examples(tmp_path / "gate.parquet") == rows
    with pytest.raises(InputError, match="does not exist"):
        read_examples(tmp_path / "none.parquet")
