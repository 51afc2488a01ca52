"""`engrain annotate`: a person judges turns in the terminal; and what people and teachers agree on (SLICE-Mem C.2)."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from engrain.data_builders.parquet import read_gate_examples, write_gate_examples
from engrain.data_builders.teachers.audit import (
    SAMPLE_FILE,
    AuditItem,
    Choice,
    DecisionLog,
    audit_examples,
    sample_audit,
)
from engrain.data_builders.teachers.audit_agreement import Agreement, AuditReport, audit_report
from engrain.data_builders.teachers.records import Annotation, read_rows, write_rows
from engrain.data_builders.teachers.requests import render_item
from engrain.data_builders.teachers.rubric import load_rubric
from engrain.recipes import console
from engrain.recipes.build_gate import CORPUS_FILE
from engrain.recipes.label import LABELS, read_recipe
from engrain.recipes.label_config import LabelRecipe
from engrain.runtime.errors import InputError

QUESTION = "Worth remembering beyond this exchange?"
KEYS = "y yes, n no, s skip, u undo, ? the rubric, q stop here"
_CHOICES = {"y": Choice.YES, "n": Choice.NO, "s": Choice.SKIP}
_NAME = re.compile(r"\w[\w.-]*")


def command(source: str, overrides: Sequence[str], annotator: str | None, show_report: bool, as_json: bool) -> None:
    """`engrain annotate RECIPE --annotator NAME`, or `engrain annotate RECIPE --report`."""
    recipe = read_recipe(source, overrides, None)
    if show_report:
        _report(recipe, as_json)
        return
    if annotator is None or not _NAME.fullmatch(annotator) or annotator == Path(SAMPLE_FILE).stem:
        raise InputError("give --annotator NAME (letters, digits, dot, dash), or --report for the agreement")
    items = audit_set(recipe)
    log = DecisionLog(
        (recipe.folder / SAMPLE_FILE).with_name(f"{annotator}.jsonl"), (one.candidate.id for one in items)
    )
    session(items, log, recipe)


def audit_set(recipe: LabelRecipe) -> tuple[AuditItem, ...]:
    """The audit set of a run: drawn once, after the gate corpus, and kept."""
    path = recipe.folder / SAMPLE_FILE
    if path.is_file():
        return read_rows(path, AuditItem)
    files = sorted((recipe.folder / LABELS).glob("*.jsonl"))
    if not files:
        raise InputError(f"{recipe.folder / LABELS} holds no labels; run `engrain build gate` first")
    corpus = recipe.folder / CORPUS_FILE
    if not corpus.is_file():
        raise InputError(f"{corpus} is missing; the audit set is disjoint from it: run `engrain build gate` first")
    annotated = {file.stem: read_rows(file, Annotation) for file in files}
    items = sample_audit(annotated, read_gate_examples(corpus), recipe.audit)
    write_rows(path, items)
    return items


def session(items: Sequence[AuditItem], log: DecisionLog, recipe: LabelRecipe) -> None:
    """Show what is left to judge, one turn at a time, until all is judged, or the annotator or the input stops."""
    while (left := [item for item in items if item.candidate.id not in log.decisions]) and _judge(
        left[0], len(items) - len(left) + 1, len(items), log, recipe
    ):
        pass
    done = len(log.decisions)
    again = "" if done == len(items) else "; the same command goes on from here"
    console.out.print(f"{done} of {len(items)} judged, {len(log.labels())} with yes or no{again}")


def _judge(item: AuditItem, number: int, total: int, log: DecisionLog, recipe: LabelRecipe) -> bool:
    """Show one turn and take entries until it is judged or something else is to be shown; False stops the session."""
    console.out.rule(f"{number} of {total}")
    shown = render_item(item.candidate.context, item.candidate.target, recipe.annotation.context)
    console.out.print(console.printable(shown))
    while True:
        console.out.print(f"{QUESTION} [{KEYS}] ", end="")
        entry = sys.stdin.readline()
        key = entry.strip().lower()[:1]
        if not entry or key == "q":
            return False
        if key in _CHOICES:
            log.record(item.candidate.id, _CHOICES[key])
            return True
        if key == "u":
            if log.undo() is not None:
                return True
            console.out.print("there is nothing to undo")
        elif key == "?":
            console.out.print(load_rubric(recipe.annotation.language).system)


def _report(recipe: LabelRecipe, as_json: bool) -> None:
    """Agreement of all annotators so far; each one's judged turns are also written as a test set for a gate."""
    items = audit_set(recipe)
    known = [item.candidate.id for item in items]
    folder = (recipe.folder / SAMPLE_FILE).parent
    logs = {
        path.stem: DecisionLog(path, known)
        for path in sorted(folder.glob("*.jsonl"))
        if path.name != Path(SAMPLE_FILE).name
    }
    people = {name: log.labels() for name, log in logs.items() if log.labels()}
    if not people:
        raise InputError(f"nobody has judged a turn in {folder}; run `engrain annotate RECIPE --annotator NAME` first")
    for name, labels in people.items():
        write_gate_examples(folder / f"{name}.parquet", audit_examples(items, labels))
    report = audit_report(items, people, resamples=recipe.quality.resamples)
    if as_json:
        console.show_json(report.model_dump(mode="json"))
    else:
        _show(report)
        console.say(f"judged turns are in {folder}/<annotator>.parquet, a test split for `engrain eval gate`")


def _show(report: AuditReport) -> None:
    columns = ("first", "second", "turns", "agreeing", "share", "kappa", "low", "high")
    parts: list[tuple[str, Sequence[Agreement]]] = [
        ("people and the teachers' majority", report.with_teachers),
        *((f"the same, {kind}", found) for kind, found in report.by_dependence.items()),
        ("people and each teacher", report.with_each_teacher),
        ("people among themselves", report.between_people),
    ]
    for title, found in parts:
        if found:
            console.show_table(title, columns, [_row(one) for one in found])
    if report.alpha is not None:
        console.show_fields("all annotators", {"Krippendorff's alpha": report.alpha})


def _row(one: Agreement) -> tuple[object, ...]:
    share = one.agreeing / one.turns if one.turns else None
    return (one.first, one.second, one.turns, one.agreeing, share, one.kappa, one.low, one.high)
