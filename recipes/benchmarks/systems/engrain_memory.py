"""Engrain's variants: which turns are admitted, who writes records, whether it consolidates, how it searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engrain.recipes.benchmarks.suites.suite import Question
from engrain.recipes.benchmarks.systems.system import Found, shown_time
from engrain.runtime.bundle import text_hash
from engrain.runtime.embedding import Embedder
from engrain.runtime.extraction.extractor import Extractor
from engrain.runtime.gate import Gate
from engrain.runtime.memory import Memory
from engrain.runtime.retrieval.surface import spoken
from engrain.runtime.schema import Hit, Role, Session, Turn
from engrain.runtime.settings import MemorySettings

STORE = "memory.db"


class EngrainMemory:
    """One variant. `marked` (turn id to released label) stands in for a gate: an oracle, and named so in the table."""

    exercised = "whole"

    def __init__(
        self,
        name: str,
        embedder: Embedder,
        *,
        gate: Gate | None = None,
        extractor: Extractor | None = None,
        marked: Callable[[str], bool] | None = None,
        consolidates: bool = False,
        settings: MemorySettings | None = None,
    ) -> None:
        self.name = name
        self._embedder, self._gate, self._extractor, self._marked = embedder, gate, extractor, marked
        self._consolidates, self._settings = consolidates, settings or MemorySettings()

    def identity(self) -> dict[str, Any]:
        """Bundles, settings and switches."""
        return {
            "engrain": self._settings.model_dump(mode="json"),
            "embedder": self._embedder.identity,
            "gate": text_hash(self._gate.manifest.model_dump_json()) if self._gate else None,
            "threshold": self._gate.threshold if self._gate else None,
            "extractor": self._extractor.identity if self._extractor else None,
            "marked": self._marked is not None,
            "consolidates": self._consolidates,
        }

    def construct(self, group: str, sessions: Sequence[Session], folder: Path) -> dict[str, int]:
        """Add session by session, as an agent would."""
        totals: Counter[str] = Counter()
        with self._open(folder) as memory:
            for session in sessions:
                turns = [turn for turn in session.turns if self._given(turn)]
                if turns:
                    totals.update(memory.add(turns, user_id=group).counts())
        return dict(totals)

    def consolidate(self, group: str, folder: Path) -> dict[str, int] | None:
        """Status changes by relation."""
        if not self._consolidates:
            return None
        with self._open(folder) as memory:
            changes = memory.consolidate(user_id=group)
        counts = Counter(change.relation.value for change in changes)
        return {"changes": sum(counts.values()), **counts}

    def retrieve(self, group: str, folder: Path, questions: Sequence[Question], depth: int) -> list[list[Found]]:
        """Search with the question as it is asked."""
        with self._open(folder) as memory:
            return [
                [
                    _found(hit)
                    for hit in memory.search(
                        question.question, user_id=group, top_k=depth, asked_at=question.asked_at
                    ).results
                ]
                for question in questions
            ]

    def _given(self, turn: Turn) -> bool:
        return self._marked is None or turn.role is not Role.USER or self._marked(turn.id)

    def _open(self, folder: Path) -> Memory:
        return Memory.open(
            folder / STORE,
            embedder=self._embedder,
            gate=self._gate,
            extractor=self._extractor,
            settings=self._settings,
        )


def _found(hit: Hit) -> Found:
    """A hit as a reader sees it: who said it, its mark when it is outdated, and the reply that was recalled."""
    record = hit.record
    text = spoken(record.source_speaker, hit.memory)
    if hit.reply is not None:
        text += f"\nassistant: {hit.reply.text}"
    return Found(text, record.source_turn_ids, shown_time(record.source_time), hit.score)
