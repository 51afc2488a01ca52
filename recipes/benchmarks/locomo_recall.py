"""Evidence recall on LoCoMo: is the turn that answers a question among the first hits?

    python -m engrain.recipes.benchmarks.locomo_recall LOCOMO_JSON EMBEDDER_BUNDLE

Every turn of both speakers is stored as given, no gate, no LLM. Two figures: the mean over questions of the share of a
question's evidence turns found (categories 1-4), and the share of single-hop questions with an evidence turn among
the first five. BM25 alone, in the same run, is the baseline of both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from engrain.data_builders.sources.locomo import LocomoQuestion, LocomoSource
from engrain.recipes import console
from engrain.runtime.embedding import Embedder, OnnxEmbedder
from engrain.runtime.memory import Memory
from engrain.runtime.retrieval.search import SearchSettings
from engrain.runtime.settings import MemorySettings

ANSWERABLE = (1, 2, 3, 4)
SINGLE_HOP = 4
TUNED_ON = ("conv-26", "conv-30", "conv-41")
BM25_ALONE = SearchSettings.bm25_alone()
DEPTHS = (5, 10, 20)


@dataclass(frozen=True)
class Answered:
    """A question and the source turns of its hits, best first."""

    question: LocomoQuestion
    found: tuple[str, ...]

    def recall(self, depth: int) -> float:
        """Share of the evidence turns among the first `depth` hits."""
        evidence = self.question.evidence
        return sum(turn_id in self.found[:depth] for turn_id in evidence) / len(evidence)


def ask(source: LocomoSource, embedder: Embedder, settings: SearchSettings, folder: Path) -> list[Answered]:
    """Store the conversations as one user each, and ask their answerable questions that have evidence."""
    with Memory.open(folder / "locomo.db", embedder=embedder, settings=MemorySettings(search=settings)) as memory:
        for labelled in source.sessions():
            memory.add(labelled.session.turns, user_id=labelled.person)
        return [
            Answered(question, _hits(memory, question))
            for question in source.questions()
            if question.category in ANSWERABLE and question.evidence
        ]


def mean_recall(answered: Iterable[Answered], depth: int) -> float:
    """Mean over questions of the share of evidence turns among the first `depth` hits."""
    shares = [one.recall(depth) for one in answered]
    return sum(shares) / len(shares)


def found_share(answered: Iterable[Answered], depth: int) -> float:
    """Share of questions with at least one evidence turn among the first `depth` hits."""
    found = [one.recall(depth) > 0 for one in answered]
    return sum(found) / len(found)


def table(answered: Sequence[Answered]) -> list[tuple[str, int, float, float, float, float]]:
    """Rows: conversations, questions, recall at 5, 10, 20, single-hop questions answered within 5."""
    names = sorted({one.question.conversation for one in answered})
    groups = {
        "conv-26": ("conv-26",),
        "tuned on (" + ", ".join(TUNED_ON) + ")": TUNED_ON,
        "others": tuple(name for name in names if name not in TUNED_ON),
        "all": tuple(names),
    }
    rows = []
    for label, members in groups.items():
        chosen = [one for one in answered if one.question.conversation in members]
        single = [one for one in chosen if one.question.category == SINGLE_HOP]
        if chosen:
            at_5, at_10, at_20 = (mean_recall(chosen, depth) for depth in DEPTHS)
            rows.append((label, len(chosen), at_5, at_10, at_20, found_share(single, 5)))
    return rows


def main(
    data: Annotated[Path, typer.Argument(help="LoCoMo's JSON file.")],
    embedder: Annotated[Path, typer.Argument(help="Folder of an embedder bundle.")],
) -> None:
    """Print recall of BM25 alone and of the default search."""
    source, model = LocomoSource(data), OnnxEmbedder.load(embedder)
    columns = ("conversations", "questions", "recall@5", "recall@10", "recall@20", "single-hop in 5")
    for label, settings in (("BM25 alone", BM25_ALONE), ("default search", SearchSettings())):
        with tempfile.TemporaryDirectory() as folder:
            rows = table(ask(source, model, settings, Path(folder)))
        shown = [(name, count, *(f"{share:.3f}" for share in shares)) for name, count, *shares in rows]
        console.show_table(label, columns, shown)


def _hits(memory: Memory, question: LocomoQuestion) -> tuple[str, ...]:
    result = memory.search(question.question, user_id=question.conversation, top_k=max(DEPTHS))
    return tuple(turn_id for hit in result.results for turn_id in hit.record.source_turn_ids)


if __name__ == "__main__":
    typer.run(main)
