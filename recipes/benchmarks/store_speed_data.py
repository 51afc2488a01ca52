"""Records for the store's speed benchmark: real turns with their vectors, extended by small perturbations.

Texts are LoCoMo's turns, then LongMemEval's distinct user turns, up to `REAL_TURNS`; their vectors are the embedder's.
Record n beyond them repeats real turn n mod R, its copy's number at the end of the text, with the vector
(v + SPREAD * g) / |v + SPREAD * g|, g a standard normal direction of length 1 in expectation, seeded by `SEED`.
Questions are LoCoMo's, with the embedder's vectors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engrain.data_builders.sources.locomo import LocomoSource
from engrain.runtime.embedding import Embedder
from engrain.runtime.errors import InputError

REAL_TURNS = 5_000
QUESTIONS = 300
SPREAD = 0.25
SEED = 20261130
_CHUNK = 100_000

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Material:
    """Real turns and questions with their vectors, R x D and Q x D."""

    texts: tuple[str, ...]
    vectors: Vectors
    questions: tuple[str, ...]
    question_vectors: Vectors

    def text(self, number: int) -> str:
        """The text of record `number`."""
        copy, turn = divmod(number, len(self.texts))
        return f"{self.texts[turn]} ({copy})" if copy else self.texts[turn]

    def extended(self, count: int) -> Vectors:
        """Vectors of the first `count` records, N x D."""
        real, dimension = self.vectors.shape
        rows: Vectors = self.vectors[np.arange(count) % real]
        generator = np.random.default_rng(SEED)
        for start in range(real, count, _CHUNK):
            part = rows[start : start + _CHUNK]
            noise = generator.standard_normal(part.shape, dtype=np.float32)
            part += noise * np.float32(SPREAD / np.sqrt(dimension))
            part /= np.linalg.norm(part, axis=1, keepdims=True)
        return rows


def load_material(data: Path, embedder: Embedder, cache: Path | None = None) -> Material:
    """Read the data folder (`locomo/locomo5.json`, `longmemeval/`), embed, and keep the vectors in `cache`."""
    texts, questions = _texts(data), _questions(data)
    if cache is not None and cache.is_file():
        with np.load(cache) as kept:
            if kept["identity"] == embedder.identity and len(kept["vectors"]) == len(texts):
                return Material(texts, kept["vectors"], questions, kept["questions"])
    vectors, asked = embedder.embed(texts), embedder.embed(questions)
    if cache is not None:
        np.savez(cache, identity=np.array(embedder.identity), vectors=vectors, questions=asked)
    return Material(texts, vectors, questions, asked)


def _texts(data: Path) -> tuple[str, ...]:
    path = data / "locomo" / "locomo5.json"
    if not path.is_file():
        raise InputError(f"there is no {path}; name the folder that holds locomo/locomo5.json")
    texts = [
        f"{turn.speaker}: {turn.text}" for labelled in LocomoSource(path).sessions() for turn in labelled.session.turns
    ]
    for file in sorted((data / "longmemeval").glob("*.json")):
        for item in json.loads(file.read_text(encoding="utf-8")):
            for session in item["haystack_sessions"]:
                texts += [turn["content"] for turn in session if turn["role"] == "user" and turn["content"].strip()]
    return tuple(dict.fromkeys(texts))[:REAL_TURNS]


def _questions(data: Path) -> tuple[str, ...]:
    source = LocomoSource(data / "locomo" / "locomo5.json")
    return tuple(question.question for question in source.questions())[:QUESTIONS]
