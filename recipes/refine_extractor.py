"""`engrain train refine`: the second stage of an extractor, GRPO or DPO on trl, from the adapter of its first."""

from __future__ import annotations

from collections.abc import Sequence

from engrain.recipes import console
from engrain.recipes.config import ExtractorRecipe
from engrain.recipes.extraction_data import extraction_windows
from engrain.recipes.loading import load_recipe
from engrain.recipes.train_gate import limit_threads
from engrain.runtime.errors import RecipeError


def command(source: str, overrides: Sequence[str], as_json: bool) -> None:
    """`engrain train refine RECIPE`: refine the finished run of an extractor recipe."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, ExtractorRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; `engrain train refine` wants 'extractor'")
    from engrain.models.extractor.refining import refine
    from engrain.models.extractor.training import load_run

    limit_threads(recipe.threads)
    run = load_run(recipe.folder)
    train = [example for example in extraction_windows(recipe).train if example.records]
    refined = refine(run, train, recipe.refine, seed=recipe.seed)
    if as_json:
        console.show_json(refined.model_dump(mode="json"))
        return
    columns = [
        name for name in ("loss", "reward", "rewards/margins", "rewards/coverage/mean") if name in refined.log[-1]
    ]
    rows = [(place, *(row[name] for name in columns)) for place, row in enumerate(refined.log, start=1)]
    console.show_table(f"{refined.method}, {refined.examples} windows or pairs", ("step", *columns), rows[-20:])
    console.say(f"the refined adapter is in {refined.folder}; the first stage's stays beside it")
