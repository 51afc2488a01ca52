"""`engrain eval gate`: an exported bundle, through the runtime's own gate, on a recipe's evaluation set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engrain.models.gate.evaluation import GateMeasures, measure_gate
from engrain.recipes import console
from engrain.recipes.config import GateRecipe
from engrain.recipes.gate_data import gate_rows
from engrain.recipes.gate_report import evaluation_document, write_page
from engrain.recipes.loading import load_recipe
from engrain.runtime.errors import RecipeError
from engrain.runtime.gate import Gate
from engrain.runtime.schema import GateExample

SLICE_COLUMNS = ("turns", "positives", "auprc", "kept_share", "recall", "precision")


def command(
    bundle: str,
    source: str,
    overrides: Sequence[str],
    as_json: bool,
    html: str | None = None,
    precision: Literal["fp32", "int8"] = "fp32",
) -> None:
    """`engrain eval gate`: measure a bundle at its own threshold, take the result apart."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, GateRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; `engrain eval gate` wants kind 'gate'")
    gate = Gate.load(bundle, threads=recipe.threads, precision=precision)
    rows = gate_rows(recipe.data)
    if not rows.test:
        raise RecipeError("data: no evaluation rows; give a corpus with a test split")
    scores = bundle_scores(gate, rows.test)
    document = {"bundle": gate.manifest.name, "precision": precision}
    document |= evaluation_document(rows, recipe.data, scores, gate.threshold)
    if html is not None:
        write_page(document, f"{gate.manifest.name} on {len(rows.test)} turns", Path(html))
    if as_json:
        console.show_json(document)
        return
    _show(document, f"{bundle} on {len(rows.test)} turns")
    if html is not None:
        console.say(f"the report is in {html}")


def bundle_scores(gate: Gate, examples: Sequence[GateExample]) -> NDArray[np.float64]:
    """A bundle's probabilities, N, in the order of the examples."""
    return gate.score([(example.context, example.target) for example in examples])


def evaluate_gate(gate: Gate, examples: Sequence[GateExample]) -> GateMeasures:
    """Score examples with a bundle and measure it at its threshold."""
    return measure_gate([example.label for example in examples], bundle_scores(gate, examples), gate.threshold)


def _show(document: dict[str, Any], title: str) -> None:
    found = document["reliability"]
    console.show_fields(title, document["measures"] | {"ece": found["ece"], "brier": found["brier"]})
    for way, parts in document["slices"].items():
        rows = [(name or "(none)", *(part[column] for column in SLICE_COLUMNS)) for name, part in parts.items()]
        console.show_table(f"by {way}", (way, *SLICE_COLUMNS), rows)
