"""One static page a run: its tables, cost against quality, and every question with its hits, answers and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engrain.recipes.benchmarks.tables import failures, tables
from engrain.runtime.html_page import Page

RESULT_FILE, REPORT_FILE = "results.json", "report.html"
"""What a run writes into its folder."""
_QUALITY = ("recall@10", "sessions@5", "retrieval FAMA")
SHOWN_QUESTIONS = 200
"""Questions drilled into, those that tell the systems apart first; results.json holds all of them."""


def write_report(path: Path, document: Mapping[str, Any]) -> Path:
    """Write the page and return its path."""
    page = Page(f"{document['name']}: {document['suite']}")
    page.paragraph(f"Data: {document['provenance']['label']}. Recipe {document['recipe_hash'][:12]}.")
    for trap in document["provenance"]["traps"]:
        page.paragraph(f"Note: {trap}.")
    for system in document["systems"]:
        if system["exercised"] != "whole":
            page.paragraph(f"Of {system['name']} is exercised: {system['exercised']}.")
    for title, columns, rows in tables(document):
        page.heading(title)
        page.table(columns, rows)
    _plots(page, document)
    _failures(page, document)
    _questions(page, document)
    page.write(path)
    return path


def _plots(page: Page, document: Mapping[str, Any]) -> None:
    quality = next(
        (name for name in _QUALITY if any(name in system["retrieval"] for system in document["systems"])), None
    )
    if quality is None:
        return
    shown = [system for system in document["systems"] if quality in system["retrieval"]]

    def draw(axes: Any) -> None:
        for system in shown:
            spent = system["stages"].get("construct", {}).get("cpu_s", 0.0)
            axes.scatter(spent, system["retrieval"][quality])
            axes.annotate(system["name"], (spent, system["retrieval"][quality]), fontsize=8)
        axes.set_xlabel("CPU seconds of construction")
        axes.set_ylabel(quality)

    page.plot(f"Cost against quality: {quality}", draw)


def _failures(page: Page, document: Mapping[str, Any]) -> None:
    failed = failures(document)
    if failed:
        page.heading("What failed")
        page.table(("system", "what and why"), failed)


def _questions(page: Page, document: Mapping[str, Any]) -> None:
    by_question: dict[str, dict[str, Any]] = {}
    for name, rows in document["rows"].items():
        for row in rows:
            by_question.setdefault(row["id"], {})[name] = row
    chosen = sorted(by_question, key=lambda key: (-_spread(by_question[key]), key))[:SHOWN_QUESTIONS]
    page.heading(f"Questions: {len(chosen)} of {len(by_question)}, those on which systems differ most first")
    for key in chosen:
        rows = by_question[key]
        first = next(iter(rows.values()))
        page.block(f"{key} [{first['task']}, {first['part']}]\n{first['question']}\nreference: {first['answer']}")
        for name, row in rows.items():
            figures = ", ".join(f"{label} {value:g}" for label, value in row["figures"].items())
            page.paragraph(f"{name}: {figures}")
            for entry in row["hits"][:5]:
                page.hit(entry["text"], f"{entry['at']} {', '.join(entry['turn_ids'])}")
            for given in row.get("answers", []):
                page.paragraph(f"answer: {given['text'] if given['text'] is not None else given['failure']}")
            for said in row.get("judged", []):
                page.paragraph(f"{said['judge']}: " + "; ".join(f"{n}: {t}" for n, t in said["said"].items()))


def _spread(rows: Mapping[str, Any]) -> float:
    """How far the best and the worst system are apart on one question."""
    figures = [row["figures"] for row in rows.values()]
    name = next((name for name in ("recall@10", "sessions@5", "values_present") if name in figures[0]), None)
    values = [one.get(name, 0.0) for one in figures] if name else [0.0]
    return float(max(values) - min(values))
