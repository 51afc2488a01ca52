"""What the quickstart shows: tables and example questions in the terminal, and one HTML page with plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engrain.recipes import console
from engrain.recipes.evidence_recall import Asked
from engrain.recipes.quickstart_memory import BM25, EVERY_TURN, MEMORY
from engrain.runtime.html_page import Page
from engrain.runtime.schema import Hit

if TYPE_CHECKING:
    from engrain.recipes.quickstart import Outcome

GATE_COLUMNS = ("turns", "positive", "AUPRC", "threshold", "kept share", "recall", "precision")
EXTRACTION_COLUMNS = ("windows", "valid JSON", "records", "gold", "precision", "recall", "F1")
_EXTRACTION_FIELDS = ("windows", "valid_json", "predicted", "gold", "precision", "recall", "f1")
SHOWN_HITS = 3


def show(outcome: Outcome, examples: int) -> None:
    """Print the tables and the example questions."""
    console.show_table("gate, held-out people", GATE_COLUMNS, [gate_row(outcome)])
    console.show_table("extractor, held-out windows", ("system", *EXTRACTION_COLUMNS), extraction_rows(outcome))
    console.show_table("evidence recall, held-out questions", ("system", "at 5", "at 10"), outcome.answers.table())
    console.show_fields("ingestion", dict(outcome.answers.counts))
    for asked in chosen_examples(outcome.answers.by_system[MEMORY], examples):
        console.show_table(
            f"{asked.question}  (expected: {asked.answer})",
            ("", "memory", "from"),
            [(number, hit.record.content, provenance(hit)) for number, hit in enumerate(asked.hits[:SHOWN_HITS], 1)],
        )
    console.show_fields("seconds", outcome.seconds | {"all": sum(outcome.seconds.values())})


def write_report(path: Path, outcome: Outcome, examples: int) -> Path:
    """Write the HTML page and return its path."""
    page = Page("Engrain quickstart")
    page.paragraph(
        "A salience gate and a dimensional extractor, trained on some people of the shipped corpus, remember the "
        "sessions of people they never saw. The corpus is small and written for this purpose: the figures show that "
        "the path works, not how good it gets."
    )
    _gate_part(page, outcome)
    _extractor_part(page, outcome)
    _memory_part(page, outcome, examples)
    page.heading("Time")
    page.table(("stage", "seconds"), list(outcome.seconds.items()))
    return page.write(path)


def gate_row(outcome: Outcome) -> tuple[object, ...]:
    """The gate's measures in the order of `GATE_COLUMNS`."""
    gate = outcome.gate
    return (gate.turns, gate.positives, gate.auprc, gate.threshold, gate.kept_share, gate.recall, gate.precision)


def extraction_rows(outcome: Outcome) -> list[tuple[object, ...]]:
    """A row a system in the order of `EXTRACTION_COLUMNS`."""
    return [(name, *(score[field] for field in _EXTRACTION_FIELDS)) for name, score in outcome.extraction.items()]


def chosen_examples(asked: Sequence[Asked], count: int) -> list[Asked]:
    """Questions of different kinds, in file order."""
    by_kind = {question.kind: question for question in reversed(asked)}
    return list(by_kind.values())[::-1][:count]


def provenance(hit: Hit) -> str:
    """Who said it, when, in which turn."""
    record = hit.record
    return f"{record.source_speaker}, {record.source_time:%Y-%m-%d %H:%M}, {', '.join(record.source_turn_ids)}"


def _gate_part(page: Page, outcome: Outcome) -> None:
    page.heading("Gate")
    page.table(GATE_COLUMNS, [gate_row(outcome)])
    labels, scores = outcome.gate_labels, outcome.gate_scores

    def histogram(axes: Any) -> None:
        kept = [score for score, label in zip(scores, labels, strict=True) if label]
        dropped = [score for score, label in zip(scores, labels, strict=True) if not label]
        axes.hist([dropped, kept], bins=20, range=(0, 1), label=["not worth keeping", "worth keeping"])
        axes.axvline(outcome.gate.threshold, color="black", linestyle=":", label="threshold")
        axes.set(xlabel="admission probability", ylabel="user turns")
        axes.legend()

    def curve(axes: Any) -> None:
        from sklearn.metrics import precision_recall_curve

        precision, recall, _ = precision_recall_curve(labels, scores)
        axes.plot(recall, precision)
        axes.axhline(outcome.gate.prevalence, color="grey", linestyle=":", label="prevalence")
        axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
        axes.legend()

    page.plot("Scores of held-out user turns by authored label.", histogram)
    page.plot("Precision and recall at every threshold.", curve)
    page.plot("Validation loss (BCE) while training.", _loss(outcome.gate_history, "bce"))


def _extractor_part(page: Page, outcome: Outcome) -> None:
    page.heading("Extractor")
    page.paragraph("Records match gold one to one: same source message, cosine of contents at least 0.8.")
    page.table(("system", *EXTRACTION_COLUMNS), extraction_rows(outcome))
    page.plot("Validation loss (nats a target token) while tuning.", _loss(outcome.extractor_history, "loss"))


def _memory_part(page: Page, outcome: Outcome, examples: int) -> None:
    page.heading("Memory")
    page.table(("system", "evidence recall at 5", "at 10"), outcome.answers.table())
    page.table(("ingestion", "count"), list(outcome.answers.counts.items()))
    systems = (MEMORY, EVERY_TURN, BM25)
    kinds = {system: outcome.answers.kinds(system) for system in systems}
    page.table(
        ("recall at 5 by kind", *systems),
        [(kind, *(kinds[system][kind] for system in systems)) for kind in kinds[MEMORY]],
    )
    for asked in chosen_examples(outcome.answers.by_system[MEMORY], examples):
        page.heading(asked.question)
        page.paragraph(f"Expected: {asked.answer}. Evidence: {', '.join(asked.evidence)}.")
        for hit in asked.hits[:SHOWN_HITS]:
            page.hit(hit.record.content, f"{provenance(hit)} · score {hit.score:.4f}")


def _loss(history: Sequence[dict[str, Any]], name: str) -> Any:
    def draw(axes: Any) -> None:
        axes.plot([entry["step"] for entry in history], [entry[name] for entry in history], marker="o")
        axes.set(xlabel="optimiser step", ylabel=name)

    return draw
