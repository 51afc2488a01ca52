"""Prompt compression: a message without its least telling words, so that an extractor reads fewer tokens.

DimMem section 3.2 may put LLMLingua-2 with a keep rate of 0.8 in front of extraction. That is a model of its own; here
a table of English words does the same without one: fillers go first, then articles, then forms of "be" and other
words of form, until the share of words that may go is gone. Everything else stays, names, numbers, times, negations
and pronouns among it, and so does text in another language. What a model is tuned under has to be what it is asked
with, so the rate travels in the bundle.
"""

from __future__ import annotations

import re

from engrain.runtime.errors import InputError

_TIERS: tuple[tuple[str, ...], ...] = (
    # Says nothing: hesitation, hedges, politeness, emphasis.
    (
        *("you know", "i mean", "i guess", "i think", "i suppose", "kind of", "sort of", "by the way", "of course"),
        *("to be honest", "at the end of the day", "as well", "oh", "um", "uh", "er", "hmm", "well", "anyway"),
        *("actually", "basically", "literally", "honestly", "really", "very", "just", "quite", "simply", "please"),
        *("thanks", "hey", "hi", "hello", "okay", "ok", "yeah", "so", "pretty much", "lol", "haha"),
    ),
    ("the", "a", "an"),
    ("is", "are", "am", "was", "were", "be", "been", "being", "that", "which", "there", "also", "then"),
)
"""Words and phrases by the order in which they go."""
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
_SPACES = re.compile(r"\s+")
_LEADING = re.compile(r"^[\s,;:]+|(?<=[.!?])\s*[,;:]")
_LONELY = re.compile(r"(?:\s*,)*\s*([,;:.!?])(?=\s|$)")
_PATTERNS = tuple(
    re.compile(
        rf"(?<![\w'’-])(?:{'|'.join(sorted(map(re.escape, tier), key=len, reverse=True))})(?![\w'’-])", re.IGNORECASE
    )
    for tier in _TIERS
)


def compress(text: str, keep: float) -> str:
    """`text` with at least a share `keep` of its words (0 < keep <= 1), in their order; 1 changes nothing.

    Fewer go where fewer are in the table. Raises `InputError` for a share outside its bounds.
    """
    if not 0.0 < keep <= 1.0:
        raise InputError(f"a keep rate of {keep} is outside its bounds; give a share of words above 0 and up to 1")
    words = len(_WORD.findall(text))
    budget = words - -int(-(words * keep) // 1)
    cuts: list[tuple[int, int]] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            cost = len(match[0].split())
            if cost <= budget and not any(start < match.end() and match.start() < end for start, end in cuts):
                cuts.append(match.span())
                budget -= cost
    return _without(text, cuts) if cuts else text


def _without(text: str, cuts: list[tuple[int, int]]) -> str:
    """The text less its cuts, without the spaces and commas that they leave alone."""
    pieces, at = [], 0
    for start, end in sorted(cuts):
        pieces.append(text[at:start])
        at = end
    joined = _SPACES.sub(" ", "".join([*pieces, text[at:]]))
    return _LONELY.sub(r"\1", _LEADING.sub("", joined)).strip() or text
