"""Whether a window supports what a record says: shares of words, in any script, of one text that stand in others.

Used where teachers' records are filtered, where rewards are given and where an extractor is evaluated: the same
measure everywhere. Inflection is forgiven by comparing the beginnings of words; letters of scripts without spaces are
words of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractedRecord

SUPPORTED = 0.5
"""Share of a dimension's content words that must stand in the window."""
CHECKED = ("location", "reason", "purpose", "keywords")
"""Dimensions that are words of the window. A time is worked out from a timestamp, so its words prove nothing."""
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_BEGINNING = 5
_EMPTY = (
    "a an the and or of to in on at for from with by as is are was were be been it its this that because so user his "
    "her their he she they him them who which s"
)
_EMPTY_WORDS = frozenset(_EMPTY.split())


def content_words(text: str) -> list[str]:
    """The words of a text that carry content, as beginnings of lower-cased words; all of them when none does."""
    words = [word.lower() for word in _WORD.findall(text)]
    kept = [word for word in words if word not in _EMPTY_WORDS] or words
    return [word[:_BEGINNING] for word in kept]


def support(text: str, sources: Iterable[str]) -> float:
    """Share of the content words of `text` that stand in the sources, 0 to 1; 1 for a text without words."""
    words = content_words(text)
    if not words:
        return 1.0
    known = {word for source in sources for word in content_words(source)}
    return sum(word in known for word in words) / len(words)


def unsupported_dimensions(record: ExtractedRecord, window: Window, least: float = SUPPORTED) -> tuple[str, ...]:
    """Names of the filled dimensions whose words the window does not hold; its speakers' names count as words."""
    sources = [part for turn in window.turns for part in (turn.text, turn.speaker)]
    found = []
    for name in CHECKED:
        value = getattr(record.dimension, name)
        text = " ".join(value) if isinstance(value, tuple) else value
        if text and support(text, sources) < least:
            found.append(name)
    return tuple(found)
