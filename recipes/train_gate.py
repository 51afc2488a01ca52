"""`engrain train gate`: one run a seed, each evaluated on the recipe's evaluation set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engrain.models.gate.evaluation import GateMeasures, measure_gate
from engrain.recipes import console
from engrain.recipes.config import GateRecipe
from engrain.recipes.gate_data import GateRows, gate_rows
from engrain.recipes.loading import load_recipe, recipe_hash
from engrain.runtime.errors import RecipeError

RUN_FILE = "run.json"
SHOWN = ("auprc", "prevalence", "kept_share", "recall", "precision", "f1", "kept_at_paper_recall")


def command(source: str, overrides: Sequence[str], resume: bool, as_json: bool) -> None:
    """`engrain train gate`: train, evaluate, print a row a seed."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, GateRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; `engrain train gate` wants kind 'gate'")
    document = train(recipe, resume=resume)
    if as_json:
        console.show_json(document)
        return
    rows = [(run["seed"], *(run["evaluation"][name] for name in SHOWN)) for run in document["runs"]]
    first = document["runs"][0]["evaluation"]
    title = f"{recipe.name}: {first['turns']} turns, {first['positives']} positive, threshold {first['threshold']}"
    console.show_table(title, ("seed", *SHOWN), rows)
    console.say(f"checkpoints and {RUN_FILE} are in {recipe.folder}")


def train(recipe: GateRecipe, *, resume: bool = False) -> dict[str, Any]:
    """Train every seed of a recipe and write `run.json`; returns its content."""
    limit_threads(recipe.threads)
    rows = gate_rows(recipe.data)
    runs = [train_seed(recipe, rows, seed, recipe.folder / f"seed-{seed}", resume=resume) for seed in recipe.seeds]
    document = {
        "recipe": recipe.model_dump(mode="json"),
        "recipe_hash": recipe_hash(recipe),
        "corpus": rows.report,
        "runs": runs,
    }
    write_json(recipe.folder / RUN_FILE, document)
    return document


def train_seed(recipe: GateRecipe, rows: GateRows, seed: int, folder: Path, *, resume: bool = False) -> dict[str, Any]:
    """Train one seed, evaluate its best checkpoint, write the run's own `run.json` beside the checkpoints."""
    # Lightning takes seconds to import: only when there is something to train.
    from engrain.models.gate.training import train_gate

    with console.progress(f"training, seed {seed}") as advance:
        run = train_gate(
            recipe, rows.train, rows.validation, folder, seed=seed, resume="auto" if resume else None, progress=advance
        )
    evaluation = evaluate(run.best, rows, recipe.threshold.value)
    document = {
        "recipe": recipe.model_dump(mode="json"),
        "seed": seed,
        "best_step": run.best_step,
        "steps": run.steps,
        "stopped_early": run.stopped_early,
        "w_plus": run.w_plus,
        "train_rows": run.train_examples,
        "validation_rows": run.validation_examples,
        "context_tokens_cut": run.context_tokens_cut,
        "targets_cut": run.targets_cut,
        "padding_share": run.padding_share,
        "data_fingerprint": run.data_fingerprint,
        "validation": run.metrics,
        "history": [entry.model_dump() for entry in run.history],
        "evaluation": evaluation.model_dump(),
    }
    write_json(folder / RUN_FILE, document)
    return document


def evaluate(checkpoint: Path, rows: GateRows, threshold: float) -> GateMeasures:
    """Score every evaluation row with a checkpoint; scores are kept beside it in `scores.npy`, in row order."""
    from engrain.models.gate.scoring import score_examples

    if not rows.test:
        raise RecipeError("data: no evaluation rows; give a corpus with a test split")
    console.say(f"scoring {len(rows.test)} evaluation turns")
    scores = score_examples(checkpoint, rows.test)
    np.save(checkpoint.parent / "scores.npy", scores, allow_pickle=False)
    return measure_gate([example.label for example in rows.test], scores, threshold)


def limit_threads(threads: int | None) -> None:
    """Set torch's CPU threads when a recipe asks for it."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def write_json(path: Path, document: object) -> None:
    """Write a JSON file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)
