"""`engrain agree`: how far raters agree on the turns that they rated, by corpus and type, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engrain.data_builders.quality.page import agreement_part, interval
from engrain.data_builders.quality.rated_files import read_rated
from engrain.data_builders.quality.votes import AgreementReport, agreement
from engrain.recipes import console
from engrain.runtime.errors import InputError
from engrain.runtime.html_page import Page

SHOWN = 10
_TEXT = 100


def command(paths: Sequence[str], resamples: int, seed: int, html: str | None, as_json: bool) -> None:
    """`engrain agree PATH... [--resamples N] [--seed N] [--html FILE] [--json]`."""
    report = agreement(read_rated(map(Path, paths)), resamples=resamples, seed=seed)
    if report is None:
        raise InputError(f"no turn in {', '.join(paths)} has votes of two raters, so there is no agreement to measure")
    if html is not None:
        page = Page("Agreement")
        agreement_part(page, report)
        page.write(Path(html))
    if as_json:
        console.show_json(report.model_dump(mode="json"))
    else:
        show(report)


def show(report: AgreementReport) -> None:
    """Print the tables, and the first turns on which raters differ."""
    console.show_table(
        "raters",
        ("rater", "votes", "admitted", "mean confidence"),
        [(one.name, one.votes, one.admitted, one.confidence) for one in report.raters],
    )
    console.show_table(
        f"agreement on {report.turns} turns: Fleiss' kappa, Krippendorff's alpha, 95% bootstrap intervals",
        ("slice", "turns", "field", "unanimous", "kappa", "alpha"),
        [
            (part.slice, part.turns, field.field, field.unanimous, interval(field.fleiss), interval(field.alpha))
            for part in report.slices
            for field in part.fields
        ],
    )
    console.show_table(
        "admission, two raters at a time: Cohen's kappa",
        ("first", "second", "turns", "agreeing", "kappa"),
        [
            (pair.first, pair.second, pair.kappa.items, pair.agreeing, interval(pair.kappa))
            for pair in report.field().pairs
        ],
    )
    if report.disagreeing:
        console.show_table(
            f"raters differ about admission on {report.disagreeing} turns; the first:",
            ("turn", "admit", "reject", "text"),
            [
                (one.id, ", ".join(one.admitting), ", ".join(one.rejecting), one.text[:_TEXT])
                for one in report.disagreements[:SHOWN]
            ],
        )
    if report.single:
        console.say(f"{report.single} turns have one vote only and do not count")
