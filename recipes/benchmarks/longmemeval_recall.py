"""LongMemEval without an LLM: are the answer's sessions found, and are the assistant's words recalled when they should?

    python -m engrain.recipes.benchmarks.longmemeval_recall LONGMEMEVAL_JSON EMBEDDER_BUNDLE --cache VECTORS_DB

User turns become records as given; the assistant's turns are context. Abstentions, whose haystack has no answer, are in
no figure. Three tables: the share of answer sessions among the first distinct sessions of the hits (BM25 alone is the
baseline); the detector of questions about the assistant's words against the item type `single-session-assistant`, as
DimMem's table 6; and the tokens of the packed hits in each mode of assistant recall, as its figure 3.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Annotated

import typer

from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.sources.longmemeval import LongMemEvalQuestion, LongMemEvalSource
from engrain.recipes import console
from engrain.recipes.benchmarks.systems.cached_embedder import CachedEmbedder
from engrain.runtime.embedding import Embedder, OnnxEmbedder
from engrain.runtime.memory import Memory
from engrain.runtime.retrieval.assistant_recall import AssistantRecall
from engrain.runtime.retrieval.cues import needs_assistant
from engrain.runtime.retrieval.fusion import Fusion
from engrain.runtime.retrieval.packing import PackingSettings, pack
from engrain.runtime.retrieval.settings import SearchSettings
from engrain.runtime.settings import MemorySettings

Item = tuple[LongMemEvalQuestion, tuple[LabelledSession, ...]]

ASSISTANT_TYPE = "single-session-assistant"
DEPTHS = (3, 5, 10)
TOP_K = 50
PACKED = 10
"""Hits that an answering model would get."""
SETTINGS: tuple[tuple[str, SearchSettings], ...] = (
    ("BM25 alone", SearchSettings.bm25_alone()),
    ("cosine alone", SearchSettings.bm25_alone().model_copy(update={"lexical_weight": 0.0, "dense_weight": 1.0})),
    ("reciprocal rank fusion", SearchSettings(fusion=Fusion.RECIPROCAL)),
    ("default search", SearchSettings()),
)


@dataclass(frozen=True)
class Answered:
    """A question, the distinct sessions of its hits in order, and the tokens of its first hits by recall mode."""

    question: LongMemEvalQuestion
    sessions: tuple[str, ...]
    tokens: dict[AssistantRecall, int]

    def recall(self, depth: int) -> float:
        """Share of the answer's sessions among the first `depth` distinct ones."""
        evidence = self.question.evidence
        return sum(session in self.sessions[:depth] for session in evidence) / len(evidence)


@dataclass(frozen=True)
class Confusion:
    """What a detector got right and wrong."""

    found: int
    missed: int
    false: int
    rightly_left: int

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN)."""
        return 2 * self.found / max(1, 2 * self.found + self.false + self.missed)


def store(items: Iterable[Item], embedder: Embedder, file: Path) -> None:
    """Store each item's sessions as one user's memory."""
    with Memory.open(file, embedder=embedder) as memory:
        for question, sessions in items:
            for labelled in sessions:
                memory.add(labelled.session.turns, user_id=question.id)


def ask(
    questions: Iterable[LongMemEvalQuestion], embedder: Embedder, settings: SearchSettings, file: Path
) -> list[Answered]:
    """Ask each question of its own memory, on its own date."""
    with Memory.open(file, embedder=embedder, settings=MemorySettings(search=settings)) as memory:
        return [_ask(memory, question) for question in questions]


def mean_recall(answered: Sequence[Answered], depth: int) -> float:
    """Mean over questions of the share of answer sessions among the first `depth`."""
    return sum(one.recall(depth) for one in answered) / len(answered)


def detector(labelled: Iterable[tuple[bool, str]]) -> Confusion:
    """How the rules tell questions about the assistant's words from others."""
    outcomes = [(wanted, needs_assistant(question)) for wanted, question in labelled]
    return Confusion(*(outcomes.count(case) for case in ((True, True), (True, False), (False, True), (False, False))))


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a share, 95% by default (Wilson 1927)."""
    if not trials:
        return 0.0, 1.0
    share, spread = successes / trials, z * z / trials
    centre = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / trials + spread / (4 * trials)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def main(
    data: Annotated[Path, typer.Argument(help="LongMemEval's JSON file.")],
    embedder: Annotated[Path, typer.Argument(help="Folder of an embedder bundle.")],
    cache: Annotated[Path | None, typer.Option(help="File that keeps vectors for the next run.")] = None,
) -> None:
    """Print the three tables."""
    items = [item for item in LongMemEvalSource(data).items() if not item[0].abstention]
    print_detector([question for question, _ in items])
    model: Embedder = OnnxEmbedder.load(embedder)
    if cache is not None:
        model = CachedEmbedder(model, cache)
    rows, answered = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "items.db"
        store(items, model, file)
        for label, settings in SETTINGS:
            answered = ask([question for question, _ in items], model, settings, file)
            rows.append((label, *(f"{mean_recall(answered, depth):.3f}" for depth in DEPTHS)))
    title = f"answer sessions among the first distinct sessions, {len(items)} items"
    console.show_table(title, ("search", *(f"@{depth}" for depth in DEPTHS)), rows)
    print_tokens(answered)


def print_detector(questions: Sequence[LongMemEvalQuestion]) -> None:
    """DimMem's table 6 for the rules."""
    found = detector((one.question_type == ASSISTANT_TYPE, one.question) for one in questions)
    precision = wilson(found.found, found.found + found.false)
    recall = wilson(found.found, found.found + found.missed)
    rows = [
        ("found / missed", f"{found.found} / {found.missed}"),
        ("false / rightly left", f"{found.false} / {found.rightly_left}"),
        ("precision, 95%", f"{precision[0]:.3f} to {precision[1]:.3f}"),
        ("recall, 95%", f"{recall[0]:.3f} to {recall[1]:.3f}"),
        ("F1", f"{found.f1:.3f}"),
    ]
    console.show_table("questions about the assistant's words", ("measure", "value"), rows)


def print_tokens(answered: Sequence[Answered]) -> None:
    """DimMem's figure 3: estimated tokens of the packed hits over all questions, by mode."""
    totals = {mode: sum(one.tokens[mode] for one in answered) for mode in AssistantRecall}
    full = totals[AssistantRecall.ALWAYS]
    rows = [(mode.value, f"{total}", f"{total / full:.3f}") for mode, total in totals.items()]
    console.show_table(f"tokens of {PACKED} hits a question", ("assistant recall", "tokens", "share of always"), rows)


def _ask(memory: Memory, question: LongMemEvalQuestion) -> Answered:
    found = memory.search(question.question, user_id=question.id, top_k=TOP_K, asked_at=question.asked_at)
    # A turn's id is its session's and its number.
    sessions = (hit.record.source_turn_ids[0].rpartition("/")[0] for hit in found.results)
    tokens = {}
    for mode in AssistantRecall:
        hits = memory.search(
            question.question, user_id=question.id, top_k=PACKED, asked_at=question.asked_at, assistant_recall=mode
        )
        tokens[mode] = pack(hits.results, PackingSettings(budget=1_000_000)).tokens
    return Answered(question, tuple(dict.fromkeys(sessions)), tokens)


if __name__ == "__main__":
    typer.run(main)
