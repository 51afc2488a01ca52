"""The quality report as one HTML page: tables, plots, and the turns that deserve a look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engrain.data_builders.quality.balance import Lengths
from engrain.data_builders.quality.duplicates import DuplicateCounts
from engrain.data_builders.quality.votes import AgreementReport, Estimate
from engrain.runtime.html_page import Page

if TYPE_CHECKING:
    from engrain.data_builders.quality.report import QualityReport

_SHOWN = 50
_TEXT = 240
"""Characters of a turn that a table shows."""


def quality_page(name: str, report: QualityReport) -> Page:
    """The page of a corpus named `name`."""
    page = Page(f"Quality of {name}")
    _composition(page, report)
    if report.agreement is None:
        page.heading("Agreement")
        page.paragraph("No turn has votes of two raters, so agreement is unknown.")
    else:
        agreement_part(page, report.agreement)
    _duplicates(page, report)
    _leaks(page, report)
    _noise(page, report)
    return page


def agreement_part(page: Page, report: AgreementReport) -> None:
    """Agreement of raters: tables by field and slice, pairs with intervals, and turns on which they differ."""
    page.heading("Agreement")
    page.paragraph(
        f"{report.turns} turns with two votes or more; on {report.disagreeing} of them raters differ about admission."
    )
    page.table(
        ("rater", "votes", "admitted", "mean confidence"),
        [(one.name, one.votes, one.admitted, one.confidence) for one in report.raters],
    )
    page.table(
        ("slice", "turns", "field", "unanimous", "Fleiss' kappa", "Krippendorff's alpha"),
        [
            (part.slice, part.turns, field.field, field.unanimous, interval(field.fleiss), interval(field.alpha))
            for part in report.slices
            for field in part.fields
        ],
    )
    pairs = [(f"{pair.first} / {pair.second}", pair) for pair in report.field().pairs]
    page.table(
        ("pair, admission", "turns", "agreeing", "Cohen's kappa"),
        [(name, pair.kappa.items, pair.agreeing, interval(pair.kappa)) for name, pair in pairs],
    )
    slices = [(part.slice, part.fields[0].alpha) for part in report.slices]
    page.plot(
        "Krippendorff's alpha of admission by corpus and type, with 95% bootstrap intervals.",
        lambda axes: _intervals(axes, slices, "alpha"),
    )
    page.plot(
        "Cohen's kappa of admission between two raters, with 95% bootstrap intervals.",
        lambda axes: _intervals(axes, [(name, pair.kappa) for name, pair in pairs], "kappa"),
    )
    page.table(
        ("turn", "corpus", "text", "admit", "reject"),
        [
            (one.id, one.corpus, _cut(one.text), ", ".join(one.admitting), ", ".join(one.rejecting))
            for one in report.disagreements
        ],
    )


def _composition(page: Page, report: QualityReport) -> None:
    balance = report.balance
    page.heading("Composition")
    page.table(
        ("corpus", "split", "rows", "positive", "share", "groups"),
        [(part.corpus, part.split, part.rows, part.positives, part.share, part.groups) for part in balance.parts],
    )
    page.table(("labels from", "rows"), list(balance.sources.items()))
    page.table(("type", "rows"), list(balance.types.items()))
    page.table(("language", "rows"), list(balance.languages.items()))

    def shares(axes: Any) -> None:
        names = [f"{part.corpus}, {part.split}" for part in balance.parts]
        axes.barh(names, [part.rows - part.positives for part in balance.parts], label="not worth keeping")
        axes.barh(
            names,
            [part.positives for part in balance.parts],
            left=[part.rows - part.positives for part in balance.parts],
            label="worth keeping",
        )
        axes.invert_yaxis()
        axes.set(xlabel="rows")
        axes.legend()

    page.plot("Rows by corpus, split and label.", shares)
    page.plot("Length of the target turn.", lambda axes: _histogram(axes, balance.target_length))
    page.plot("Length of the context.", lambda axes: _histogram(axes, balance.context_length))


def _duplicates(page: Page, report: QualityReport) -> None:
    duplicates = report.duplicates
    page.heading("Duplicates")
    page.paragraph(
        f"{duplicates.distinct} different texts among {duplicates.rows} targets. Near duplicates share "
        f"{duplicates.near_overlap:.0%} of their word pairs or more."
    )
    kinds = (("exact", duplicates.exact), ("near", duplicates.near))
    page.table(
        ("kind", "groups", "rows", "beyond the first", "both labels", "in two splits"),
        [(name, one.groups, one.rows, one.extra, one.contradicting, one.across_splits) for name, one in kinds],
    )
    for name, counts in kinds:
        _groups(page, f"Largest {name} groups", counts, contradictions=False)
        _groups(page, f"Largest {name} groups with both labels", counts, contradictions=True)


def _groups(page: Page, title: str, counts: DuplicateCounts, *, contradictions: bool) -> None:
    groups = (counts.contradictions if contradictions else counts.largest)[:_SHOWN]
    if groups:
        rows = [(_cut(group.text), group.rows, group.positives, ", ".join(group.ids)) for group in groups]
        page.table((title, "rows", "positive", "first ids"), rows)


def _leaks(page: Page, report: QualityReport) -> None:
    page.heading("Leaks")
    page.paragraph(
        "A leak is a turn of which half or more stands on the other side: words inside runs of 13 in common, or the "
        "whole of a shorter turn."
    )
    compared = [(name, counts) for name, counts in report.leaks.benchmarks.items()]
    compared += [(f"{split} against train", counts) for split, counts in report.leaks.splits.items()]
    if not compared:
        page.paragraph("Nothing was compared: no benchmark was given, and there is one split only.")
        return
    page.table(
        ("against", "turns there", "rows compared", "leaks", "touched"),
        [(name, one.passages, one.rows, one.leaks, one.touched) for name, one in compared],
    )
    for name, counts in compared:
        if counts.named:
            rows = [(one.id, one.source, one.share, _cut(one.text)) for one in counts.named[:_SHOWN]]
            page.table((f"{name}: row", "stands in", "share", "text"), rows)


def _noise(page: Page, report: QualityReport) -> None:
    page.heading("Label noise")
    noise = report.noise
    if noise is None:
        page.paragraph("Not estimated: it was switched off, or the rows are too few or of one label.")
        return
    page.paragraph(
        f"Confident learning over {noise.folds} folds, {noise.features} features of the target turn: about "
        f"{noise.noise:.1%} of the labels look wrong ({noise.false_positives:.1%} of the positive, "
        f"{noise.false_negatives:.1%} of the negative). The classifier behind it has an average precision of "
        f"{noise.average_precision:.3f}; it sees no context, so short answers are suspected too readily."
    )
    page.table(
        ("suspected", "corpus", "label", "probability", "text"),
        [(one.id, one.corpus, one.label, one.probability, _cut(one.text)) for one in noise.suspects[:_SHOWN]],
    )


def _intervals(axes: Any, estimates: list[tuple[str, Estimate]], name: str) -> None:
    known = [
        (label, one.value, one.low, one.high)
        for label, one in estimates
        if one.value is not None and one.low is not None and one.high is not None
    ]
    for row, (_, value, low, high) in enumerate(known):
        axes.plot([low, high], [row, row], color="tab:blue")
        axes.plot([value], [row], marker="o", color="tab:blue")
    axes.set_yticks(range(len(known)), [label for label, *_ in known])
    axes.invert_yaxis()
    axes.set(xlabel=name, xlim=(min([0.0, *(low for *_, low, _ in known)]), 1.02))


def _histogram(axes: Any, lengths: Lengths) -> None:
    widths = [right - left for left, right in zip(lengths.edges, lengths.edges[1:], strict=False)]
    axes.bar(lengths.edges[:-1], lengths.negative, widths, align="edge", label="not worth keeping")
    axes.bar(lengths.edges[:-1], lengths.positive, widths, bottom=lengths.negative, align="edge", label="worth keeping")
    axes.set(xlabel="characters (the last bin holds what is longer)", ylabel="rows")
    axes.legend()


def interval(estimate: Estimate) -> str:
    """A statistic with its interval, or `-` where it is undefined."""
    if estimate.value is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
