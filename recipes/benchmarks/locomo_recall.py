"""Evidence recall on LoCoMo: is the turn that answers a question among the first hits?

    python -m engrain.recipes.benchmarks.locomo_recall LOCOMO_JSON EMBEDDER_BUNDLE
    python -m engrain.recipes.benchmarks.locomo_recall LOCOMO_JSON EMBEDDER_BUNDLE --ablation --cache VECTORS_DB

Every turn of both speakers is stored as given, no gate, no LLM. Two figures: the mean over questions of the share of a
question's evidence turns found (categories 1-4), and the share of single-hop questions with an evidence turn among
the first five. BM25 alone, in the same run, is the baseline of both. `--ablation` turns every knob of the search in
turn, on the conversations that the defaults were tuned on and on no other.
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
from engrain.recipes.benchmarks.systems.cached_embedder import CachedEmbedder
from engrain.runtime.embedding import Embedder, OnnxEmbedder
from engrain.runtime.memory import Memory
from engrain.runtime.retrieval.fusion import Fusion
from engrain.runtime.retrieval.settings import SearchSettings
from engrain.runtime.settings import MemorySettings

ANSWERABLE = (1, 2, 3, 4)
SINGLE_HOP = 4
TUNED_ON = ("conv-26", "conv-30", "conv-41")
BM25_ALONE = SearchSettings.bm25_alone()
DEPTHS = (5, 10, 20)
ABLATION: tuple[tuple[str, SearchSettings], ...] = (
    ("default", SearchSettings()),
    ("no BM25", SearchSettings(lexical_weight=0.0)),
    ("no cosine", SearchSettings(dense_weight=0.0)),
    ("cosine 0.5", SearchSettings(dense_weight=0.5)),
    ("cosine 1.0", SearchSettings(dense_weight=1.0)),
    ("no named speaker", SearchSettings(speaker_weight=0.0)),
    ("named speaker 0.3", SearchSettings(speaker_weight=0.3)),
    ("no length", SearchSettings(length_weight=0.0)),
    ("length 0.1", SearchSettings(length_weight=0.1)),
    ("length 0.4", SearchSettings(length_weight=0.4)),
    ("long from 8 terms on", SearchSettings(full_length=8)),
    ("long from 32 terms on", SearchSettings(full_length=32)),
    ("no neighbours", SearchSettings(neighbour_weight=0.0)),
    ("neighbours 0.25", SearchSettings(neighbour_weight=0.25)),
    ("neighbours 0.5", SearchSettings(neighbour_weight=0.5)),
    ("neighbours 1.0", SearchSettings(neighbour_weight=1.0)),
    ("reach 1", SearchSettings(neighbour_reach=1)),
    ("reach 3", SearchSettings(neighbour_reach=3)),
    ("by anchor and keywords", SearchSettings(from_anchor=True)),
    ("reciprocal rank fusion", SearchSettings(fusion=Fusion.RECIPROCAL)),
    ("ordered (DimMem)", SearchSettings(fusion=Fusion.ORDERED)),
    ("ordered (DimMem), no neighbours", SearchSettings(fusion=Fusion.ORDERED, neighbour_weight=0.0)),
    ("deeper: 200 a route", SearchSettings(depth=200)),
)
"""One knob a row; the dimension route is idle here, since turns as given have no dimensions."""


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
    """Store the conversations as one user each, unless `folder` holds them, and ask their answerable questions."""
    with Memory.open(folder / "locomo.db", embedder=embedder, settings=MemorySettings(search=settings)) as memory:
        for labelled in source.sessions():
            if not memory.turns(user_id=labelled.person, ids=[labelled.session.turns[0].id]):
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
    ablation: Annotated[bool, typer.Option(help="Turn every knob, on the tuning conversations only.")] = False,
    cache: Annotated[Path | None, typer.Option(help="File that keeps vectors for the next run.")] = None,
) -> None:
    """Print recall of BM25 alone and of the default search, or of every knob."""
    model: Embedder = OnnxEmbedder.load(embedder)
    if cache is not None:
        model = CachedEmbedder(model, cache)
    if ablation:
        print_ablation(LocomoSource(data, conversations=TUNED_ON), model)
        return
    source = LocomoSource(data)
    columns = ("conversations", "questions", "recall@5", "recall@10", "recall@20", "single-hop in 5")
    for label, settings in (("BM25 alone", BM25_ALONE), ("default search", SearchSettings())):
        with tempfile.TemporaryDirectory() as folder:
            rows = table(ask(source, model, settings, Path(folder)))
        shown = [(name, count, *(f"{share:.3f}" for share in shares)) for name, count, *shares in rows]
        console.show_table(label, columns, shown)


def print_ablation(source: LocomoSource, embedder: Embedder) -> None:
    """One row a knob: recall at each depth over all questions of the source."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for label, settings in ABLATION:
            answered = ask(source, embedder, settings, Path(folder))
            rows.append((label, *(f"{mean_recall(answered, depth):.3f}" for depth in DEPTHS)))
    console.show_table(f"one knob at a time, {', '.join(TUNED_ON)}", ("setting", "@5", "@10", "@20"), rows)


def _hits(memory: Memory, question: LocomoQuestion) -> tuple[str, ...]:
    result = memory.search(question.question, user_id=question.conversation, top_k=max(DEPTHS))
    return tuple(turn_id for hit in result.results for turn_id in hit.record.source_turn_ids)


if __name__ == "__main__":
    typer.run(main)
