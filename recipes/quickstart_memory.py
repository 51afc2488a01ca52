"""The quickstart's memory: held-out people's sessions go in, their questions are asked, evidence recall comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engrain.data_builders.shipped import Question, QuestionKind, ShippedCorpus
from engrain.recipes import console
from engrain.recipes.evidence_recall import Asked, credited_turns, mean_recall, recall_by_kind
from engrain.runtime.memory import Memory, MemorySettings
from engrain.runtime.retrieval.search import SearchSettings
from engrain.runtime.schema import Hit

DEPTH = 10
CUTS = (5, 10)
MEMORY, EVERY_TURN, BM25 = "memory", "every user turn, no gate", "BM25 alone, every user turn"
BM25_ALONE = MemorySettings(search=SearchSettings.bm25_alone())


@dataclass
class Answers:
    """Questions with hits, by system, and what ingestion counted."""

    by_system: dict[str, tuple[Asked, ...]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def recall(self, system: str, k: int) -> float:
        """Mean evidence recall of the first `k` hits over the questions that have evidence."""
        return mean_recall(self.by_system[system], k)

    def table(self) -> list[tuple[str, float, float]]:
        """System, recall at 5, recall at 10."""
        return [(system, self.recall(system, CUTS[0]), self.recall(system, CUTS[1])) for system in self.by_system]

    def kinds(self, system: str) -> dict[str, float]:
        """Recall at 5 by kind of question."""
        return recall_by_kind(self.by_system[system], CUTS[0])


def ask_held_out(corpus: ShippedCorpus, people: Sequence[str], bundles: Path, folder: Path) -> Answers:
    """Fill a new memory file with the people's sessions through gate and extractor, and ask their questions.

    Beside it: the same search over every user turn, without a gate and an extractor, and BM25 alone over the same
    turns. Questions that cannot be answered have no evidence and are left out of recall.
    """
    answers, embedder = Answers(), bundles / "embedder"
    stores = {name: folder / f"{name}.db" for name in ("memory", "every-turn")}
    for store in stores.values():
        remove_store(store)
    with Memory.open(
        stores["memory"], embedder=embedder, gate=bundles / "gate", extractor=bundles / "extractor"
    ) as memory:
        answers.counts = _ingest(memory, corpus, people)
        answers.by_system[MEMORY] = _ask(memory, corpus, people)
    with Memory.open(stores["every-turn"], embedder=embedder) as memory:
        _ingest(memory, corpus, people)
        answers.by_system[EVERY_TURN] = _ask(memory, corpus, people)
    with Memory.open(stores["every-turn"], embedder=embedder, settings=BM25_ALONE) as memory:
        answers.by_system[BM25] = _ask(memory, corpus, people)
    return answers


def remove_store(path: Path) -> None:
    """Delete a memory file with its write-ahead log."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _ingest(memory: Memory, corpus: ShippedCorpus, people: Sequence[str]) -> dict[str, int]:
    """Add every person's turns, one add a person: the extractor then answers many windows in one batch."""
    totals: Counter[str] = Counter()
    with console.progress("ingesting") as advance:
        for done, person in enumerate(people, start=1):
            turns = [turn for labelled in corpus.sessions_of(person) for turn in labelled.session.turns]
            totals.update(memory.add(turns, user_id=person).counts())
            advance(done, len(people))
    return dict(totals)


def _ask(memory: Memory, corpus: ShippedCorpus, people: Sequence[str]) -> tuple[Asked, ...]:
    replies = credited_turns([turn for labelled in corpus.sessions for turn in labelled.session.turns])
    asked = []
    for question in corpus.questions_of(people):
        if question.kind is QuestionKind.UNANSWERABLE:
            continue
        result = memory.search(question.question, user_id=question.user_id, top_k=DEPTH)
        asked.append(_asked(question, result.results, replies))
    return tuple(asked)


def _asked(question: Question, hits: tuple[Hit, ...], replies: Mapping[str, str]) -> Asked:
    evidence = tuple(dict.fromkeys(replies.get(turn, turn) for turn in question.evidence))
    return Asked(question.id, question.kind.value, question.question, question.answer, evidence, hits)
