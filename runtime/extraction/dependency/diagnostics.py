"""What SLICE-Mem C.4 measures of an extractor, each defined once.

The paper does not print its definitions of a content token and of a fragment. Here a content token is a word that is
neither a function word nor a stressing adverb (`lexicons.STOP_WORDS`); negations, quantities and amounts count. A
fragment is an entry with a unit that is shorter than three words, breaks off after a function word, leaves a quotation
or bracket open, or is no statement, question or `User noted:` phrase.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from engrain.runtime.extraction.dependency.analysis import Analysis
from engrain.runtime.extraction.dependency.coverage import words
from engrain.runtime.extraction.dependency.lexicons import DANGLING, STOP_WORDS
from engrain.runtime.extraction.dependency.merging import Unit
from engrain.runtime.extraction.dependency.realization import NOTED

SHORT_WORDS = 8
"""Turns with fewer words may well equal their source."""
LONG_WORDS = 15
"""Turns from this many words on are the ones whose length is compared."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
_EDGES = " \t\n.,;:!?\"'“”‘’*"


@dataclass(frozen=True)
class Diagnostics:
    """Rates over a set of turns; shares are of all turns unless said otherwise."""

    turns: int
    empty: float
    fragment: float
    fallback: float
    content_tokens: int
    retention: float
    """Share of source content tokens that the entries hold."""
    units: float
    """Mean units of a turn that has an entry."""
    length_tokens: float
    length_words: float
    length_characters: float
    """Median length of an entry relative to its source, over turns of `LONG_WORDS` and more."""
    equal: float
    """Entries equal to the normalised source: NFKC, lower case, single blanks, no marks at the edges (A.4)."""
    equal_realised: float
    """Entries equal to what the surface route would have stored: the source user-attributed, nothing left out."""
    short: float
    """Turns under `SHORT_WORDS` words."""


def content_tokens(text: str) -> list[str]:
    """The content token occurrences of a text, lower case."""
    return [word for word in words(text) if word not in STOP_WORDS and word.removesuffix("'s") not in STOP_WORDS]


def retained(source: str, entry: str) -> tuple[int, int]:
    """Content token occurrences of `source`, and how many of them `entry` holds as substrings (as A.3 matches)."""
    tokens = content_tokens(source)
    text = entry.lower().replace("’", "'")
    return len(tokens), sum(token in text for token in tokens)


def normalised(text: str) -> str:
    """A text as exact comparison sees it (A.4)."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split()).strip(_EDGES)


def is_fragment(analysis: Analysis) -> bool:
    """Whether a unit of the entry is a fragment, as defined above."""
    units = [unit for trace in analysis.traces for unit in trace.units if unit.text in analysis.entry]
    return any(_breaks_off(unit, analysis) for unit in units or analysis.units)


def _breaks_off(unit: Unit, analysis: Analysis) -> bool:
    text = unit.text
    said = words(text.removeprefix(NOTED))
    if len(said) < 3 - text.startswith(NOTED):
        return True
    if text.count("(") != text.count(")") or text.count('"') % 2:
        return True
    last = analysis.parse.tokens[unit.end - 1] if analysis.parse is not None else None
    if last is not None and last.lower in DANGLING and last.tag in ("DT", "PRP$", "CC"):
        return True
    return not unit.predicates and unit.kind in ("own", "supplied")


def length_ratios(source: str, entry: str) -> tuple[float, float, float]:
    """Length of the entry by the source's: in tokens (words and marks), words, characters."""
    return (
        len(_TOKEN.findall(entry)) / max(1, len(_TOKEN.findall(source))),
        len(entry.split()) / max(1, len(source.split())),
        len(entry) / max(1, len(source)),
    )


def measure(analyses: Sequence[Analysis], surfaces: Sequence[str]) -> Diagnostics:
    """The rates of a set of turns; `surfaces` holds what the surface route gives for each."""
    count = max(1, len(analyses))
    pairs = [(one.text, one.entry) for one in analyses]
    tokens = [retained(source, entry) for source, entry in pairs]
    long = [length_ratios(source, entry) for source, entry in pairs if len(source.split()) >= LONG_WORDS]
    by_measure = list(zip(*long, strict=True)) or [(0.0,)] * 3
    filled = [len(one.units) or 1 for one in analyses if one.entry]
    same = sum(normalised(entry) == normalised(source) for source, entry in pairs)
    same_realised = sum(
        normalised(entry) == normalised(surface) for (_, entry), surface in zip(pairs, surfaces, strict=True)
    )
    content = sum(total for total, _ in tokens)
    return Diagnostics(
        turns=len(analyses),
        empty=sum(not one.entry for one in analyses) / count,
        fragment=sum(is_fragment(one) for one in analyses if one.entry) / count,
        fallback=sum(one.route in ("fallback", "surface") for one in analyses) / count,
        content_tokens=content,
        retention=sum(kept for _, kept in tokens) / max(1, content),
        units=mean(filled) if filled else 0.0,
        length_tokens=median(by_measure[0]),
        length_words=median(by_measure[1]),
        length_characters=median(by_measure[2]),
        equal=same / count,
        equal_realised=same_realised / count,
        short=sum(len(source.split()) < SHORT_WORDS for source, _ in pairs) / count,
    )
