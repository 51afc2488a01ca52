"""What is trained when a recipe says so: the head, low-rank layers, upper layers; rates by depth; soft labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import ModernBertConfig, ModernBertModel

from engrain.models.gate.config import GateConfig, GateLora
from engrain.models.gate.data import pack_examples, soft_label
from engrain.models.gate.encoder import load_tokenizer, pretrained_network
from engrain.models.gate.training import load_module, score_examples, train_gate
from engrain.models.gate.tuning import LowRank, add_low_rank, merge_low_rank, parameter_groups, prepare_tuning
from engrain.runtime.errors import InputError
from engrain.runtime.schema import AuxiliaryType, ContextDependence, GateExample, Vote

Config = Callable[..., GateConfig]
Rows = Callable[..., list[GateExample]]


def network(config: GateConfig) -> torch.nn.Module:
    torch.manual_seed(0)
    built = pretrained_network(config.model, load_tokenizer(config.model.base))
    prepare_tuning(built, config.training)
    return built


def trained(built: torch.nn.Module) -> set[str]:
    return {name for name, weight in built.named_parameters() if weight.requires_grad}


def test_a_frozen_encoder_leaves_the_head(tiny_config: Config) -> None:
    assert trained(network(tiny_config(tune="head"))) == {"head.weight", "head.bias"}


def test_frozen_layers_go_from_the_bottom_up(tiny_config: Config) -> None:
    names = trained(network(tiny_config(frozen_layers=1)))
    assert not any("embeddings" in name or "layer.0." in name for name in names)
    assert {name for name in names if "layer.1." in name}
    assert {"head.weight", "head.bias"} <= names
    with pytest.raises(InputError, match="the encoder has 2 layers"):
        network(tiny_config(frozen_layers=2))


@pytest.mark.parametrize("tune", ["head", "lora"])
def test_a_run_changes_only_what_it_trains_and_its_checkpoint_scores_alike(
    tiny_config: Config, make_rows: Rows, tmp_path: Path, tune: str
) -> None:
    config = tiny_config(tune=tune, epochs=2, learning_rate=2e-2)
    run = train_gate(config, make_rows(48), make_rows(18, "validation"), tmp_path, seed=0)
    before, after = network(tiny_config()).state_dict(), load_module(run.best).network.state_dict()
    assert before.keys() == after.keys()  # Low-rank layers are merged: the plain shape, as an export wants it.
    changed = {name for name in before if name.startswith("encoder.") and not torch.equal(before[name], after[name])}
    vocabulary = {name for name in changed if "word_embeddings" in name}  # The markers' embeddings are drawn.
    touched = {name for name in changed - vocabulary if before[name].shape == after[name].shape}
    assert touched == set() if tune == "head" else all(".query" in n or ".key" in n or ".value" in n for n in touched)
    assert bool(touched) == (tune == "lora")
    rows = make_rows(18, "validation")
    p = score_examples(run.best, rows)
    labels = np.array([row.label for row in rows])
    assert -np.mean(np.log(np.where(labels, p, 1 - p))) == pytest.approx(run.metrics["bce"], abs=1e-5)


def test_a_low_rank_layer_starts_as_its_frozen_one_and_merges_exactly() -> None:
    torch.manual_seed(0)
    frozen = torch.nn.Linear(6, 4)
    layer = LowRank(frozen, GateLora(rank=2, alpha=6.0))
    states = torch.randn(3, 5, 6)
    torch.testing.assert_close(layer(states), frozen(states))
    torch.nn.init.normal_(layer.up)
    expected = layer(states)
    assert not torch.allclose(expected, frozen(states))
    torch.testing.assert_close(layer.merged()(states), expected, atol=1e-5, rtol=1e-5)


def test_low_rank_layers_fit_modernbert_and_refuse_what_has_none() -> None:
    config = ModernBertConfig(
        vocab_size=30,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        pad_token_id=0,
        cls_token_id=2,
        sep_token_id=3,
        bos_token_id=2,
        eos_token_id=3,
    )
    model = ModernBertModel(config)
    assert add_low_rank(model, GateLora(rank=2)) == 2
    assert merge_low_rank(model) == 2
    with pytest.raises(InputError, match="no layers named query, key, value, Wqkv"):
        add_low_rank(torch.nn.Sequential(torch.nn.Linear(2, 2)), GateLora())


def test_rates_fall_with_depth(tiny_config: Config) -> None:
    config = tiny_config(layer_decay=0.5, learning_rate=8e-3)
    built = network(config)
    groups = parameter_groups(built, config.training)
    rate = {id(weight): group["lr"] for group in groups for weight in group["params"]}
    named = dict(built.named_parameters())
    found = {name: rate[id(weight)] for name, weight in named.items()}
    assert found["head.weight"] == 8e-3
    assert {found[name] for name in named if ".layer.1." in name} == {4e-3}
    assert {found[name] for name in named if ".layer.0." in name} == {2e-3}
    assert {found[name] for name in named if "embeddings" in name} == {1e-3}
    assert sum(len(group["params"]) for group in groups) == len(named)


def test_soft_labels_are_the_mean_probability_of_the_votes(tiny_config: Config, make_rows: Rows) -> None:
    def vote(admit: bool, confidence: float) -> Vote:
        return Vote(
            teacher="t",
            admit=admit,
            auxiliary_type=AuxiliaryType.NON_MEMORY,
            context_dependence=ContextDependence.SELF_CONTAINED,
            confidence=confidence,
        )

    plain, voted = make_rows(2)
    voted = voted.model_copy(update={"votes": (vote(True, 0.9), vote(True, 0.6), vote(False, 0.7))})
    assert soft_label(plain) == float(plain.label)
    assert soft_label(voted) == pytest.approx((0.9 + 0.6 + 0.3) / 3)
    tokenizer = load_tokenizer(tiny_config().model.base)
    soft = pack_examples(tokenizer, [plain, voted], tiny_config(soft_labels=True, corpus_weights={"tiny": 0.25}))
    assert soft.goals == [float(plain.label), pytest.approx(0.6)]
    assert soft.weights == [0.25, 0.25]
    assert pack_examples(tokenizer, [plain, voted], tiny_config()).goals == [1.0, 0.0]


def test_training_goes_on_from_another_gate(tiny_config: Config, make_rows: Rows, tmp_path: Path) -> None:
    first = train_gate(tiny_config(), make_rows(48), make_rows(18, "validation"), tmp_path / "first", seed=1)
    config = tiny_config(learning_rate=1e-9)
    config = config.model_copy(update={"model": config.model.model_copy(update={"start": first.best})})
    second = train_gate(config, make_rows(48), make_rows(18, "validation"), tmp_path / "second", seed=2)
    assert second.metrics["bce"] == pytest.approx(first.metrics["bce"], abs=1e-5)
    other = config.model_copy(update={"model": config.model.model_copy(update={"pooling": "cls"})})
    with pytest.raises(InputError, match="another pooling"):
        train_gate(other, make_rows(48), make_rows(18, "validation"), tmp_path / "third", seed=2)
