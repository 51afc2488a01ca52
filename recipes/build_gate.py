"""`engrain build gate`: the labelled corpora and Memora's released labels to one gate corpus, with its reports.

What is free is read and checked first; then the teachers are asked for what the ledger lacks. A build whose inputs and
settings are those of the last one is not repeated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engrain.data_builders.content import digest_file, digest_files, digest_tree
from engrain.data_builders.gate_corpus import GateCorpus
from engrain.data_builders.gate_corpus_build import GateBuild, build_gate_corpus
from engrain.data_builders.memora_gate import memora_gate_corpus
from engrain.data_builders.parquet import data_fingerprint, write_gate_examples
from engrain.data_builders.quality.report import QUALITY_FILES, quality_report
from engrain.data_builders.quality.votes import RatedTurn
from engrain.data_builders.sources.memora import MemoraSource, find_split
from engrain.data_builders.teachers.audit import SAMPLE_FILE, audited_ids
from engrain.data_builders.teachers.records import Annotation
from engrain.recipes import console
from engrain.recipes.cost import show_projections
from engrain.recipes.label import REPORT_FILE as LABEL_REPORT
from engrain.recipes.label import Asked, gather, label, open_choice, projections, read_recipe, report
from engrain.recipes.label_config import LabelRecipe
from engrain.recipes.train_gate import write_json
from engrain.runtime.bundle import text_hash

CORPUS_FILE = "gate.parquet"
REPORT_FILE = "build.json"
# Raised when the same inputs would give another corpus.
BUILD_VERSION = "1"


@dataclass(frozen=True)
class _Cache:
    """What the last build in this folder left behind."""

    document: Mapping[str, Any]
    corpus: Path

    @classmethod
    def of(cls, folder: Path) -> _Cache:
        """The last build; an empty one where there is none, or where it cannot be read."""
        try:
            document = json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            document = {}
        return cls(document if isinstance(document, dict) else {}, folder / CORPUS_FILE)

    def holds(self, key: str) -> bool:
        """Whether that build had the same inputs, and its corpus and quality report are still what it wrote."""
        written = (self.corpus, *(self.corpus.with_name(name) for name in QUALITY_FILES))
        if self.document.get("inputs") != key or not all(path.is_file() for path in written):
            return False
        return bool(digest_file(self.corpus) == self.document.get("file_hash"))


def command(source: str, overrides: Sequence[str], limit: int | None, dry_run: bool, as_json: bool) -> None:
    """`engrain build gate RECIPE [--limit N] [--dry-run] [--json]`."""
    recipe = read_recipe(source, overrides, limit)
    if dry_run:
        asked = gather(recipe, limit)
        _released(recipe)
        show_projections(projections(recipe, asked.candidates), as_json)
        return
    document, cached = build(recipe, limit)
    if as_json:
        console.show_json(document | {"cached": cached})
        return
    _show(document)
    said = "unchanged since the last build: read from the cache" if cached else "written"
    console.say(f"{recipe.folder / CORPUS_FILE}: {said}; quality.html beside it shows what is in it")


def build(recipe: LabelRecipe, limit: int | None = None) -> tuple[dict[str, Any], bool]:
    """Build the corpus of a recipe; returns the content of `build.json`, and whether the last build served.

    Writes `gate.parquet`, `build.json`, and the quality report. Raises before anything is paid for when a corpus lacks
    rows, a label or a persona.
    """
    asked = gather(recipe, limit)
    cache = _Cache.of(recipe.folder)
    memora = _memora_key(recipe)
    known = cache.document.get("memora") == memora
    released = None if known else _released(recipe)
    annotated = label(recipe, asked) if recipe.corpora else {}
    audited = audited_ids(recipe.folder / SAMPLE_FILE)
    annotated = {corpus: _without(found, audited) for corpus, found in annotated.items()}
    key = _inputs_key(recipe, annotated, memora)
    if cache.holds(key):
        return dict(cache.document), True
    built = build_gate_corpus(annotated, recipe.rows, released or _released(recipe), recipe.expected_weight)
    document = _write(recipe, asked, annotated, built)
    document |= {"inputs": key, "memora": memora, "file_hash": digest_file(recipe.folder / CORPUS_FILE)}
    # Last: a build that was cut short is not taken for a whole one.
    write_json(recipe.folder / REPORT_FILE, document)
    return document, False


def _without(found: Sequence[Annotation], audited: frozenset[str]) -> tuple[Annotation, ...]:
    """Turns that people audit are neither trained on nor validated with (C.2)."""
    return tuple(one for one in found if one.candidate.id not in audited)


def _released(recipe: LabelRecipe) -> GateCorpus | None:
    if recipe.memora is None:
        return None
    with console.progress("reading Memora") as advance:
        return memora_gate_corpus(recipe.memora, progress=advance)


def _memora_key(recipe: LabelRecipe) -> str:
    """Hash of Memora's settings and files; empty without Memora."""
    if recipe.memora is None:
        return ""
    settings, root = recipe.memora, recipe.memora.root
    folders = [find_split(root, split) for split in (settings.split, *settings.guard_splits)]
    files = [path for folder in folders if folder for path in folder.glob("*/conversations/*.json")]
    return text_hash(settings.model_dump_json(exclude={"root"}), digest_files(root, files))


def _inputs_key(recipe: LabelRecipe, annotated: Mapping[str, Sequence[Annotation]], memora: str) -> str:
    """Hash of everything that decides the corpus and its reports."""
    settings = (recipe.rows, recipe.quality, *recipe.benchmarks)
    # A corpus that is read from a hub is known by its name alone.
    benchmarks = (digest_tree(choice.root) for choice in recipe.benchmarks if choice.root is not None)
    expected = recipe.expected_weight.model_dump_json() if recipe.expected_weight else ""
    labels = data_fingerprint(one for found in annotated.values() for one in found)
    return text_hash(
        "gate-build", BUILD_VERSION, *(one.model_dump_json() for one in settings), expected, labels, memora, *benchmarks
    )


def _write(
    recipe: LabelRecipe, asked: Asked, annotated: Mapping[str, Sequence[Annotation]], built: GateBuild
) -> dict[str, Any]:
    fingerprint = write_gate_examples(recipe.folder / CORPUS_FILE, built.examples)
    if annotated:
        write_json(recipe.folder / LABEL_REPORT, report(recipe, asked, annotated))
    rated = [
        RatedTurn(one.candidate.id, corpus, one.candidate.target.text, one.votes)
        for corpus, found in annotated.items()
        for one in found
    ]
    infos = asked.sources
    if recipe.memora is not None:
        infos = (*infos, MemoraSource(recipe.memora.root, recipe.memora.split).info)
    benchmarks = {choice.name: open_choice(choice).sessions() for choice in recipe.benchmarks}
    with console.progress("measuring quality") as advance:
        quality_report(
            built.examples,
            recipe.folder,
            benchmarks=benchmarks,
            rated=rated or None,
            sources=infos,
            settings=recipe.quality,
            progress=lambda stage, done, total: advance(done, total),
        )
    return {
        "recipe": recipe.model_dump(mode="json"),
        "report": built.report.model_dump(mode="json"),
        "fingerprint": fingerprint,
    }


def _show(document: Mapping[str, Any]) -> None:
    counts = document["report"]
    columns = ("corpus", "candidates", "accepted", "rows", "positives", "validation", "split by")
    rows: list[tuple[object, ...]] = [
        (
            *(corpus, part["candidates"], part["accepted"], part["taken"]["rows"], part["taken"]["positives"]),
            *(part["validation"]["rows"], part["split_by"]),
        )
        for corpus, part in counts["parts"].items()
    ]
    released = counts["released"]
    if released:
        taken = sum(split["rows"] for split in released["splits"].values())
        positives = sum(split["positives"] for split in released["splits"].values())
        validation = released["splits"].get("validation", {}).get("rows", 0)
        read = released["read"]["rows"]
        rows.append((released["corpus"], read, read, taken, positives, validation, "person and label"))
    console.show_table("gate corpus", columns, rows)
    splits = {
        f"{split} rows": f"{part['rows']}, {part['positives']} positive" for split, part in counts["splits"].items()
    }
    console.show_fields("whole", {**splits, "positive weight": counts["weight_check"]})
