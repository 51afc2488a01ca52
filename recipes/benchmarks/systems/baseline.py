"""Plain baselines over user turns as they were said: BM25, dense, both by reciprocal rank fusion, and everything.

None of Engrain's retrieval is used here: lower-cased words, no stemming, no stop list, no neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engrain.recipes.benchmarks.suites.suite import Question
from engrain.recipes.benchmarks.systems.system import Found, remembered_turns, shown_time, told
from engrain.runtime.embedding import Embedder
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Session

Method = Literal["bm25", "dense", "rrf", "full-context"]
RRF_K = 60
_WORD = re.compile(r"\w+")
_FILE = "turns.json"


class Baseline:
    """One of the plain methods. `full-context` returns every turn in order of time."""

    exercised = "retriever over turns as given"

    def __init__(self, name: str, method: Method, embedder: Embedder) -> None:
        self.name, self.method, self._embedder = name, method, embedder

    def identity(self) -> dict[str, Any]:
        """The method and, where it matters, the embedder."""
        return {"baseline": self.method, "embedder": self._embedder.identity if self._dense else ""}

    @property
    def _dense(self) -> bool:
        return self.method in ("dense", "rrf")

    def construct(self, group: str, sessions: Sequence[Session], folder: Path) -> dict[str, int]:
        """Keep the user turns, and for the dense methods their vectors."""
        turns = remembered_turns(sessions)
        rows = [[turn.id, told(turn), shown_time(turn.timestamp)] for turn in turns]
        if self._dense:
            np.save(folder / "vectors.npy", self._embedder.embed([text for _, text, _ in rows]))
        (folder / _FILE).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        return {"turns": len(rows), "records": len(rows)}

    def consolidate(self, group: str, folder: Path) -> None:
        """A baseline has no such stage."""
        return

    def retrieve(self, group: str, folder: Path, questions: Sequence[Question], depth: int) -> list[list[Found]]:
        """The ranking of every question."""
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        rank = self._ranker(folder, [text for _, text, _ in rows])
        depth = len(rows) if self.method == "full-context" else depth
        return [
            [Found(rows[place][1], (rows[place][0],), rows[place][2], score) for place, score in ranked[:depth]]
            for ranked in (rank(question.question) for question in questions)
        ]

    def _ranker(self, folder: Path, texts: list[str]) -> Callable[[str], list[tuple[int, float]]]:
        if self.method == "full-context":
            return lambda question: [(place, 0.0) for place in range(len(texts))]
        scorers: list[Callable[[str], NDArray[np.float32]]] = []
        if self.method in ("bm25", "rrf"):
            scorers.append(bm25_scorer(texts))
        if self._dense:
            vectors = np.load(folder / "vectors.npy")
            scorers.append(lambda question: np.asarray(vectors @ self._embedder.embed([question])[0]))
        return lambda question: _ranked([score(question) for score in scorers])


def bm25_scorer(texts: Sequence[str]) -> Callable[[str], NDArray[np.float32]]:
    """BM25 (k1 1.2, b 0.75) by the library bm25s over lower-cased words."""
    try:
        import bm25s
    except ImportError:
        raise InputError("the BM25 baseline needs the package bm25s; pip install 'engrain[bench]'") from None
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index([_words(text) for text in texts], show_progress=False)

    def score(question: str) -> NDArray[np.float32]:
        known = [word for word in _words(question) if word in index.vocab_dict]
        if not known:
            return np.zeros(len(texts), dtype=np.float32)
        return np.asarray(index.get_scores(known), dtype=np.float32)

    return score


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _ranked(scores: list[NDArray[np.float32]]) -> list[tuple[int, float]]:
    """Places by score; several scores are fused by reciprocal rank."""
    if len(scores) == 1:
        fused = scores[0].astype(float)
    else:
        fused = np.zeros(len(scores[0]))
        for one in scores:
            ranks = np.empty(len(one))
            ranks[np.argsort(-one, kind="stable")] = np.arange(1, len(one) + 1)
            fused += 1 / (RRF_K + ranks)
    order = np.argsort(-fused, kind="stable")
    return [(int(place), float(fused[place])) for place in order]
