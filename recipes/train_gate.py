"""`engrain train gate`: one run a seed, each evaluated on the recipe's evaluation set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engrain.models.gate.evaluation import measure_gate
from engrain.recipes import console
from engrain.recipes.config import GateRecipe
from engrain.recipes.gate_data import GateRows, gate_rows
from engrain.recipes.loading import load_recipe, recipe_hash
from engrain.runtime.bundle import ThresholdChoice
from engrain.runtime.errors import RecipeError
from engrain.runtime.gate_calibration import Calibration, logit, sigmoid
from engrain.runtime.gate_cascade import FIRST_STAGE_FILE, FirstStage
from engrain.runtime.schema import GateExample

RUN_FILE = "run.json"
SHOWN = ("auprc", "prevalence", "kept_share", "recall", "precision", "f1", "kept_at_paper_recall")


def command(source: str, overrides: Sequence[str], resume: bool, as_json: bool) -> None:
    """`engrain train gate`: train, evaluate, print a row a seed."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, GateRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; `engrain train gate` wants kind 'gate'")
    document = train(recipe, resume=resume)
    if any(run["evaluation"] is None for run in document["runs"]):
        return  # Not the first rank: that one shows the result.
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
    check_ends(recipe, rows)
    runs = [train_seed(recipe, rows, seed, recipe.folder / f"seed-{seed}", resume=resume) for seed in recipe.seeds]
    document = {
        "recipe": recipe.model_dump(mode="json"),
        "recipe_hash": recipe_hash(recipe),
        "corpus": rows.report,
        "runs": runs,
    }
    if all(run["evaluation"] is not None for run in runs):
        write_json(recipe.folder / RUN_FILE, document)
    return document


def check_ends(recipe: GateRecipe, rows: GateRows) -> None:
    """Refuse before training what would end it without a result: nothing to evaluate or to calibrate on."""
    if recipe.first_stage_recall is None and (recipe.first_stage_share or recipe.first_stage_data):
        raise RecipeError("first_stage_share and first_stage_data want a first stage: set first_stage_recall")
    positives = sum(example.label for example in rows.test)
    if positives in (0, len(rows.test)):
        raise RecipeError(
            f"data: {len(rows.test)} evaluation rows, {positives} of them positive; "
            "give a corpus with a test split that has both classes"
        )
    if recipe.calibration != "none":
        from engrain.models.gate.calibration import check_calibration

        check_calibration([example.label for example in rows.validation], recipe.calibration)


def train_seed(recipe: GateRecipe, rows: GateRows, seed: int, folder: Path, *, resume: bool = False) -> dict[str, Any]:
    """Train one seed, evaluate its best checkpoint, write the run's own `run.json` beside the checkpoints."""
    # Lightning takes seconds to import: only when there is something to train.
    from engrain.models.gate.training import train_gate

    with console.progress(f"training, seed {seed}") as advance:
        run = train_gate(
            recipe, rows.train, rows.validation, folder, seed=seed, resume="auto" if resume else None, progress=advance
        )
    if not run.first:
        # Ranks after the first have nothing to write; all of them leave training with the same weights.
        return {"seed": seed, "evaluation": None}
    stage = first_stage(recipe, rows)
    if stage is not None:
        stage.save(folder / FIRST_STAGE_FILE)
    chosen = operating_point(recipe, rows, run.best, stage)
    evaluation = evaluate(run.best, rows, chosen, stage)
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
        "strategy": run.strategy,
        "threshold": chosen.threshold.model_dump(),
        "calibration": chosen.calibration.model_dump(),
        **evaluation,
    }
    write_json(folder / RUN_FILE, document)
    return document


@dataclass(frozen=True)
class OperatingPoint:
    """How a gate's raw probabilities are read, and from where on a turn is kept."""

    calibration: Calibration
    threshold: ThresholdChoice


def first_stage(recipe: GateRecipe, rows: GateRows) -> FirstStage | None:
    """The first stage that the recipe asks for, from the training rows and those that only it reads."""
    if recipe.first_stage_recall is None:
        return None
    from engrain.models.gate.cascade import fit_first_stage

    more = gate_rows(recipe.first_stage_data, with_test=False).train if recipe.first_stage_data else ()
    return fit_first_stage(
        [*rows.train, *more], rows.validation, recall=recipe.first_stage_recall, share=recipe.first_stage_share
    )


def _scores(checkpoint: Path, examples: Sequence[GateExample], stage: FirstStage | None) -> NDArray[np.float64]:
    """Raw probabilities of N examples, with the first stage's share: what an exported bundle gives."""
    from engrain.models.gate.scoring import score_examples

    scores = score_examples(checkpoint, examples)
    if stage is None or not stage.share:
        return scores
    return sigmoid(stage.add(logit(scores), [example.target.text for example in examples]))


def operating_point(
    recipe: GateRecipe, rows: GateRows, checkpoint: Path, stage: FirstStage | None = None
) -> OperatingPoint:
    """Calibration and threshold as the recipe wants them, fixed on validation before anything else is scored."""
    if recipe.calibration == "none" and recipe.threshold_rule is None:
        return OperatingPoint(Calibration(), recipe.threshold)
    from engrain.models.gate.calibration import fit_calibration
    from engrain.models.gate.threshold import choose_threshold

    scores = _scores(checkpoint, rows.validation, stage)
    labels = [example.label for example in rows.validation]
    name = f"{len(labels)} validation rows of {recipe.name}"
    calibration = fit_calibration(labels, scores, recipe.calibration, fitted_on=name)
    if recipe.threshold_rule is None:
        return OperatingPoint(calibration, recipe.threshold)
    threshold = choose_threshold(labels, calibration.apply(scores), recipe.threshold_rule, on=name)
    return OperatingPoint(calibration, threshold)


def evaluate(
    checkpoint: Path, rows: GateRows, point: OperatingPoint, stage: FirstStage | None = None
) -> dict[str, Any]:
    """Measures over all evaluation rows, and over those whose words no training row has.

    Raw scores are kept beside the checkpoint in `scores.npy`, in row order.
    """
    console.say(f"scoring {len(rows.test)} evaluation turns")
    raw = _scores(checkpoint, rows.test, stage)
    np.save(checkpoint.parent / "scores.npy", raw, allow_pickle=False)
    scores = point.calibration.apply(raw)
    labels = [example.label for example in rows.test]
    seen = {example.target.text for example in rows.train}
    unseen = [row for row, example in enumerate(rows.test) if example.target.text not in seen]
    document: dict[str, Any] = {"evaluation": measure_gate(labels, scores, point.threshold.value).model_dump()}
    some = [labels[row] for row in unseen]
    if any(some) and not all(some):
        document["evaluation_unseen"] = measure_gate(some, scores[unseen], point.threshold.value).model_dump()
    return document


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
