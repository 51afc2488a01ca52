"""`engrain bench compare A B`: paired differences between systems of two runs, over the questions that both have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engrain.recipes import console
from engrain.recipes.benchmarks.report import RESULT_FILE
from engrain.recipes.benchmarks.scores.bootstrap import RESAMPLES, Interval, paired_difference
from engrain.runtime.errors import InputError

FIGURES = ("recall@5", "recall@10", "recall@20", "sessions@5", "sessions@10", "presence", "forgotten share", "answers")
"""Figures that are compared where both runs have them; all are shares of a question, between 0 and 1."""

_PARTS = {
    "presence": ("values_present", "values_remembered"),
    "forgotten share": ("forgotten_present", "values_forgotten"),
}


def command(left: str, right: str, as_json: bool) -> None:
    """Compare every system of run A with those of run B: the same name where both have it, else all pairs."""
    first, second = read_results(Path(left)), read_results(Path(right))
    if first["suite"] != second["suite"]:
        raise InputError(f"{left} is a run of {first['suite']}, {right} one of {second['suite']}: nothing to compare")
    found = compare(first, second)
    if as_json:
        console.show_json([one | {"interval": asdict(one["interval"])} for one in found])
        return
    rows = [
        (
            *(one["left"], one["right"], one["figure"], one["questions"]),
            *(one["interval"].mean, one["interval"].low, one["interval"].high),
            "yes" if one["interval"].excludes_zero else "no",
        )
        for one in found
    ]
    columns = ("A", "B", "figure", "questions", "A - B", "low", "high", "told apart")
    console.show_table(f"paired bootstrap, {RESAMPLES} resamples, 95%", columns, rows)
    if first["provenance"]["files"] != second["provenance"]["files"]:
        console.say("note: the two runs read different files; only questions with the same id are compared")


def compare(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Differences as data. Raises `InputError` when the runs share no question."""
    shared = [name for name in first["rows"] if name in second["rows"]]
    same = first["recipe_hash"] == second["recipe_hash"] and first["rows"] == second["rows"]
    pairs = (
        [(a, b) for a in first["rows"] for b in second["rows"] if a != b]
        if same or not shared
        else [(name, name) for name in shared]
    )
    found = []
    for a, b in pairs:
        for figure in FIGURES:
            left, right = _values(first["rows"][a], figure), _values(second["rows"][b], figure)
            both = sorted(left.keys() & right.keys())
            if both:
                interval: Interval = paired_difference([left[key] for key in both], [right[key] for key in both])
                found.append({"left": a, "right": b, "figure": figure, "questions": len(both), "interval": interval})
    if not found:
        raise InputError("the two runs share no question with a figure; compare runs over the same data")
    return found


def read_results(path: Path) -> dict[str, Any]:
    """The results of a run: its folder, or the file itself."""
    file = path / RESULT_FILE if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{file} is missing; give the folder of a run of `engrain bench run`") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not a run's results: {error}") from None
    if not isinstance(document, dict) or not {"suite", "rows", "recipe_hash", "provenance"} <= document.keys():
        raise InputError(f"{file} is not a run's results: suite, rows, recipe_hash and provenance are expected")
    return document


def _values(rows: list[dict[str, Any]], figure: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for row in rows:
        value = _value(row, figure)
        if value is not None:
            values[row["id"]] = value
    return values


def _value(row: Mapping[str, Any], figure: str) -> float | None:
    figures = row["figures"]
    if figure == "answers":
        return _satisfied(row.get("judged", []))
    if figure in _PARTS:
        part, whole = _PARTS[figure]
        return figures[part] / figures[whole] if figures.get(whole) else None
    value = figures.get(figure)
    return None if value is None else float(value)


def _satisfied(judged: list[dict[str, Any]]) -> float | None:
    """The share of the first judge's verdicts, over criteria and repetitions, that are satisfied; unread ones apart."""
    own = [one for one in judged if one["judge"] == judged[0]["judge"]]
    said = [value for one in own for value in one["verdicts"].values() if value is not None]
    return sum(said) / len(said) if said else None
