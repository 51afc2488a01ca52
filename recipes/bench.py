"""`engrain bench run|compare`: systems on a benchmark by one recipe, stage by stage, resumable; tables and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

from engrain.recipes import console
from engrain.recipes.benchmarks.config import BenchRecipe, Reading
from engrain.recipes.benchmarks.pipeline.judging import Answered, Judged, answer, judge
from engrain.recipes.benchmarks.pipeline.prompts import PROMPT_HASH
from engrain.recipes.benchmarks.pipeline.scoring import answer_scores, judge_agreement, question_rows, retrieval_scores
from engrain.recipes.benchmarks.pipeline.stages import Built, Stages, alone
from engrain.recipes.benchmarks.report import REPORT_FILE, RESULT_FILE, write_report
from engrain.recipes.benchmarks.suites.opening import open_suite
from engrain.recipes.benchmarks.suites.suite import Question, Suite
from engrain.recipes.benchmarks.systems.cached_embedder import CachedEmbedder
from engrain.recipes.benchmarks.systems.opening import open_system
from engrain.recipes.benchmarks.tables import show
from engrain.recipes.export import export_embedder_source
from engrain.recipes.loading import load_recipe, recipe_hash
from engrain.recipes.train_gate import write_json
from engrain.runtime.embedding import OnnxEmbedder
from engrain.runtime.errors import ModelServiceError, RecipeError
from engrain.runtime.llm.accounts import cost
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.pricing import BudgetReachedError

VECTORS = "vectors.db"
"""Vectors by embedder and text, shared by all runs of one output folder."""


def command(source: str, overrides: Sequence[str], as_json: bool) -> None:
    """`engrain bench run`: print the tables of a run and write its JSON and its report."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, BenchRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; `engrain bench run` wants kind 'bench'")
    document = run(recipe)
    if as_json:
        console.show_json({name: value for name, value in document.items() if name != "rows"})
    else:
        show(document)
        console.say(f"results: {recipe.folder / RESULT_FILE}\nreport: {recipe.folder / REPORT_FILE}")


def run(recipe: BenchRecipe) -> dict[str, Any]:
    """Every system through every stage. What an earlier run of the same recipe finished is not done again."""
    recipe.folder.mkdir(parents=True, exist_ok=True)
    with alone(recipe.folder):
        return _run(recipe)


def _run(recipe: BenchRecipe) -> dict[str, Any]:
    suite = open_suite(recipe.data)
    session_of = suite.session_of_turns()
    bundle = recipe.folder / "embedder"
    if not bundle.is_dir():
        export_embedder_source(recipe.embedder, bundle)
    systems: list[dict[str, Any]] = []
    rows: dict[str, list[dict[str, Any]]] = {}
    with closing(CachedEmbedder(OnnxEmbedder.load(bundle), recipe.output / VECTORS)) as embedder:
        for config in recipe.systems:
            console.say(f"{config.name} …")
            system = open_system(config, recipe.data, embedder)
            with console.progress(config.name) as advance:
                built = Stages(suite, system, recipe.folder / "systems", recipe.depth).run(advance)
            own, summary = _score(recipe, suite, built, session_of)
            systems.append(summary)
            rows[config.name] = own
    document = {
        "name": recipe.name,
        "recipe_hash": recipe_hash(recipe),
        "suite": suite.name,
        "provenance": asdict(suite.provenance) | {"label": suite.provenance.label()},
        "prompts": PROMPT_HASH,
        "context_words": recipe.context_words,
        "systems": systems,
        "rows": rows,
    }
    write_json(recipe.folder / RESULT_FILE, document)
    write_report(recipe.folder / REPORT_FILE, document)
    return document


def _score(
    recipe: BenchRecipe, suite: Suite, built: Built, session_of: Mapping[str, str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A system's rows, one a question, and its line in the tables."""
    rows = question_rows(suite, built, session_of, recipe.context_words)
    summary: dict[str, Any] = {
        "name": built.system.name,
        "exercised": built.system.exercised,
        "identity": built.system.identity(),
        "retrieval": retrieval_scores(suite, rows) if rows else {"questions": 0},
        "stages": built.counts,
        "failures": built.failures,
        "questions left out": len(suite.questions) - len(rows),
    }
    if recipe.reader is not None and rows:
        with Ledger(recipe.ledger_path) as ledger:
            summary["answers"] = [
                _read_and_judge(recipe, recipe.reader, suite, built, rows, ledger, draw)
                for draw in range(recipe.repetitions)
            ]
        lines = cost(recipe.ledger_path, _account(recipe, built))
        summary["cost"] = [asdict(line) | {"cost_usd": str(line.cost_usd)} for line in lines]
    for row in rows:
        row["hits"] = [entry.document() for entry in built.rankings[row["id"]][: min(10, recipe.depth)]]
    return rows, summary


def _read_and_judge(
    recipe: BenchRecipe,
    reader: Reading,
    suite: Suite,
    built: Built,
    rows: list[dict[str, Any]],
    ledger: Ledger,
    draw: int,
) -> dict[str, Any]:
    """One repetition: answers, and every judge's verdicts. A service that goes away ends it with what there is."""
    account = _account(recipe, built)
    known = {row["id"]: row for row in rows}
    questions = [question for question in suite.questions if question.id in known]
    stopped = ""
    answers: list[Answered] = []
    verdicts: dict[str, list[Judged]] = {}
    try:
        answers = _answers(recipe, reader, built, questions, ledger, account, draw)
        for settings in recipe.judges:
            verdicts[settings.name] = judge(_client(settings, recipe, ledger, account), answers, draw=draw)
    except (ModelServiceError, BudgetReachedError) as error:
        stopped = str(error)
    for given in answers:
        known[given.question.id].setdefault("answers", []).append({"text": given.text, "failure": given.failure})
    for name, judged in verdicts.items():
        for one in judged:
            said = {"judge": name, "draw": draw, "verdicts": one.verdicts, "said": one.said}
            known[one.question.id].setdefault("judged", []).append(said)
    return {
        "draw": draw,
        "stopped": stopped,
        "unanswered": sum(given.text is None for given in answers) + len(questions) - len(answers),
        "agreement": judge_agreement(verdicts),
        "judges": {name: answer_scores(suite, judged, answers) for name, judged in verdicts.items()},
    }


def _answers(
    recipe: BenchRecipe,
    reader: Reading,
    built: Built,
    questions: Sequence[Question],
    ledger: Ledger,
    account: str,
    draw: int,
) -> list[Answered]:
    return answer(
        _client(reader.endpoint, recipe, ledger, account),
        questions,
        [built.rankings[question.id] for question in questions],
        context_tokens=reader.context_tokens,
        max_tokens=reader.max_tokens,
        draw=draw,
    )


def _client(settings: EndpointSettings, recipe: BenchRecipe, ledger: Ledger, account: str) -> Any:
    return open_client(settings, ledger=ledger, run=account, budget_usd=recipe.budget_usd)


def _account(recipe: BenchRecipe, built: Built) -> str:
    """The run that a system's calls are booked on."""
    return f"{recipe.name}/{built.system.name}"
