"""Whether a turn is in the language that the parsers know. A turn in another one is kept as it is."""

from __future__ import annotations

import re

from engrain.runtime.extraction.dependency.lexicons import ENGLISH_WORDS, FOREIGN_WORDS

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LATIN_END = "\u024f"
FEWEST_FOREIGN = 2
"""Function words of another language from which a turn may be in it (ours)."""


def is_english(text: str) -> bool:
    """Judge by script and function words; a turn without evidence counts as English."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    if not words:
        return True
    letters = sum(map(len, words))
    latin = sum(1 for word in words for letter in word if letter <= _LATIN_END or "\u1e00" <= letter <= "\u1eff")
    if latin * 2 < letters:
        return False
    english = sum(word in ENGLISH_WORDS for word in words)
    if english * 4 >= len(words):
        foreign = max(sum(word in listed for word in words) for listed in FOREIGN_WORDS.values())
        return english >= foreign
    foreign = max(sum(word in listed for word in words) for listed in FOREIGN_WORDS.values())
    return foreign < FEWEST_FOREIGN or foreign <= english
