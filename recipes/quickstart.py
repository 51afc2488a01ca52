"""`engrain quickstart`: the whole path on the shipped corpus, and a loud failure when it does not hold.

Gate and extractor are trained on some people's sessions, exported, and opened as the memory of people they never saw;
that memory is asked the held-out questions. Everything is real, only small.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engrain.data_builders.shipped import ShippedCorpus, load_shipped
from engrain.models.gate.evaluation import GateMeasures, measure_gate
from engrain.recipes import console, export, train_extractor, train_gate
from engrain.recipes.config import QuickstartRecipe, ShippedData
from engrain.recipes.extraction_data import extraction_windows
from engrain.recipes.gate_data import gate_rows
from engrain.recipes.loading import load_recipe, recipe_hash
from engrain.recipes.quickstart_memory import BM25, MEMORY, Answers, ask_held_out
from engrain.recipes.quickstart_report import show, write_report
from engrain.runtime.embedding import OnnxEmbedder
from engrain.runtime.errors import RecipeError, TrainingError
from engrain.runtime.gate import Gate
from engrain.runtime.schema import GateExample

RESULT_FILE = "quickstart.json"


@dataclass
class Outcome:
    """Everything that the quickstart measured."""

    gate: GateMeasures
    gate_labels: list[bool]
    gate_scores: list[float]
    gate_history: list[dict[str, Any]]
    extraction: dict[str, dict[str, Any]]
    extractor_history: list[dict[str, Any]]
    answers: Answers
    seconds: dict[str, float]

    def failures(self) -> list[str]:
        """What does not hold; empty when all does."""
        tuned, untuned = self.extraction["tuned"]["f1"], self.extraction["untuned"]["f1"]
        found, bm25 = self.answers.recall(MEMORY, 5), self.answers.recall(BM25, 5)
        checks = [
            (tuned > untuned, f"tuned extractor F1 {tuned:.3f} is not above untuned {untuned:.3f}"),
            (
                self.gate.auprc > 2 * self.gate.prevalence,
                f"gate AUPRC {self.gate.auprc:.3f} is not above twice the prevalence {self.gate.prevalence:.3f}",
            ),
            (found >= bm25, f"evidence recall at 5, {found:.3f}, is below BM25's {bm25:.3f}"),
        ]
        return [message for holds, message in checks if not holds]


@dataclass
class _Clock:
    """Wall time by stage, in seconds."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        console.say(f"{name} …")
        started = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - started
        console.say(f"  {self.seconds[name]:.0f} s")


def command(source: str, overrides: Sequence[str], as_json: bool) -> None:
    """`engrain quickstart`: run, print, write the report; raises `TrainingError` when a bar is missed."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, QuickstartRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; the quickstart wants kind 'quickstart'")
    outcome = run(recipe)
    document = _document(recipe, outcome)
    train_gate.write_json(recipe.folder / RESULT_FILE, document)
    report = write_report(recipe.folder / "report.html", outcome, recipe.examples)
    if as_json:
        console.show_json(document)
    else:
        show(outcome, recipe.examples)
        console.say(f"report: {report}\nbundles: {recipe.folder / 'bundles'}")
    failures = outcome.failures()
    if failures:
        raise TrainingError("the quickstart ran but does not hold:\n  " + "\n  ".join(failures))


def run(recipe: QuickstartRecipe) -> Outcome:
    """Train, export, ingest, ask. What an earlier quickstart left in the folder is replaced."""
    clock, corpus, bundles = _Clock(), load_shipped(), recipe.folder / "bundles"
    for name in ("bundles", recipe.gate.name, recipe.extractor.name):
        shutil.rmtree(recipe.folder / name, ignore_errors=True)
    with clock.stage("embedder: export"):
        export.export_embedder_source(recipe.embedder, bundles / "embedder")
        embedder = OnnxEmbedder.load(bundles / "embedder")
    with clock.stage("gate: train and export"):
        gate, gate_run, test = _gate(recipe, bundles / "gate")
        labels = [example.label for example in test]
        scores = gate.score([(example.context, example.target) for example in test])
    with clock.stage("extractor: tune, compare, export"):
        extraction, history = _extractor(recipe, bundles / "extractor", embedder)
    with clock.stage("memory: ingest held-out sessions, ask held-out questions"):
        answers = ask_held_out(corpus, _held_out(corpus, recipe), bundles, recipe.folder)
    return Outcome(
        gate=measure_gate(labels, scores, gate.threshold),
        gate_labels=labels,
        gate_scores=[float(score) for score in scores],
        gate_history=gate_run["history"],
        extraction=extraction,
        extractor_history=history,
        answers=answers,
        seconds=clock.seconds,
    )


def _gate(recipe: QuickstartRecipe, out: Path) -> tuple[Gate, dict[str, Any], tuple[GateExample, ...]]:
    rows, seed = gate_rows(recipe.gate.data), recipe.gate.seeds[0]
    folder = recipe.gate.folder / f"seed-{seed}"
    run = train_gate.train_seed(recipe.gate, rows, seed, folder)
    export.export_gate_run(str(folder), out)
    return Gate.load(out), run, rows.test


def _extractor(
    recipe: QuickstartRecipe, out: Path, embedder: OnnxEmbedder
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    windows = extraction_windows(recipe.extractor)
    run = train_extractor.tune(recipe.extractor, windows)
    examples = train_extractor.evaluation_windows(recipe.extractor, windows)
    scores = train_extractor.evaluate(recipe.extractor, run, examples, embedder.embed, unconstrained=False)
    document = train_extractor.scores_document(scores)["scores"]
    train_gate.write_json(
        recipe.extractor.folder / train_extractor.EVALUATION_FILE,
        {"recipe": recipe.extractor.model_dump(mode="json"), "scores": document},
    )
    export.export_extractor_run(str(recipe.extractor.folder), out)
    return document, [entry.model_dump() for entry in run.history]


def _held_out(corpus: ShippedCorpus, recipe: QuickstartRecipe) -> tuple[str, ...]:
    if not isinstance(recipe.gate.data, ShippedData):
        raise RecipeError("gate.data.source: the quickstart runs on the shipped corpus; write source: shipped")
    return corpus.held_out(recipe.gate.data)


def _document(recipe: QuickstartRecipe, outcome: Outcome) -> dict[str, Any]:
    return {
        "recipe_hash": recipe_hash(recipe),
        "gate": outcome.gate.model_dump(),
        "extraction": outcome.extraction,
        "recall": outcome.answers.table(),
        "counts": outcome.answers.counts,
        "seconds": outcome.seconds,
        "failures": outcome.failures(),
    }
