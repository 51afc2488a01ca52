"""The dataset card of a build: what is in it, where it comes from, and what is known against it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engrain.data_builders.quality.language import UNKNOWN
from engrain.data_builders.sources.dialogue import SourceInfo

if TYPE_CHECKING:
    from engrain.data_builders.quality.report import QualityReport


def dataset_card(name: str, report: QualityReport, sources: Sequence[SourceInfo] = ()) -> str:
    """A Markdown card. The texts in the corpus keep the licences of their sources."""
    parts = [
        _metadata(name, report),
        f"# {name}",
        _summary(report),
        _composition(report),
        _trust(report),
        _provenance(sources),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _metadata(name: str, report: QualityReport) -> str:
    """What a hub reads of a card: JSON is YAML too, so quotes in a name do no harm."""
    languages = [language for language in report.balance.languages if language != UNKNOWN]
    fields = {"pretty_name": name, "language": languages, "task_categories": ["text-classification"]}
    return "\n".join(["---", *(f"{key}: {json.dumps(value)}" for key, value in fields.items()), "---"])


def _summary(report: QualityReport) -> str:
    rows = sum(part.rows for part in report.balance.parts)
    positives = sum(part.positives for part in report.balance.parts)
    return (
        f"A gate corpus: {rows} user turns, {positives} of them worth keeping ({positives / rows:.1%}), each with the "
        "messages before it. Its columns are the fields of `GateExample`; a group is never in two splits. "
        "`quality.html` shows plots and examples, `quality.json` holds every figure."
    )


def _composition(report: QualityReport) -> str:
    rows = [
        (part.corpus, part.split.value, part.rows, part.positives, f"{part.share:.1%}", part.groups)
        for part in report.balance.parts
    ]
    counted = {
        "labels from": {source.value: count for source, count in report.balance.sources.items()},
        "types": report.balance.types,
        "languages": report.balance.languages,
    }
    lines = [
        f"- {name}: " + ", ".join(f"{key} {count}" for key, count in counts.items()) for name, counts in counted.items()
    ]
    return "\n".join(
        ["## Composition", *_table(("corpus", "split", "rows", "positive", "share", "groups"), rows), "", *lines]
    )


def _trust(report: QualityReport) -> str:
    exact, near, noise = report.duplicates.exact, report.duplicates.near, report.noise
    lines = [
        "## What is known against it",
        f"- exact duplicates: {exact.extra} rows beyond the first of their text; {exact.contradicting} texts have both "
        f"labels, {exact.across_splits} are in two splits",
        f"- near duplicates: {near.rows} rows in {near.groups} groups; {near.contradicting} groups have both labels",
    ]
    lines += [
        f"- against {name}: {counts.leaks} of {counts.rows} rows stand there word for word, {counts.touched} in part"
        for name, counts in report.leaks.benchmarks.items()
    ]
    lines += [
        f"- {split.value} rows whose words stand in the training split: {counts.leaks} of {counts.rows}"
        for split, counts in report.leaks.splits.items()
    ]
    if not report.leaks.benchmarks:
        lines.append("- it was not compared with any benchmark")
    if noise is not None:
        lines.append(
            f"- label noise by confident learning: about {noise.noise:.1%}; {noise.suspected} labels suspected"
        )
    lines.append(_agreement_line(report))
    return "\n".join(lines)


def _agreement_line(report: QualityReport) -> str:
    if report.agreement is None:
        return "- no turn has two votes, so agreement is unknown"
    admission = report.agreement.field()
    alpha, unanimous = admission.alpha, admission.unanimous
    if alpha.value is None or alpha.low is None or alpha.high is None:
        return f"- {len(report.agreement.raters)} raters gave every turn the same label: agreement is undefined"
    return (
        f"- {len(report.agreement.raters)} raters on {report.agreement.turns} turns: Krippendorff's alpha of admission "
        f"{alpha.value:.3f} ({alpha.low:.3f} to {alpha.high:.3f}), unanimous on {unanimous:.1%}"
    )


def _provenance(sources: Sequence[SourceInfo]) -> str:
    if not sources:
        return ""
    rows = [(source.name, source.licence, source.citation) for source in sources]
    return "\n".join(["## Sources", *_table(("corpus", "licence", "citation"), rows)])


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    cells = [[str(value).replace("|", "\\|").replace("\n", " ") for value in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in [list(columns), ["---"] * len(columns), *cells]]
