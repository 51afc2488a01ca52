"""The tables of a run, as the papers lay them out: one row a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engrain.recipes import console
from engrain.recipes.benchmarks.pipeline.stages import STAGES

Row = tuple[object, ...]
Table = tuple[str, tuple[str, ...], list[Row]]

_EVIDENCE = ("recall@5", "recall@10", "recall@20", "precision@10", "ndcg@10", "sessions@3", "sessions@5", "sessions@10")
_VALUES = ("retrieval FAMA", "presence", "forgotten share", "stale leakage", "deleting turns")


def tables(document: Mapping[str, Any]) -> list[Table]:
    """Retrieval, its parts and tasks, construction, and answers where a reader wrote them."""
    systems = document["systems"]
    label = f"{document['suite']} ({document['provenance']['label']})"
    found = [_evidence(f"{label}: evidence in the ranking", systems)]
    found.append(_context(f"{label}: at most {document['context_words']} words of context", systems))
    found += [
        _grouped(f"{label}: by {group}", systems, f"by {group}")
        for group in ("task", "part")
        if any(len(system["retrieval"].get(f"by {group}", {})) > 1 for system in systems)
    ]
    found.append(_construction(f"{label}: stages", systems))
    if any("answers" in system for system in systems):
        found.append(_answers(f"{label}: answers", systems))
    if any(system.get("cost") for system in systems):
        found.append(_costs(f"{label}: calls and tokens", systems))
    return found


def show(document: Mapping[str, Any]) -> None:
    """Print the tables, the traps of the data, and what failed."""
    for title, columns, rows in tables(document):
        console.show_table(title, columns, rows)
    for trap in document["provenance"]["traps"]:
        console.say(f"note: {trap}")
    for system in document["systems"]:
        if system["exercised"] != "whole":
            console.say(f"note: of {system['name']} is exercised: {system['exercised']}")
    for name, reason in failures(document):
        console.say(f"{name}: {reason}")


def failures(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What failed or was stopped, by system: groups of a peer that crashed, a service that went away."""
    found: list[tuple[str, str]] = []
    for system in document["systems"]:
        found += [(system["name"], f"failed on {text}") for text in system["failures"]]
        stopped = [(one["draw"], one["stopped"]) for one in system.get("answers", []) if one["stopped"]]
        found += [(system["name"], f"draw {draw} stopped: {reason}") for draw, reason in stopped]
    return found


def _evidence(title: str, systems: Sequence[Mapping[str, Any]]) -> Table:
    names = _present(_EVIDENCE, systems)
    rows: list[Row] = []
    for system in systems:
        scores = system["retrieval"]
        asked = scores["questions"] - scores.get("without evidence", 0)
        figures = (scores.get(name) for name in names)
        rows.append((system["name"], asked, system["questions left out"], *figures))
    return title, ("system", "questions", "left out", *names), rows


def _context(title: str, systems: Sequence[Mapping[str, Any]]) -> Table:
    names = _present(_VALUES, systems)
    columns = ("system", *names, "words", "tokens at most", "entries")
    shown = (*names, "context_words", "context_tokens", "context_entries")
    return title, columns, [(one["name"], *(one["retrieval"].get(name) for name in shown)) for one in systems]


def _present(names: Sequence[str], systems: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name in names if any(name in system["retrieval"] for system in systems)]


def _grouped(title: str, systems: Sequence[Mapping[str, Any]], key: str) -> Table:
    groups = list(dict.fromkeys(name for system in systems for name in system["retrieval"].get(key, {})))
    shown = next(
        name
        for name in ("recall@10", "sessions@5", "presence", "context_words")
        if any(name in own for system in systems for own in system["retrieval"].get(key, {}).values())
    )
    rows: list[Row] = [
        (system["name"], *(system["retrieval"].get(key, {}).get(group, {}).get(shown) for group in groups))
        for system in systems
    ]
    return f"{title}, {shown}", ("system", *groups), rows


def _construction(title: str, systems: Sequence[Mapping[str, Any]]) -> Table:
    counts = ("turns", "admitted", "rejected", "records", "changes")
    columns = ("system", *counts, *(f"{stage} {unit}" for stage in STAGES for unit in ("s", "CPU s")))
    rows: list[Row] = []
    for system in systems:
        stages = system["stages"]
        merged = {**stages.get("construct", {}), **stages.get("consolidate", {})}
        seconds = [stages.get(stage, {}).get(unit) for stage in STAGES for unit in ("wall_s", "cpu_s")]
        rows.append((system["name"], *(merged.get(name) for name in counts), *seconds))
    return title, columns, rows


def _answers(title: str, systems: Sequence[Mapping[str, Any]]) -> Table:
    scored = ("FAMA", "MPA", "FAA", "accuracy", "F1", "low", "high")
    columns = ("system", "judge", "draw", *scored, "scored", "unread", "unanswered", "alpha")
    rows: list[Row] = []
    for system in systems:
        for repetition in system.get("answers", []):
            for judge, scores in repetition["judges"].items():
                interval = scores.get("interval", {})
                shown = [scores.get(name) for name in ("fama", "mpa", "faa", "accuracy", "f1")]
                bounds = [interval.get("low"), interval.get("high")]
                counts = [scores.get("questions", scores.get("judged")), scores.get("unread"), repetition["unanswered"]]
                label = (system["name"], judge, repetition["draw"])
                rows.append((*label, *shown, *bounds, *counts, repetition["agreement"]))
    return title, columns, rows


def _costs(title: str, systems: Sequence[Mapping[str, Any]]) -> Table:
    columns = ("system", "stage", "answers", "tokens in", "tokens out", "USD")
    rows: list[Row] = [
        (
            *(system["name"], line["stage"], line["answers"]),
            *(line["prompt_tokens"], line["completion_tokens"], float(line["cost_usd"])),
        )
        for system in systems
        for line in system.get("cost", [])
    ]
    return title, columns, rows
