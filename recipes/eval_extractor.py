"""`engrain eval extractor`: an exported bundle, through the runtime's own extractor, on held-out windows."""

from __future__ import annotations

from collections.abc import Sequence

from engrain.recipes import console
from engrain.recipes.config import ExtractorRecipe
from engrain.recipes.embedding import recipe_embedder
from engrain.recipes.extraction_data import extraction_windows
from engrain.recipes.loading import load_recipe
from engrain.recipes.train_extractor import (
    evaluate_endpoints,
    evaluation_windows,
    scores_document,
    show_scores,
)
from engrain.runtime.errors import RecipeError


def command(bundle: str, source: str, overrides: Sequence[str], limit: int | None, as_json: bool) -> None:
    """`engrain eval extractor`: score a bundle beside the copy baseline."""
    from engrain.models.extractor.evaluation import evaluate_copying, evaluate_extractor
    from engrain.runtime.extraction.local import load_extractor

    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, ExtractorRecipe):
        raise RecipeError(
            f"{source} is a recipe of kind '{recipe.recipe}'; `engrain eval extractor` wants kind 'extractor'"
        )
    if limit is not None:
        recipe = recipe.model_copy(update={"evaluation_windows": limit})
    extractor = load_extractor(bundle)
    examples, embed = evaluation_windows(recipe, extraction_windows(recipe)), recipe_embedder()
    console.say(f"extracting {len(examples)} held-out windows")
    scores = {
        "copy": evaluate_copying(examples, embed),
        "bundle": evaluate_extractor(extractor, examples, embed),
        **evaluate_endpoints(recipe, examples, embed),
    }
    document = scores_document(scores)
    if as_json:
        console.show_json({"bundle": extractor.identity, **document})
    else:
        show_scores(f"{bundle}: records against gold", document["scores"])
        for part in ("by_style", "by_length"):
            show_scores(part.replace("_", " "), document["parts"]["bundle"][part])
