"""`engrain inspect masks`: what a training example looks like to the model, and which tokens it learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from engrain.recipes import console
from engrain.recipes.config import ExtractorRecipe
from engrain.recipes.extraction_data import extraction_windows
from engrain.recipes.loading import load_recipe
from engrain.runtime.errors import RecipeError


def command(source: str, overrides: Sequence[str], examples: int, as_json: bool) -> None:
    """`engrain inspect masks RECIPE [--examples N] [--json]`."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, ExtractorRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; `inspect masks` wants kind 'extractor'")
    shown = masks(recipe, examples)
    if as_json:
        console.show_json(shown)
        return
    console.say("learned tokens are green and underlined, given ones are dim; every mask was verified by decoding it")
    for one in shown:
        console.out.print(Text(f"{one['id']}: {one['given']} tokens given, {one['learned']} learned", style="bold"))
        console.out.print(coloured(one["tokens"]))


def masks(recipe: ExtractorRecipe, examples: int) -> list[dict[str, Any]]:
    """The first training examples of a recipe: id, counts, and each token with whether it is learned."""
    from engrain.models.extractor.base import load_tokenizer, locate_base
    from engrain.models.extractor.data import encode_example

    tokenizer = load_tokenizer(locate_base(recipe.model.base))
    shown = []
    for example in extraction_windows(recipe).train[:examples]:
        encoded = encode_example(tokenizer, example, recipe.model)
        tokens = [
            {"id": token, "text": tokenizer.decode([token]), "learned": place >= encoded.prompt_length}
            for place, token in enumerate(encoded.ids)
        ]
        shown.append(
            {
                "id": example.id,
                "given": encoded.prompt_length,
                "learned": encoded.target_tokens,
                "too_long": len(encoded.ids) > recipe.model.max_length,
                "tokens": tokens,
            }
        )
    return shown


def coloured(tokens: Sequence[dict[str, Any]]) -> Text:
    """The tokens as one text; learned ones stand out without colour too."""
    text = Text()
    for token in tokens:
        text.append(console.printable(token["text"]), style="green underline" if token["learned"] else "dim")
    return text
