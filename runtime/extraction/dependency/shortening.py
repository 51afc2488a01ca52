"""Words inside a statement that may go without a change of what it says (ours; SLICE-Mem 3.2: concise entries).

Stress, degree in front of a comparative, and the comma behind a fronted adverb. Negations, hedges and what they weaken
are never touched, and neither is a word inside a quotation (`rewriting.py` sees to that).
"""

from __future__ import annotations

from engrain.runtime.extraction.dependency.lexicons import FILLERS, INTENSIFIERS, POLARITY, TIME_ADVERBS
from engrain.runtime.extraction.dependency.parse import Parse

_DEGREES = frozenset({"much", "even", "far", "way"})
"""Left out, with a "so" before them, in front of a comparative: "so much more profound" is "more profound"."""
_FRONTED = (TIME_ADVERBS - {"never"}) | {"sometimes", "specifically", "then", "personally", "overall", "instead"}
_JOINING = frozenset({"but", "and", "so"})


def shortenings(parse: Parse, start: int, end: int) -> frozenset[int]:
    """Tokens of [start, end) to leave out."""
    found = set()
    for index in range(start, end):
        token = parse.tokens[index]
        if token.text == ",":
            if _after_fronted(parse, index, start, end):
                found.add(index)
            found.update(_candour(parse, index, end))
        elif token.lower in _STRESSES and is_filler(parse, index, start, end):
            found.add(index)
        elif token.lower in _DEGREES and _before_comparative(parse, index, start, end):
            found.add(index)
            if index > start and parse.tokens[index - 1].lower == "so":
                found.add(index - 1)
        elif token.lower == "too" and _words_before(parse, index, start) in (("a", "bit"), ("a", "little")):
            found.update((index - 2, index - 1))
    return frozenset(found)


def _words_before(parse: Parse, index: int, start: int) -> tuple[str, ...]:
    return tuple(parse.tokens[at].lower for at in range(index - 2, index)) if index - 2 >= start else ()


_STRESSES = FILLERS | INTENSIFIERS


def _after_fronted(parse: Parse, comma: int, start: int, end: int) -> bool:
    """Whether the comma only sets off one adverb in front of its clause: "…, but lately, I …"."""
    adverb = comma - 1
    if adverb < start or parse.tokens[adverb].lower not in _FRONTED or comma + 1 >= end:
        return False
    opens = adverb == start or parse.tokens[adverb - 1].lower in _JOINING or parse.tokens[adverb - 1].text == ","
    return opens and parse.tokens[comma + 1].tag in ("PRP", "PRP$", "DT", "EX")


def _candour(parse: Parse, comma: int, end: int) -> range:
    """ ", to be honest" and its like behind a statement."""
    for phrase in _CANDOUR:
        stop = comma + 1 + len(phrase)
        closes = stop >= end or (stop < len(parse.tokens) and parse.tokens[stop].text in ",.!;")
        if closes and stop <= end and tuple(parse.tokens[at].lower for at in range(comma + 1, stop)) == phrase:
            return range(comma, stop)
    return range(0)


_CANDOUR = (("to", "be", "honest"), ("you", "know"), ("of", "course"), ("honestly",), ("by", "the", "way"))


def _before_comparative(parse: Parse, index: int, start: int, end: int) -> bool:
    if index + 1 >= end or parse.tokens[index + 1].tag not in ("JJR", "RBR"):
        return False
    first = index - 1 if index > start and parse.tokens[index - 1].lower == "so" else index
    if first == start:
        return True
    before = parse.tokens[first - 1].lower
    return before not in POLARITY and before not in ("how", "as", "too", "that", "this")


def _after_polarity(parse: Parse, index: int, start: int) -> bool:
    """A stress that a negation or hedge before it weakens means something: "not really", "might just"."""
    if index == start:
        return False
    before = parse.tokens[index - 1]
    return before.lower in POLARITY or before.tag in ("IN", "DT") or before.lower in ("so", "too", "how")


def _so_that(parse: Parse, index: int, end: int) -> bool:
    """ "so tired that …": the degree has a consequence."""
    words = [token.lower for token in parse.tokens[index + 1 : end]]
    return parse.tokens[index].lower == "so" and (
        "that" in words or words[:1] in (["much"], ["many"], ["far"], ["long"])
    )


def is_filler(parse: Parse, index: int, start: int, end: int) -> bool:
    """An adverb that only stresses ("actually", "really"): not after a negation, not before a number or conjunction."""
    token = parse.tokens[index]
    if token.tag != "RB":
        return False
    if token.lower in INTENSIFIERS and index + 1 < end and parse.tokens[index + 1].tag in ("JJ", "RB"):
        return not _after_polarity(parse, index, start) and not _so_that(parse, index, end)
    if token.lower not in FILLERS:
        return False
    if index + 1 >= end:
        return index > start and parse.tokens[index - 1].text == ","
    if _after_polarity(parse, index, start):
        return False
    following = parse.tokens[index + 1]
    if token.lower == "just" and following.tag in ("IN", "DT", "WRB", "WP"):
        return False  # "just before", "just a": the word limits what follows.
    return following.tag not in ("CD", "$", "CC", ".") and following.lower != "as"
