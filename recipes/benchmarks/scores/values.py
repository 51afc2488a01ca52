"""Whether a value is in a text, without an LLM: the ground of the retrieval-level FAMA and of the forgotten share.

A short value must occur word for word, a longer one (the prose of Memora's documents, which no user repeats) with most
of its content words in one entry. Case, punctuation, thousands separators and currency signs do not matter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

SHORT = 6
"""Words up to which a value must occur word for word."""
COVERED = 0.8
"""Share of a longer value's content words that must occur in one entry."""
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+(?:'[^\W\d_]+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_TRAILING_ZERO = re.compile(r"^(\d+)\.0+$")
# fmt: off
_FUNCTION_WORDS = frozenset({
    "a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "with", "and", "or", "from", "as", "is", "are",
    "be", "was", "were", "will", "that", "this", "these", "those", "it", "its", "our", "we", "their", "they",
    "them", "into", "over", "under", "within", "across", "per", "than", "then", "also",
})
# fmt: on


@lru_cache(maxsize=65_536)
def words(text: str) -> tuple[str, ...]:
    """Words and numbers, case folded; `$1,200.00` is `1200`."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    found = _WORD.findall(_THOUSANDS.sub("", plain))
    return tuple(_TRAILING_ZERO.sub(r"\1", word) for word in found)


def occurs(value: str, entries: Sequence[str]) -> bool:
    """Whether one of the entries holds the value."""
    wanted = words(value)
    if not wanted:
        return False
    if len(wanted) <= SHORT:
        run = f" {' '.join(wanted)} "
        return any(run in f" {' '.join(words(entry))} " for entry in entries)
    content = {word for word in wanted if word not in _FUNCTION_WORDS}
    return any(len(content & set(words(entry))) >= COVERED * len(content) for entry in entries)
