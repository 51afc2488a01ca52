"""`engrain synthesize`: a teacher invents dialogues and annotates windows; what the filters refuse is kept with why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engrain.data_builders.parquet import write_extraction_examples
from engrain.data_builders.quality.leaks import LeakFilter, PassageIndex, index_benchmarks
from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.synthesis.annotation import NamedWindow, annotate, story_windows, wanted
from engrain.data_builders.synthesis.asking import calls
from engrain.data_builders.synthesis.chats import ChatStream, leaking_chat
from engrain.data_builders.synthesis.diversity import diversity
from engrain.data_builders.synthesis.prompts import PROMPT_HASH as STORY_HASH
from engrain.data_builders.synthesis.prompts import VERSION
from engrain.data_builders.synthesis.rejects import Reject, write_rejects
from engrain.data_builders.synthesis.stories import plan_messages, write_stories
from engrain.recipes import console
from engrain.recipes.cost import show_projections
from engrain.recipes.label import open_choice
from engrain.recipes.loading import load_recipe
from engrain.recipes.synthesize_config import SynthesisRecipe
from engrain.recipes.train_gate import write_json
from engrain.runtime.errors import RecipeError
from engrain.runtime.extraction.prompts import PROMPT_HASH
from engrain.runtime.extraction.windows import Window
from engrain.runtime.llm.chat import ModelClient
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.projection import Projection, project
from engrain.runtime.schema import ExtractionExample, WindowStyle

CORPUS_FILE, REJECTS_FILE, REPORT_FILE = "synthetic.parquet", "rejects.jsonl", "synthesis.json"


@dataclass(frozen=True)
class Synthesized:
    """What a run wrote."""

    examples: tuple[ExtractionExample, ...]
    rejects: tuple[Reject, ...]


def command(source: str, overrides: Sequence[str], limit: int | None, dry_run: bool, as_json: bool) -> None:
    """`engrain synthesize RECIPE [--limit N] [--dry-run] [--json]`."""
    recipe = read_recipe(source, overrides, limit)
    if recipe.teacher is None:
        raise RecipeError(f"{source}: teacher is empty, so nobody can write; `engrain build extractor` builds the rest")
    if dry_run:
        show_projections([projection(recipe)], as_json)
        console.say("dialogues and the records of their windows come on top: they depend on the plans")
        return
    document = report(recipe, synthesize(recipe))
    write_json(recipe.folder / REPORT_FILE, document)
    if as_json:
        console.show_json(document)
        return
    console.show_table("examples", ("style", "examples", "records"), _rows(document))
    console.show_fields("refused", document["rejected"])
    console.say(f"{recipe.folder}: {CORPUS_FILE}, {REJECTS_FILE}, {REPORT_FILE}; run again to ask what got no answer")


def read_recipe(source: str, overrides: Sequence[str], limit: int | None = None) -> SynthesisRecipe:
    """A recipe of kind `synthesize`; with a limit, a trial of so many examples of each style in a folder of its own."""
    recipe = load_recipe(source, overrides)
    if not isinstance(recipe, SynthesisRecipe):
        raise RecipeError(f"{source} is a recipe of kind '{recipe.recipe}'; this verb wants kind 'synthesize'")
    if limit is None:
        return recipe
    stories, chats = (
        part.model_copy(update={"examples": min(limit, part.examples)}) for part in (recipe.stories, recipe.chats)
    )
    return recipe.model_copy(update={"name": f"{recipe.name}-limit-{limit}", "stories": stories, "chats": chats})


def synthesize(recipe: SynthesisRecipe) -> Synthesized:
    """Write and annotate everything, and keep corpus and rejects in the run's folder.

    Requests follow from the recipe alone: a run that was stopped goes the same way and sends only what the ledger
    lacks. Raises `InputError` for a missing key or corpus before anything is sent.
    """
    assert recipe.teacher is not None
    benchmarks = index_benchmarks({choice.name: open_choice(choice).sessions() for choice in recipe.benchmarks})
    unleaked = LeakFilter(benchmarks)
    chats = ChatStream(unleaked(_chat_sessions(recipe)), recipe.chats)
    chat_windows = chats.wanted()
    recipe.folder.mkdir(parents=True, exist_ok=True)
    recipe.ledger_path.parent.mkdir(parents=True, exist_ok=True)
    with Ledger(recipe.ledger_path) as ledger:
        client = open_client(
            recipe.teacher,
            ledger=ledger,
            run=recipe.name,
            mode=recipe.mode,
            budget_usd=recipe.budget_usd,
            recordings=recipe.recordings,
        )
        examples, rejects = _ask(recipe, client, chat_windows, benchmarks)
    rejects += [*chats.rejects, *(leaking_chat(leak.id, leak.against, leak.source) for leak in unleaked.report.leaks)]
    kept = wanted(examples, recipe)
    write_extraction_examples(recipe.folder / CORPUS_FILE, kept)
    write_rejects(recipe.folder / REJECTS_FILE, rejects)
    return Synthesized(tuple(kept), tuple(rejects))


def projection(recipe: SynthesisRecipe) -> Projection:
    """What the first requests, the plans of the stories, would cost. Writes no ledger."""
    assert recipe.teacher is not None
    stories = [
        (str(number), plan_messages(number, recipe.stories, recipe.seed)) for number in range(recipe.stories.stories)
    ]
    asked = calls(stories, recipe.asking, temperature=recipe.asking.write_temperature)
    with Ledger(recipe.ledger_path if recipe.ledger_path.is_file() else None) as ledger:
        return project(recipe.teacher, ledger, asked, batch=recipe.mode == "batch")


def _chat_sessions(recipe: SynthesisRecipe) -> Iterator[LabelledSession]:
    for choice in recipe.corpora if recipe.chats.examples else ():
        yield from open_choice(choice).sessions()


def _ask(
    recipe: SynthesisRecipe,
    client: ModelClient,
    chats: Sequence[tuple[str, str, Window]],
    benchmarks: dict[str, PassageIndex],
) -> tuple[list[ExtractionExample], list[Reject]]:
    with console.progress("writing dialogues") as advance:
        sessions, rejects = write_stories(client, recipe.stories, recipe.asking, seed=recipe.seed, progress=advance)
    windows = story_windows(sessions, recipe.stories.size, recipe.stories.overlap)
    windows += [NamedWindow(name, group, WindowStyle.LONGMEMEVAL, window) for name, group, window in chats]
    with console.progress("annotating windows") as advance:
        examples, refused = annotate(
            client, windows, recipe, teacher=client.name, benchmarks=benchmarks, progress=advance
        )
    return examples, [*rejects, *refused]


def report(recipe: SynthesisRecipe, made: Synthesized) -> dict[str, Any]:
    """Counts of one run, everything refused among them, and how varied the corpus is."""
    styles = {style: [one for one in made.examples if one.style is style] for style in WindowStyle}
    return {
        "recipe": recipe.model_dump(mode="json"),
        "prompts": {"version": VERSION, "stories": STORY_HASH, "records": PROMPT_HASH["full"]},
        "examples": len(made.examples),
        "rejected": dict(Counter(reject.reason.value for reject in made.rejects).most_common()),
        "diversity": {style.value: diversity(part).model_dump(mode="json") for style, part in styles.items() if part},
    }


def _rows(document: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(style, part["examples"], part["records"]) for style, part in document["diversity"].items()]
