"""`engrain build extractor`: a teacher's examples, records by rules and the shipped corpus to one extraction corpus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from engrain.data_builders.extraction_corpus import extraction_corpus
from engrain.data_builders.parquet import read_extraction_examples, write_extraction_examples
from engrain.data_builders.shipped import load_shipped
from engrain.data_builders.synthesis.diversity import diversity
from engrain.data_builders.synthesis.weak import WeakReport, weak_examples, weak_turns
from engrain.recipes import console
from engrain.recipes.label import open_choice
from engrain.recipes.synthesize import CORPUS_FILE as SYNTHETIC_FILE
from engrain.recipes.synthesize import REPORT_FILE as SYNTHETIC_REPORT
from engrain.recipes.synthesize import read_recipe, synthesize
from engrain.recipes.synthesize_config import SynthesisRecipe, WeakChoice
from engrain.recipes.train_gate import write_json
from engrain.runtime.schema import ExtractionExample

CORPUS_FILE, REPORT_FILE = "extraction.parquet", "build.json"
_SUMS_UP = ("msc-persona",)
"""Corpora whose notes are first-person sentences that sum a message up."""


def command(source: str, overrides: Sequence[str], as_json: bool) -> None:
    """`engrain build extractor RECIPE [--json]`."""
    recipe = read_recipe(source, overrides)
    document = build(recipe)
    if as_json:
        console.show_json(document)
        return
    rows = [(split, teacher, count) for split, part in document["splits"].items() for teacher, count in part.items()]
    console.show_table("extraction corpus", ("split", "records by", "examples"), rows)
    console.say(f"{recipe.folder / CORPUS_FILE} is written; {REPORT_FILE} beside it has every count")


def build(recipe: SynthesisRecipe) -> dict[str, Any]:
    """Put the parts together; a teacher's part is taken from `engrain synthesize`, or made now."""
    examples: list[ExtractionExample] = []
    document: dict[str, Any] = {"recipe": recipe.model_dump(mode="json"), "weak": {}}
    if recipe.teacher is not None:
        path = recipe.folder / SYNTHETIC_FILE
        made = _synthesized_with(recipe) and path.is_file()
        examples += read_extraction_examples(path) if made else synthesize(recipe).examples
    for choice in recipe.weak:
        found, report = _weak(choice, recipe)
        examples += found
        document["weak"][choice.corpus.name] = {
            "messages": report.messages,
            "records": report.records,
            "rejected": {reason.value: count for reason, count in report.rejected.items()},
        }
    if recipe.shipped is not None:
        corpus = load_shipped()
        built = extraction_corpus(corpus.sessions, corpus.records, recipe.windows, splits=corpus.splits(recipe.shipped))
        examples += built.examples
        document["shipped"] = built.report.model_dump(mode="json")
    recipe.folder.mkdir(parents=True, exist_ok=True)
    document["fingerprint"] = write_extraction_examples(recipe.folder / CORPUS_FILE, examples)
    document["splits"] = _splits(examples)
    document["diversity"] = diversity(examples).model_dump(mode="json")
    write_json(recipe.folder / REPORT_FILE, document)
    return document


def _synthesized_with(recipe: SynthesisRecipe) -> bool:
    """Whether the teacher's part was made by this very recipe."""
    try:
        document = json.loads((recipe.folder / SYNTHETIC_REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(document.get("recipe") == recipe.model_dump(mode="json"))


def _weak(choice: WeakChoice, recipe: SynthesisRecipe) -> tuple[list[ExtractionExample], WeakReport]:
    from engrain.runtime.extraction.dependency.extractor import DependencyExtractor

    source = open_choice(choice.corpus)
    turns = tuple(weak_turns(source.sessions(), sums_up=choice.corpus.name in _SUMS_UP))
    read = min(choice.messages, len(turns))
    turns = tuple(turns[place * len(turns) // read] for place in range(read))
    console.say(f"rules write records for {choice.corpus.name}")
    rules = DependencyExtractor.load("spacy")
    found, report = weak_examples(turns, rules, prompt=recipe.windows.prompt)
    return [example for example in found if len(example.records) >= choice.records], report


def _splits(examples: Sequence[ExtractionExample]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for example in examples:
        counts.setdefault(example.split.value, Counter())[example.teacher] += 1
    return {split: dict(found) for split, found in counts.items()}
