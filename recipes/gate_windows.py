"""`engrain train gate-windows`: k in {1, 3, 5} by seeds, the window by validation loss, tables 3 and 4, bootstrap.

Every run has a folder of its own, `<name>/k-<k>/seed-<seed>/`; a finished one is not trained again with --resume, so
the command can be stopped anywhere. Runs are independent: `--workers` starts that many processes, each on a GPU of its
own where there are several.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engrain.models.gate.windows import (
    MEASURES,
    WINDOWS,
    Difference,
    choose_window,
    paired_bootstrap,
    report_measures,
    spread,
)
from engrain.recipes import console
from engrain.recipes.config import GateRecipe
from engrain.recipes.gate_data import GateRows, gate_rows
from engrain.recipes.loading import load_recipe, recipe_hash
from engrain.recipes.train_gate import limit_threads, write_json
from engrain.runtime.errors import RecipeError
from engrain.runtime.schema import GateExample

WINDOWS_FILE = "windows.json"


def command(source: str, overrides: Sequence[str], resume: bool, workers: int, as_json: bool) -> None:
    """Run everything that is missing, then compare."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, GateRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; this command wants kind 'gate'")
    document = compare(recipe, resume=resume, workers=workers)
    if as_json:
        console.show_json(document)
        return
    for name, table in document["tables"].items():
        rows = [
            (k, *(f"{one['mean']:.3f} ± {one['deviation']:.3f}" for one in measures.values()))
            for k, measures in table.items()
        ]
        console.show_table(f"{name}, threshold 0.5", ("k", *MEASURES), rows)
    console.show_table(
        "chosen window minus the others, 95%",
        ("set", "k", "other", "measure", "difference", "low", "high"),
        [(name, *list(one.values())) for name, parts in document["differences"].items() for one in parts],
    )
    console.say(f"chosen: k = {document['chosen']}, by mean validation loss; {WINDOWS_FILE} is in {recipe.folder}")


def compare(
    recipe: GateRecipe, *, windows: Sequence[int] = WINDOWS, resume: bool = False, workers: int = 1
) -> dict[str, Any]:
    """Train what is missing and write `windows.json`; the evaluation rows, if any, are table 4's independent set."""
    rows = gate_rows(recipe.data)
    jobs = [(recipe, k, seed, resume) for k in windows for seed in recipe.seeds]
    if workers == 1:
        losses = [_run(*job, rows) for job in jobs]
    else:
        # A forked process would share the parent's thread pools and CUDA state.
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            devices = _devices()
            losses = list(pool.map(_run_job, jobs, [number % devices for number in range(len(jobs))]))
    by_window: dict[int, list[float]] = {}
    for (_, k, *_), loss in zip(jobs, losses, strict=True):
        by_window.setdefault(k, []).append(loss)
    chosen = choose_window(by_window)
    sets = {"validation": rows.validation, **({"evaluation": rows.test} if rows.test else {})}
    document = {
        "recipe": recipe.model_dump(mode="json"),
        "recipe_hash": recipe_hash(recipe),
        "validation_loss": {str(k): spread(values).model_dump() for k, values in by_window.items()},
        "chosen": chosen,
        "tables": {name: _table(recipe, windows, name, part) for name, part in sets.items()},
        "differences": {
            name: [one.model_dump() for one in _differences(recipe, windows, name, part, chosen)]
            for name, part in sets.items()
        },
    }
    write_json(recipe.folder / WINDOWS_FILE, document)
    return document


def _folder(recipe: GateRecipe, k: int, seed: int) -> Path:
    return recipe.folder / f"k-{k}" / f"seed-{seed}"


def _devices() -> int:
    import torch

    return max(1, torch.cuda.device_count())


def _run_job(job: tuple[GateRecipe, int, int, bool], device: int) -> float:
    """One run in a process of its own, on a GPU of its own where there are several (set before torch is imported)."""
    os.environ["CUDA_VISIBLE_DEVICES"] = str(device)
    return _run(*job, gate_rows(job[0].data))


def _run(recipe: GateRecipe, k: int, seed: int, resume: bool, rows: GateRows) -> float:
    """Train one window and seed unless it is there, keep its scores, return its best validation loss."""
    from engrain.models.gate.scoring import score_examples
    from engrain.models.gate.training import train_gate

    limit_threads(recipe.threads)
    config = recipe.model_copy(update={"model": recipe.model.model_copy(update={"k": k})})
    folder = _folder(recipe, k, seed)
    console.say(f"k = {k}, seed {seed}")
    run = train_gate(config, rows.train, rows.validation, folder, seed=seed, resume="auto" if resume else None)
    for name, part in (("validation", rows.validation), ("evaluation", rows.test)):
        file = folder / f"{name}.npy"
        if part and not (file.is_file() and len(np.load(file)) == len(part)):
            np.save(file, score_examples(run.best, part), allow_pickle=False)
    return run.metrics["bce"]


def _scores(recipe: GateRecipe, k: int, name: str) -> list[NDArray[np.float64]]:
    return [np.load(_folder(recipe, k, seed) / f"{name}.npy") for seed in recipe.seeds]


def _table(
    recipe: GateRecipe, windows: Sequence[int], name: str, rows: Sequence[GateExample]
) -> dict[str, dict[str, dict[str, float]]]:
    truth = np.array([row.label for row in rows])
    table = {}
    for k in windows:
        runs = [report_measures(truth, scores) for scores in _scores(recipe, k, name)]
        table[str(k)] = {measure: spread([run[measure] for run in runs]).model_dump() for measure in MEASURES}
    return table


def _differences(
    recipe: GateRecipe, windows: Sequence[int], name: str, rows: Sequence[GateExample], chosen: int
) -> tuple[Difference, ...]:
    truth = np.array([row.label for row in rows])
    means = {k: np.mean(_scores(recipe, k, name), axis=0) for k in windows}
    with console.progress(f"bootstrap, {name}") as advance:
        return paired_bootstrap(truth, means, chosen, progress=advance)
