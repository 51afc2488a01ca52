"""`engrain plan`: a recipe resolved, before anything is paid for. Offline; builds no data and loads no weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import ceil
from typing import Any

from engrain.data_builders.config import ExtractionWindows
from engrain.data_builders.extraction_corpus import extraction_corpus
from engrain.data_builders.gate_corpus import shipped_gate_corpus
from engrain.data_builders.shipped import load_shipped
from engrain.recipes import console
from engrain.recipes.architecture import Architecture, find_architecture
from engrain.recipes.benchmarks.config import BenchRecipe
from engrain.recipes.config import ExtractorRecipe, GateRecipe, MemoraData, QuickstartRecipe, Recipe, ShippedData
from engrain.recipes.label_config import LabelRecipe, planned
from engrain.recipes.loading import load_recipe, recipe_hash
from engrain.recipes.memory_estimate import estimate
from engrain.recipes.synthesize_config import SynthesisRecipe, planned_synthesis
from engrain.recipes.train_extractor import EVALUATION_FILE
from engrain.recipes.train_gate import RUN_FILE
from engrain.runtime.schema import Split

# Memora has ten personas in every split (SLICE-Mem A.1).
MEMORA_PERSONAS = 10


def command(source: str, overrides: Sequence[str], as_json: bool) -> None:
    """`engrain plan`: print the plan of a recipe."""
    recipe = load_recipe(source, overrides)
    document = plan(recipe)
    if as_json:
        console.show_json(document)
        return
    for part in document["runs"]:
        console.show_fields(f"{part['recipe']}: {part['name']}", _flatten(part["resolved"]))
        console.show_fields("steps", part["steps"])
        if part["parameters"]:
            console.show_fields("parameters", part["parameters"])
        if part["memory_gib"]:
            console.show_fields("training memory on one device, GiB", part["memory_gib"])
        console.show_fields("will be written", {str(n): path for n, path in enumerate(part["writes"], start=1)})


def plan(recipe: Recipe) -> dict[str, Any]:
    """The plan as plain data: one entry of `runs` a training run, and the hash of the resolved recipe."""
    return {"recipe_hash": recipe_hash(recipe), "runs": _runs(recipe)}


def _runs(recipe: Recipe) -> list[dict[str, Any]]:
    if isinstance(recipe, BenchRecipe):
        return [_plan_bench(recipe)]
    if isinstance(recipe, SynthesisRecipe):
        return [planned_synthesis(recipe)]
    if isinstance(recipe, LabelRecipe):
        return [planned(recipe)]
    parts: list[GateRecipe | ExtractorRecipe] = (
        [recipe.gate, recipe.extractor] if isinstance(recipe, QuickstartRecipe) else [recipe]
    )
    return [_plan_run(part) for part in parts]


def _plan_bench(recipe: BenchRecipe) -> dict[str, Any]:
    paid = ["answer", *(f"judge ({judge.name})" for judge in recipe.judges)] if recipe.reader else []
    return {
        "recipe": recipe.recipe,
        "name": recipe.name,
        "resolved": recipe.model_dump(mode="json"),
        "steps": {
            "systems": ", ".join(system.name for system in recipe.systems),
            "stages": ", ".join(["construct", "consolidate", "retrieve", *paid]),
            "repetitions": recipe.repetitions if recipe.reader else 0,
        },
        "parameters": {},
        "memory_gib": {},
        "writes": [f"{recipe.folder}/{name}" for name in ("systems/", "vectors.db", "results.json", "report.html")],
    }


def _plan_run(recipe: GateRecipe | ExtractorRecipe) -> dict[str, Any]:
    architecture = find_architecture(recipe.model.base)
    return {
        "recipe": recipe.recipe,
        "name": recipe.name,
        "resolved": recipe.model_dump(mode="json"),
        "steps": _gate_steps(recipe) if isinstance(recipe, GateRecipe) else _extractor_steps(recipe),
        "parameters": _parameters(recipe, architecture),
        "memory_gib": _memory(recipe, architecture),
        "writes": _gate_writes(recipe) if isinstance(recipe, GateRecipe) else _extractor_writes(recipe),
    }


def _gate_steps(recipe: GateRecipe) -> dict[str, object]:
    training, rows = recipe.training, _gate_rows(recipe)
    if rows is None:
        return {"training rows": "known once the corpus is read", "runs": len(recipe.seeds)}
    per_epoch = ceil(rows / (training.batch_size * training.accumulate))
    return {
        "training rows": rows,
        "examples a step": training.batch_size * training.accumulate,
        "steps an epoch": per_epoch,
        "steps at most": per_epoch * training.epochs,
        "warm-up steps": round(per_epoch * training.epochs * training.warmup_ratio),
        "runs": len(recipe.seeds),
    }


def _gate_rows(recipe: GateRecipe) -> int | None:
    if isinstance(recipe.data, MemoraData):
        if recipe.data.rows_per_persona is None:
            return None
        return (recipe.data.rows_per_persona - recipe.data.validation_per_persona) * MEMORA_PERSONAS
    if isinstance(recipe.data, ShippedData):
        corpus = shipped_gate_corpus(load_shipped(), recipe.data)
        return sum(example.split is Split.TRAIN for example in corpus.examples)
    return None


def _extractor_steps(recipe: ExtractorRecipe) -> dict[str, object]:
    training, windows = recipe.training, _extraction_windows(recipe)
    if windows is None:
        return {"training windows": "known once the corpus is read"}
    per_epoch = ceil(windows / (training.batch_size * training.accumulate))
    steps = min(per_epoch * training.epochs, training.max_steps or per_epoch * training.epochs)
    return {
        "training windows": windows,
        "windows a step": training.batch_size * training.accumulate,
        "steps an epoch": per_epoch,
        "steps at most": steps,
        "warm-up steps": round(steps * training.warmup_ratio),
        "tokens of a window at most": recipe.model.max_length,
    }


def _extraction_windows(recipe: ExtractorRecipe) -> int | None:
    if not isinstance(recipe.data, ShippedData):
        return None
    corpus = load_shipped()
    settings = ExtractionWindows(style=recipe.window.style, size=recipe.window.size, overlap=recipe.window.overlap)
    built = extraction_corpus(corpus.sessions, corpus.records, settings, splits=corpus.splits(recipe.data))
    return built.report.windows.get(Split.TRAIN, 0)


def _trained(recipe: GateRecipe | ExtractorRecipe, architecture: Architecture) -> int:
    if isinstance(recipe, GateRecipe):
        # The head: one weight a hidden unit and a bias (SLICE-Mem equation 1).
        return architecture.parameters + architecture.hidden + 1
    targets = recipe.lora.targets
    full = architecture.lora_parameters(recipe.lora.rank, (targets,) if isinstance(targets, str) else targets)
    return full * (recipe.lora.layers or architecture.layers) // architecture.layers


def _parameters(recipe: GateRecipe | ExtractorRecipe, architecture: Architecture | None) -> dict[str, object]:
    if architecture is None:
        return {"base": f"{recipe.model.base}: its architecture is not shipped; a local folder is read"}
    return {"base": architecture.parameters, "trained": _trained(recipe, architecture)}


def _memory(recipe: GateRecipe | ExtractorRecipe, architecture: Architecture | None) -> dict[str, float]:
    if architecture is None:
        return {}
    is_gate = isinstance(recipe, GateRecipe)
    parts = estimate(
        architecture,
        trained=_trained(recipe, architecture),
        batch=recipe.training.batch_size,
        length=recipe.model.max_length,
        dtype="float32" if isinstance(recipe, GateRecipe) else recipe.model.dtype,
        checkpointing=False if isinstance(recipe, GateRecipe) else recipe.model.gradient_checkpointing,
        logits=not is_gate,
    )
    sizes = {name: value / 2**30 for name, value in asdict(parts).items()}
    return sizes | {"total": parts.total / 2**30}


def _gate_writes(recipe: GateRecipe) -> list[str]:
    runs = [f"{recipe.folder}/seed-{seed}/{name}" for seed in recipe.seeds for name in ("best.ckpt", "last.ckpt")]
    return [*runs, f"{recipe.folder}/{RUN_FILE}"]


def _extractor_writes(recipe: ExtractorRecipe) -> list[str]:
    return [f"{recipe.folder}/{name}" for name in ("adapter/", "best.ckpt", "last.ckpt", "run.json", EVALUATION_FILE)]


def _flatten(document: dict[str, Any], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    # Values before sections, as in a recipe's file.
    for key, value in sorted(document.items(), key=lambda item: isinstance(item[1], dict)):
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
