"""What an evaluation of a gate says, as one document and as one HTML page: measures, slices, calibration, errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engrain.data_builders.quality.language import language_of
from engrain.data_builders.sources.memora import MemoraSource
from engrain.models.gate.breakdown import by_slice, pr_curve, reliability, slice_names, worst_errors
from engrain.models.gate.evaluation import measure_gate
from engrain.recipes.config import GateData, MemoraData
from engrain.recipes.gate_data import GateRows
from engrain.runtime.html_page import Page
from engrain.runtime.schema import GateExample

_SLICE_COLUMNS = ("turns", "positives", "auprc", "kept_share", "recall", "precision")


def evaluation_document(
    rows: GateRows, data: GateData, scores: NDArray[np.float64], threshold: float, *, errors: int = 20
) -> dict[str, Any]:
    """Measures, slices, reliability, PR curve and errors of scores on a recipe's evaluation rows."""
    labels = [example.label for example in rows.test]
    seen = frozenset(example.target.text for example in rows.train)
    ways = slice_names(rows.test, session_types(data, rows.test), seen)
    languages = [language_of(example.target.text) for example in rows.test]
    if len(set(languages)) > 1:
        ways["language"] = languages
    return {
        "measures": measure_gate(labels, scores, threshold).model_dump(),
        "slices": {
            way: {name: one.model_dump() for name, one in by_slice(labels, scores, threshold, names).items()}
            for way, names in ways.items()
        },
        "reliability": reliability(labels, scores).model_dump(),
        "pr_curve": pr_curve(labels, scores),
        "errors": [error.model_dump() for error in worst_errors(rows.test, scores, threshold, errors)],
    }


def session_types(data: GateData, examples: Sequence[GateExample]) -> dict[str, str]:
    """Session id to Memora's `session_type`; other corpora do not say."""
    if not isinstance(data, MemoraData):
        return {}
    wanted = {example.group for example in examples}
    sessions = MemoraSource(data.root, data.evaluate_split).sessions()
    types = {one.session.id: str(one.metadata.get("session_type") or "") for one in sessions}
    return {name: kind for name, kind in types.items() if name in wanted}


def write_page(document: dict[str, Any], title: str, path: Path) -> Path:
    """The document as one self-contained HTML page."""
    report = Page(title)
    report.table(("measure", "value"), list(document["measures"].items()))
    for way, parts in document["slices"].items():
        report.heading(f"By {way}")
        report.table(
            (way, *_SLICE_COLUMNS),
            [(name or "(none)", *(_shown(part[column]) for column in _SLICE_COLUMNS)) for name, part in parts.items()],
        )
    _curves(report, document)
    report.heading("Errors worth reading")
    report.paragraph("Rejected positives, the surest first, then kept negatives; a text stands once.")
    for error in document["errors"]:
        kind = "missed" if error["label"] else "kept"
        report.hit(error["target"], f"{kind}, p = {error['probability']:.3f}, {error['id']}; after: {error['context']}")
    return report.write(path)


def _curves(report: Page, document: dict[str, Any]) -> None:
    found = document["reliability"]
    report.heading("Calibration")
    report.paragraph(f"Expected calibration error {found['ece']:.4f}, Brier score {found['brier']:.4f}.")

    def draw_reliability(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
        axes.plot(
            [one["mean_probability"] for one in found["bins"]],
            [one["positive_share"] for one in found["bins"]],
            marker="o",
        )
        axes.set_xlabel("probability")
        axes.set_ylabel("share of positives")

    def draw_pr(axes: Any) -> None:
        recall, precision = zip(*document["pr_curve"], strict=True)
        axes.plot(recall, precision)
        axes.set_xlabel("recall")
        axes.set_ylabel("precision")

    report.plot("Reliability in ten bins; the diagonal is perfect", draw_reliability)
    report.plot(f"Precision against recall, AUPRC {document['measures']['auprc']:.4f}", draw_pr)


def _shown(value: object) -> object:
    return "" if value is None else value
