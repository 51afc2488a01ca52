"""Texts as word hashes, in NumPy arrays: what duplicates and leaks are found with.

Comparison ignores case, form and punctuation: NFKC, case-folded, words only. In scripts that do not separate words
(Chinese, Japanese, Thai) each character counts as one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Positions = NDArray[np.int64]

_UNSEPARATED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSEPARATED}]|[^\W{_UNSEPARATED}]+(?:['’][^\W{_UNSEPARATED}]+)*")
_ASCII_WORD = re.compile(r"\w+(?:'\w+)*", re.ASCII)
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


def words(text: str) -> list[str]:
    """Words of a text, case-folded."""
    if text.isascii():
        # The same words in six tenths of the time, and most text is of this kind.
        return _ASCII_WORD.findall(text.lower())
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def same_text(text: str) -> str:
    """A key that texts share when they differ only in case, form, white space and punctuation.

    A text without a word, such as an emoji, is its own key.
    """
    return " ".join(words(text)) or text.strip()


@dataclass(frozen=True)
class WordHashes:
    """Word hashes of texts, one after the other: text `i` is `hashes[starts[i]:starts[i + 1]]`."""

    hashes: Hashes
    starts: Positions

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, texts: Positions) -> WordHashes:
        """Some of the texts, in the order given."""
        sizes = np.diff(self.starts)[texts]
        return WordHashes(self.hashes[ranges(self.starts[texts], sizes)], np.concatenate([[0], np.cumsum(sizes)]))

    def grams(self, size: int) -> tuple[Hashes, Positions]:
        """A hash for each run of `size` words inside a text, and the texts that they belong to, in order."""
        if len(self.hashes) < size:
            return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
        count = len(self.hashes) - size + 1
        owners = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))
        inside = owners[:count] == owners[size - 1 :]
        rolled = np.zeros(count, dtype=np.uint64)
        with np.errstate(over="ignore"):
            for offset in range(size):
                rolled = rolled * _BASE + self.hashes[offset : offset + count]
            rolled = (rolled ^ (rolled >> np.uint64(31))) * _MIX
        return rolled[inside], owners[:count][inside]


def ranges(starts: Positions, sizes: Positions) -> Positions:
    """`starts[i], starts[i] + 1, ...`, `sizes[i]` of them, for each `i`, one after the other."""
    offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(np.repeat(starts, sizes) + offsets, dtype=np.int64)


class WordHasher:
    """Turns words into 64-bit hashes that are the same in every process."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, texts: Iterable[str], *, opening: str = "") -> WordHashes:
        """Hash the words of each text, with the word `opening`, when given, before each."""
        known, hashes, starts = self._known, [], [0]
        for text in texts:
            for word in [opening, *words(text)] if opening else words(text):
                value = known.get(word)
                if value is None:
                    value = known[word] = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
                hashes.append(value)
            starts.append(len(hashes))
        return WordHashes(np.array(hashes, dtype=np.uint64), np.array(starts, dtype=np.int64))
