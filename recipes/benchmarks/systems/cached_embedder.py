"""An embedder that computes each text once: systems and runs share most of their texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engrain.runtime.bundle import text_hash
from engrain.runtime.embedding import Embedder

_LOOKUP = 500
_KEPT_AT_ONCE = 512
"""Texts between two commits: what a killed run loses at most."""


class CachedEmbedder:
    """Wraps an embedder; vectors are kept in a SQLite file by the hash of embedder and text."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self.identity, self.dimension = embedder.identity, embedder.dimension
        self._connection = sqlite3.connect(path, timeout=60)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")
        self.computed = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of the texts, N x D, computed only where none is kept."""
        keys = [text_hash("vector", self.identity, text) for text in texts]
        found = self._find(sorted(set(keys)))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        # Texts of similar length together: a batch is padded to its longest.
        waiting = sorted(missing, key=lambda key: len(missing[key]))
        for start in range(0, len(waiting), _KEPT_AT_ONCE):
            found |= self._compute({key: missing[key] for key in waiting[start : start + _KEPT_AT_ONCE]})
        if not keys:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([found[key] for key in keys])

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _compute(self, missing: dict[str, str]) -> dict[str, NDArray[np.float32]]:
        vectors = self._embedder.embed(list(missing.values()))
        self.computed += len(missing)
        rows = [(key, vector.tobytes()) for key, vector in zip(missing, vectors, strict=True)]
        with self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        return dict(zip(missing, vectors, strict=True))

    def _find(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(keys), _LOOKUP):
            some = keys[start : start + _LOOKUP]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some)
            found |= {key: np.frombuffer(blob, dtype=np.float32) for key, blob in rows}
        return found
