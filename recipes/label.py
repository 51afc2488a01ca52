"""`engrain label`: candidates, a projection of what they cost, the teachers' answers, and what they agree on.

Resumable by nature: answers are in the ledger, so a run that starts again buys only what is missing. Everything free
is checked before anything is paid for.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engrain.data_builders.parquet import data_fingerprint
from engrain.data_builders.quality.leaks import LeakFilter, SessionLeaks, index_benchmarks
from engrain.data_builders.sources.dialogue import Source, SourceInfo
from engrain.data_builders.sources.registry import open_source
from engrain.data_builders.teachers.candidates import Drawn, draw_candidates
from engrain.data_builders.teachers.consensus import annotate
from engrain.data_builders.teachers.labelling import ask_teachers
from engrain.data_builders.teachers.records import Annotation, Candidate, write_rows
from engrain.data_builders.teachers.requests import annotation_request
from engrain.data_builders.teachers.rubric import Rubric, load_rubric
from engrain.recipes import console
from engrain.recipes.cost import show_projections
from engrain.recipes.label_config import CorpusChoice, LabelRecipe, limited
from engrain.recipes.label_report import corpus_counts, show, teacher_counts
from engrain.recipes.loading import load_recipe
from engrain.recipes.train_gate import write_json
from engrain.runtime.errors import InputError, RecipeError
from engrain.runtime.llm.chat import Call, Stage
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.projection import Projection, project

LABELS = "labels"
REPORT_FILE = "labels.json"


@dataclass(frozen=True)
class Asked:
    """What the teachers are asked about: candidates by corpus, and where they come from."""

    drawn: dict[str, Drawn]
    sources: tuple[SourceInfo, ...]
    leaks: dict[str, SessionLeaks]
    """Sessions left out because they stand in a benchmark, by corpus."""

    @property
    def candidates(self) -> list[Candidate]:
        """Every candidate, corpus after corpus."""
        return [candidate for drawn in self.drawn.values() for candidate in drawn.candidates]


def command(source: str, overrides: Sequence[str], limit: int | None, dry_run: bool, as_json: bool) -> None:
    """`engrain label RECIPE [--limit N] [--dry-run] [--json]`."""
    recipe = read_recipe(source, overrides, limit)
    if not recipe.corpora:
        raise RecipeError(f"{source}: corpora is empty, so there is nothing to label; `engrain build gate` builds it")
    asked = gather(recipe, limit)
    if dry_run:
        show_projections(projections(recipe, asked.candidates), as_json)
        return
    annotated = label(recipe, asked)
    document = report(recipe, asked, annotated)
    write_json(recipe.folder / REPORT_FILE, document)
    if as_json:
        console.show_json(document)
    else:
        show(document)
        console.say(f"votes are in {recipe.folder / LABELS}; `engrain cost {recipe.ledger_path}` shows what they cost")


def read_recipe(source: str, overrides: Sequence[str], limit: int | None) -> LabelRecipe:
    """A recipe of kind `label`, cut down when a limit is given."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, LabelRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; this verb wants kind 'label'")
    return recipe if limit is None else limited(recipe, limit)


def open_choice(choice: CorpusChoice) -> Source:
    """The reader of a corpus that a recipe names."""
    return open_source(
        choice.name, choice.root, splits=choice.splits, allow_missing=choice.allow_missing, zone=choice.zone
    )


def open_choices(choices: Sequence[CorpusChoice]) -> dict[CorpusChoice, Source]:
    """The readers of several corpora; one error names all that cannot be opened."""
    opened: dict[CorpusChoice, Source] = {}
    faults = []
    for choice in choices:
        try:
            opened[choice] = open_choice(choice)
        except InputError as error:
            faults.append(str(error))
    if faults:
        raise InputError("\n".join(faults))
    return opened


def gather(recipe: LabelRecipe, limit: int | None = None) -> Asked:
    """Draw every corpus's candidates; raises before anything is paid for when one has too few user turns."""
    drawn: dict[str, Drawn] = {}
    leaks: dict[str, SessionLeaks] = {}
    sources = []
    against = recipe.benchmarks if recipe.corpora else ()
    opened = open_choices((*against, *recipe.corpora))
    benchmarks = index_benchmarks({choice.name: opened[choice].sessions() for choice in against})
    for choice in recipe.corpora:
        source = opened[choice]
        corpus = source.info.name
        if corpus in drawn:
            raise InputError(f"two of the recipe's corpora are called {corpus}; name each corpus once")
        console.say(f"reading {corpus}")
        kept = LeakFilter(benchmarks)
        found = draw_candidates(
            kept(source.sessions()), corpus=corpus, context=recipe.annotation.context, settings=recipe.candidates
        )
        drawn[corpus] = found if limit is None else _some(found, limit, recipe.candidates.seed)
        sources.append(source.info)
        leaks[corpus] = kept.report
        if kept.report.leaks:
            console.say(f"{len(kept.report.leaks)} sessions of {corpus} stand in a benchmark and are left out")
    return Asked(drawn, tuple(sources), leaks)


def _some(drawn: Drawn, limit: int, seed: int) -> Drawn:
    """A part of the whole draw, so that a trial's answers serve the whole run."""
    count = min(limit, len(drawn.candidates))
    places = sorted(random.Random(f"{seed}/limit").sample(range(len(drawn.candidates)), count))
    kept = tuple(drawn.candidates[place] for place in places)
    return Drawn(kept, drawn.sessions, drawn.user_turns, drawn.repeated)


def projections(recipe: LabelRecipe, candidates: Sequence[Candidate]) -> list[Projection]:
    """What the first answers of every teacher would cost; corrections come on top. Writes no ledger."""
    rubric = load_rubric(recipe.annotation.language)
    requests = [annotation_request(candidate, rubric, recipe.annotation) for candidate in candidates]
    path = recipe.ledger_path if recipe.ledger_path.is_file() else None
    with Ledger(path) as ledger:
        return [
            project(
                teacher,
                ledger,
                (Call(request, Stage.LABEL, teacher.name) for request in requests),
                batch=recipe.mode == "batch",
            )
            for teacher in recipe.teachers
        ]


def label(recipe: LabelRecipe, asked: Asked) -> dict[str, tuple[Annotation, ...]]:
    """Ask the teachers and write every vote; returns the annotations by corpus.

    The projection is shown first. Raises `InputError` for a missing key, naming its variable, before anything is sent.
    """
    rubric = load_rubric(recipe.annotation.language)
    candidates = asked.candidates
    recipe.ledger_path.parent.mkdir(parents=True, exist_ok=True)
    with Ledger(recipe.ledger_path) as ledger:
        clients = [
            open_client(
                teacher,
                ledger=ledger,
                run=recipe.run or recipe.name,
                mode=recipe.mode,
                budget_usd=recipe.budget_usd,
                batch=recipe.batch,
                recordings=recipe.recordings,
            )
            for teacher in recipe.teachers
        ]
        _announce(recipe, candidates)
        with console.progress("asking the teachers") as advance:
            results = ask_teachers(clients, candidates, rubric, recipe.annotation, advance)
    annotations = annotate(candidates, results, recipe.consensus)
    annotated = {corpus: tuple(one for one in annotations if one.candidate.corpus == corpus) for corpus in asked.drawn}
    for corpus, found in annotated.items():
        write_rows(labels_path(recipe, corpus), found)
    return annotated


def labels_path(recipe: LabelRecipe, corpus: str) -> Path:
    """Where the annotations of a corpus are kept."""
    return recipe.folder / LABELS / f"{corpus}.jsonl"


def _announce(recipe: LabelRecipe, candidates: Sequence[Candidate]) -> None:
    """Say what the run would cost, before it starts; a replay costs nothing."""
    if recipe.mode == "replay":
        return
    for one in projections(recipe, candidates):
        price = "price unknown" if one.highest_usd is None else f"at most {one.highest_usd:.4f} USD"
        expected = "" if one.expected_usd is None else f", {one.expected_usd:.4f} expected"
        time = "" if one.shortest_s is None else f", {one.shortest_s / 60:.0f} minutes at least"
        console.say(f"{one.endpoint}: {one.to_send} calls to send, {one.stored} stored; {price}{expected}{time}")
    budget = "no budget_usd is set" if recipe.budget_usd is None else f"budget_usd is {recipe.budget_usd}"
    console.say(f"up to {recipe.annotation.retries} corrections of each invalid answer come on top; {budget}")


def report(recipe: LabelRecipe, asked: Asked, annotated: Mapping[str, Sequence[Annotation]]) -> dict[str, Any]:
    """Counts of one labelling run, everything refused among them."""
    rubric: Rubric = load_rubric(recipe.annotation.language)
    return {
        "recipe": recipe.model_dump(mode="json"),
        "rubric": {"language": rubric.language.value, "version": rubric.version, "hash": rubric.hash},
        "corpora": {
            corpus: corpus_counts(asked.drawn[corpus], found) | {"leaks": asked.leaks[corpus].model_dump(mode="json")}
            for corpus, found in annotated.items()
        },
        "teachers": teacher_counts([one for found in annotated.values() for one in found]),
        "fingerprint": data_fingerprint([one for found in annotated.values() for one in found]),
    }
