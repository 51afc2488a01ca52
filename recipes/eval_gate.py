"""`engrain eval gate`: an exported bundle, through the runtime's own gate, on a recipe's evaluation set."""

from __future__ import annotations

from collections.abc import Sequence

from engrain.models.gate.evaluation import GateMeasures, measure_gate
from engrain.recipes import console
from engrain.recipes.config import GateRecipe
from engrain.recipes.gate_data import gate_rows
from engrain.recipes.loading import load_recipe
from engrain.runtime.errors import RecipeError
from engrain.runtime.gate import Gate
from engrain.runtime.schema import GateExample


def command(bundle: str, source: str, overrides: Sequence[str], as_json: bool) -> None:
    """`engrain eval gate`: measure a bundle at its own threshold."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, GateRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; `engrain eval gate` wants kind 'gate'")
    gate = Gate.load(bundle, threads=recipe.threads)
    rows = gate_rows(recipe.data)
    if not rows.test:
        raise RecipeError("data: no evaluation rows; give a corpus with a test split")
    measures = evaluate_gate(gate, rows.test)
    document = {"bundle": gate.manifest.name} | measures.model_dump()
    if as_json:
        console.show_json(document)
    else:
        console.show_fields(f"{bundle} on {len(rows.test)} turns", document)


def evaluate_gate(gate: Gate, examples: Sequence[GateExample]) -> GateMeasures:
    """Score examples with a bundle and measure it at its threshold."""
    scores = gate.score([(example.context, example.target) for example in examples])
    return measure_gate([example.label for example in examples], scores, gate.threshold)
