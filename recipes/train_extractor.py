"""`engrain train extractor`: LoRA tuning, then the tuned model beside the untuned one and a copy baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engrain.recipes import console
from engrain.recipes.config import ExtractorRecipe
from engrain.recipes.embedding import recipe_embedder
from engrain.recipes.extraction_data import ExtractionWindowsBySplit, extraction_windows
from engrain.recipes.loading import load_recipe, recipe_hash
from engrain.recipes.train_gate import limit_threads, write_json
from engrain.runtime.errors import RecipeError
from engrain.runtime.schema import ExtractionExample

if TYPE_CHECKING:
    from engrain.models.extractor.metrics import Embed, ExtractionScores
    from engrain.models.extractor.training import ExtractorRun

EVALUATION_FILE = "evaluation.json"
SHOWN = ("windows", "valid_json", "predicted", "gold", "precision", "recall", "f1")


def command(source: str, overrides: Sequence[str], resume: bool, as_json: bool) -> None:
    """`engrain train extractor`: tune, evaluate, print a row a system."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, ExtractorRecipe):
        raise RecipeError(
            f"{source} is a recipe of kind '{recipe.recipe}'; `engrain train extractor` wants kind 'extractor'"
        )
    document = train(recipe, resume=resume)
    if as_json:
        console.show_json(document)
        return
    show_scores(f"{recipe.name}: records against gold", document["scores"])
    console.say(f"checkpoints, adapter and {EVALUATION_FILE} are in {recipe.folder}")


def train(recipe: ExtractorRecipe, *, resume: bool = False) -> dict[str, Any]:
    """Tune and evaluate; writes `evaluation.json` and returns its content."""
    limit_threads(recipe.threads)
    windows = extraction_windows(recipe)
    run = tune(recipe, windows, resume=resume)
    scores = evaluate(recipe, run, evaluation_windows(recipe, windows), recipe_embedder())
    document = {
        "recipe": recipe.model_dump(mode="json"),
        "recipe_hash": recipe_hash(recipe),
        "corpus": windows.report,
        "validation": run.metrics,
        "too_long": len(run.too_long),
        "steps": run.steps,
        "best_step": run.best_step,
        "seconds": run.seconds,
        "scores": {name: score.model_dump() for name, score in scores.items()},
    }
    write_json(recipe.folder / EVALUATION_FILE, document)
    return document


def tune(recipe: ExtractorRecipe, windows: ExtractionWindowsBySplit, *, resume: bool = False) -> ExtractorRun:
    """Train the adapter of a recipe in its folder."""
    from engrain.models.extractor.training import train_extractor

    with console.progress("tuning the extractor") as advance:
        return train_extractor(
            recipe,
            windows.train,
            windows.validation,
            recipe.folder,
            seed=recipe.seed,
            resume="auto" if resume else None,
            progress=advance,
        )


def evaluation_windows(recipe: ExtractorRecipe, windows: ExtractionWindowsBySplit) -> tuple[ExtractionExample, ...]:
    """The held-out windows that a recipe runs: all, or evenly spread ones when it names a number.

    An extractor that never saw an empty window (`max_empty_share` 0) works behind a gate, so it is measured on windows
    that hold a record.
    """
    test = windows.test or windows.validation
    if recipe.training.max_empty_share == 0:
        test = tuple(example for example in test if example.records)
    wanted = recipe.evaluation_windows
    if wanted is None or wanted >= len(test):
        return test
    return tuple(test[index * len(test) // wanted] for index in range(wanted))


def evaluate(
    recipe: ExtractorRecipe, run: ExtractorRun, examples: Sequence[ExtractionExample], embed: Embed
) -> dict[str, ExtractionScores]:
    """Scores of the copy baseline, the untuned and the tuned model on the same windows."""
    from engrain.models.extractor import generation

    scores = {"copy": generation.score_copying(examples, embed)}
    console.say(f"extracting {len(examples)} held-out windows, untuned and tuned")
    scores["untuned"] = generation.score_extractor(generation.untuned_extractor(recipe), examples, embed)
    tuned = generation.tuned_extractor(recipe, run.adapter)
    scores["tuned"] = generation.score_extractor(tuned, examples, embed)
    return scores


def show_scores(title: str, scores: dict[str, dict[str, Any]]) -> None:
    """Print a row a system."""
    rows = [(name, *(score[column] for column in SHOWN)) for name, score in scores.items()]
    console.show_table(title, ("system", *SHOWN), rows)
