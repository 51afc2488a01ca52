"""`engrain train extractor`: LoRA tuning, then the tuned model beside the untuned one and a copy baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engrain.recipes import console
from engrain.recipes.config import ExtractorRecipe
from engrain.recipes.embedding import recipe_embedder
from engrain.recipes.extraction_data import ExtractionWindowsBySplit, extraction_windows
from engrain.recipes.loading import load_recipe, recipe_hash
from engrain.recipes.train_gate import limit_threads, write_json
from engrain.runtime.errors import RecipeError
from engrain.runtime.html_page import Page
from engrain.runtime.schema import ExtractionExample

if TYPE_CHECKING:
    from engrain.models.extractor.evaluation import Evaluated
    from engrain.models.extractor.metrics import Embed
    from engrain.models.extractor.training import ExtractorRun

EVALUATION_FILE, PAGE_FILE = "evaluation.json", "evaluation.html"
SHOWN = ("windows", "valid_json", "predicted", "gold", "precision", "recall", "f1", "unsupported")
FREE = "tuned, unconstrained"


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
        **scores_document(scores),
    }
    write_json(recipe.folder / EVALUATION_FILE, document)
    write_page(recipe, run, document)
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
            embed=recipe_embedder() if recipe.training.samples else None,
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
    recipe: ExtractorRecipe,
    run: ExtractorRun,
    examples: Sequence[ExtractionExample],
    embed: Embed,
    *,
    unconstrained: bool = True,
) -> dict[str, Evaluated]:
    """Scores on the same windows: copy baseline, untuned and tuned model (also unconstrained), endpoints."""
    from engrain.models.extractor import generation
    from engrain.models.extractor.evaluation import evaluate_copying, evaluate_extractor

    scores = {"copy": evaluate_copying(examples, embed)}
    console.say(f"extracting {len(examples)} held-out windows, untuned and tuned")
    scores["untuned"] = evaluate_extractor(generation.untuned_extractor(recipe), examples, embed)
    scores["tuned"] = evaluate_extractor(generation.tuned_extractor(recipe, run.adapter), examples, embed)
    if unconstrained and recipe.decoding.constrain:
        free = recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update={"constrain": False})})
        scores[FREE] = evaluate_extractor(generation.tuned_extractor(free, run.adapter), examples, embed)
    return scores | evaluate_endpoints(recipe, examples, embed)


def evaluate_endpoints(
    recipe: ExtractorRecipe, examples: Sequence[ExtractionExample], embed: Embed
) -> dict[str, Evaluated]:
    """Scores of the recipe's endpoint models, asked with the full prompt; paid answers go into a ledger beside."""
    if not recipe.compare:
        return {}
    from engrain.models.extractor.evaluation import evaluate_extractor
    from engrain.runtime.extraction.extractor import DimensionalExtractor
    from engrain.runtime.llm.client import EndpointGenerator
    from engrain.runtime.llm.ledger import Ledger

    recipe.output.mkdir(parents=True, exist_ok=True)
    window, scores = recipe.window, {}
    with Ledger(recipe.output / "ledger.db") as ledger:
        for endpoint in recipe.compare:
            generator = EndpointGenerator.open(endpoint, ledger, run=recipe.name)
            extractor = DimensionalExtractor(
                generator, window.style, "full", endpoint.name, size=window.size, overlap=window.overlap
            )
            scores[endpoint.name] = evaluate_extractor(extractor, examples, embed)
    return scores


def scores_document(scores: Mapping[str, Evaluated]) -> dict[str, Any]:
    """Scores of all windows under `scores`, of their parts under `parts`, both by system."""
    return {
        "scores": {name: one.whole.model_dump() for name, one in scores.items()},
        "parts": {name: one.model_dump(exclude={"whole"}) for name, one in scores.items()},
    }


def write_page(recipe: ExtractorRecipe, run: ExtractorRun, document: Mapping[str, Any]) -> None:
    """`evaluation.html`: losses, scores beside the baselines, fields, parts."""
    from engrain.models.extractor.samples import SAMPLES_FILE, read_samples

    page = Page(f"Extractor {recipe.name}")
    page.paragraph(
        f"{run.train_examples} windows learned from in {run.steps} steps, best at step {run.best_step}; "
        f"{len(run.too_long)} were too long, {run.padding_share:.1%} of positions padding."
    )
    page.heading("Records against gold")
    page.table(("system", *SHOWN), _score_rows(document["scores"]))
    page.heading("Fields of matched records")
    fields = {name: score["fields"] for name, score in document["scores"].items() if score["fields"]}
    columns = tuple(next(iter(fields.values()), {}))
    page.table(("system", *columns), [(name, *(one[column] for column in columns)) for name, one in fields.items()])
    for kind, title in (("by_style", "By style"), ("by_length", "By length of the window")):
        page.heading(title)
        rows = [
            (name, part, *(score[column] for column in SHOWN))
            for name, parts in document["parts"].items()
            for part, score in parts[kind].items()
        ]
        page.table(("system", "windows of", *SHOWN), rows)
    samples = [row for row in read_samples(recipe.folder / SAMPLES_FILE) if row["step"] == run.best_step]
    if samples:
        page.heading("Sample answers")
        page.table(("window", "answer", "gold"), [(row["example"], row["answer"], row["gold"]) for row in samples])
    page.heading("Loss")
    page.table(("step", "train", "validation"), [(one.step, one.train_loss, one.loss) for one in run.history])
    page.write(recipe.folder / PAGE_FILE)


def _score_rows(scores: Mapping[str, Mapping[str, Any]]) -> list[tuple[object, ...]]:
    return [(name, *(score[column] for column in SHOWN)) for name, score in scores.items()]


def show_scores(title: str, scores: dict[str, dict[str, Any]]) -> None:
    """Print a row a system."""
    console.show_table(title, ("system", *SHOWN), _score_rows(scores))
