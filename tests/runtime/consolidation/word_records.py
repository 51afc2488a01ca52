"""Records and an embedder by words, shared by the tests of this folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.schema import MemoryRecord, MemoryType, Scope

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class WordEmbedder:
    """Words hashed into a bag: texts that share words are near. Counts what it embeds."""

    identity = "words@1"
    dimension = 128

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += len(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split():
                vectors[row, hashlib.sha256(word.strip(".,!?'").encode()).digest()[0] % self.dimension] += 1.0
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def make_record(name: str, content: str, day: float = 0, **changes: Any) -> MemoryRecord:
    """A record said `day` days after the start."""
    moment = START + timedelta(days=day)
    values: dict[str, Any] = {
        "id": name,
        "scope": Scope(user_id="ana"),
        "content": content,
        "memory_type": MemoryType.FACT,
        "source_time": moment,
        "ingest_time": moment,
        "source_turn_ids": (f"turn-{name}",),
        "extractor": "as_given",
        "embedder": WordEmbedder.identity,
    }
    return MemoryRecord(**values | changes)
