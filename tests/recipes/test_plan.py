"""Plans: exact parameter counts, sensible memory, every shipped recipe, and nothing that needs torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engrain.recipes.architecture import find_architecture, from_config, shipped_architectures
from engrain.recipes.loading import load_recipe, shipped_recipes
from engrain.recipes.memory_estimate import estimate
from engrain.recipes.plan import plan
from engrain.runtime.errors import RecipeError


@pytest.mark.parametrize("name", sorted(shipped_architectures()))
def test_parameters_equal_the_real_class(name: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    architecture = shipped_architectures()[name]
    config = transformers.AutoConfig.for_model(**architecture.config)
    causal = architecture.config["model_type"] in ("qwen3", "llama")
    family = transformers.AutoModelForCausalLM if causal else transformers.AutoModel
    with torch.device("meta"):
        model = family.from_config(config)
    assert architecture.parameters == sum(parameter.numel() for parameter in model.parameters())


def test_lora_parameters_equal_peft_on_the_real_class() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    peft = pytest.importorskip("peft")
    architecture = shipped_architectures()["Qwen/Qwen3-4B"]
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**architecture.config))
        for targets in (("all-linear",), ("q_proj", "v_proj")):
            setting = targets[0] if targets == ("all-linear",) else list(targets)
            tuned = peft.get_peft_model(model, peft.LoraConfig(r=16, target_modules=setting, task_type="CAUSAL_LM"))
            trained = sum(parameter.numel() for parameter in tuned.parameters() if parameter.requires_grad)
            assert architecture.lora_parameters(16, targets) == trained
            model = tuned.unload()


def test_unknown_lora_targets_are_refused_with_the_allowed_ones() -> None:
    with pytest.raises(RecipeError, match=r"\['query'\].*q_proj"):
        shipped_architectures()["Qwen/Qwen3-4B"].lora_parameters(8, ("query",))


def test_an_unknown_model_type_is_refused_and_an_unknown_name_is_none() -> None:
    with pytest.raises(RecipeError, match="model_type 'mamba'"):
        from_config("x", {"model_type": "mamba"})
    assert find_architecture("nobody/nothing") is None


def test_full_training_costs_sixteen_bytes_a_parameter_before_activations() -> None:
    architecture = shipped_architectures()["answerdotai/ModernBERT-base"]
    parts = estimate(
        architecture,
        trained=architecture.parameters,
        batch=4,
        length=512,
        dtype="float32",
        checkpointing=False,
        logits=False,
    )
    # Weights 4, gradients 4, AdamW's two moments 8.
    assert parts.weights + parts.gradients + parts.optimiser == 16 * architecture.parameters
    assert parts.total == 16 * architecture.parameters + parts.activations


def test_checkpointing_and_an_adapter_lower_the_estimate() -> None:
    architecture = shipped_architectures()["Qwen/Qwen3-4B"]
    trained = architecture.lora_parameters(16, ("all-linear",))

    def total(checkpointing: bool, trained: int) -> int:
        parts = estimate(
            architecture,
            trained=trained,
            batch=1,
            length=4096,
            dtype="bfloat16",
            checkpointing=checkpointing,
            logits=True,
        )
        return parts.total

    assert total(True, trained) < total(False, trained) < total(False, architecture.parameters)
    # A 4B model with LoRA and checkpointing is known to fit a 24 GB card.
    assert 8 * 2**30 < total(True, trained) < 24 * 2**30


@pytest.mark.parametrize("name", sorted(shipped_recipes()))
def test_every_shipped_recipe_is_planned(name: str) -> None:
    document = plan(load_recipe(name))
    for run in document["runs"]:
        # Labelling, synthesis and benchmarks train nothing.
        trains = run["recipe"] in ("gate", "extractor")
        assert bool(run["parameters"]) is bool(run["memory_gib"]) is trains
        if trains:
            parts = {name: size for name, size in run["memory_gib"].items() if name != "total"}
            assert run["parameters"]["base"] >= run["parameters"]["trained"] - 1025
            assert run["memory_gib"]["total"] == pytest.approx(sum(parts.values()))
        assert run["writes"]
        assert run["resolved"]["name"]


def test_gate_steps_follow_from_the_corpus() -> None:
    steps = plan(load_recipe("gate/modernbert-paper"))["runs"][0]["steps"]
    # 400 rows in batches of 4 x 4 for 10 epochs (SLICE-Mem A.1, B.1).
    assert (steps["training rows"], steps["steps an epoch"], steps["steps at most"]) == (400, 25, 250)


def test_planning_loads_no_torch() -> None:
    code = (
        "import sys; from engrain.recipes.loading import load_recipe; from engrain.recipes.plan import plan;"
        "plan(load_recipe('extractor/qwen3-4b')); print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
