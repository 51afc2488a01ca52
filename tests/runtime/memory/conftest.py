"""Stand-ins for models: deterministic, instant, and recording what they were given."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engrain.runtime.extraction.parsing import ParseResult, parse_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.memory import Memory
from engrain.runtime.schema import Utterance, WindowStyle

DIMENSION = 64


class HashingEmbedder:
    """Words hashed into a bag: texts that share words are near."""

    def __init__(self, identity: str = "hashing@1", dimension: int = DIMENSION) -> None:
        self.identity = identity
        self.dimension = dimension
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split():
                digest = hashlib.sha256(word.strip(".,!?").encode("utf-8", "replace")).digest()
                vectors[row, digest[0] % self.dimension] += 1.0
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


class KeywordGate:
    """Admits turns with the word "I"; remembers every pair that it scored."""

    k = 2
    threshold = 0.5

    def __init__(self) -> None:
        self.batches: list[list[tuple[list[str], str]]] = []

    def score(self, pairs: Sequence[tuple[Sequence[Utterance], Utterance]]) -> NDArray[np.float64]:
        self.batches.append([([said.text for said in context], target.text) for context, target in pairs])
        return np.array([0.9 if "I " in target.text else 0.1 for _, target in pairs])


class ScriptedExtractor:
    """Answers each window with what `script` makes of it, read by the real parser."""

    identity = "scripted@1"

    def __init__(
        self,
        script: Callable[[Window], str],
        style: WindowStyle = WindowStyle.LONGMEMEVAL,
        size: int = 4,
        overlap: int = 1,
    ) -> None:
        self.script, self.style, self.size, self.overlap = script, style, size, overlap
        self.windows: list[Window] = []

    def extract(self, windows: Sequence[Window]) -> list[ParseResult]:
        self.windows.extend(windows)
        return [parse_records(self.script(window), window) for window in windows]


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
def gate() -> KeywordGate:
    return KeywordGate()


@pytest.fixture
def make_extractor() -> Callable[..., ScriptedExtractor]:
    return ScriptedExtractor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def open_memory(path: Path, embedder: HashingEmbedder) -> Iterator[Callable[..., Memory]]:
    opened: list[Memory] = []

    def make(**changes: Any) -> Memory:
        memory = Memory.open(path, **({"embedder": embedder} | changes))
        opened.append(memory)
        return memory

    yield make
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[..., Memory]) -> Memory:
    return open_memory()
