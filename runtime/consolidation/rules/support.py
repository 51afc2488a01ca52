"""A second signal before anything is hidden: that both records speak of one thing, and the newer of nothing else.

Cues of change are common and values are alike; what makes two statements one is the words that name their topic. So a
change needs a shared word that is no number, day, unit or verb of change, and the clause that carries the new value
must be about that topic by most of its own words.
"""
# ruff: noqa: E501  (a pattern or table reads best on one line)

from __future__ import annotations

import itertools
import re

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.equal import LIGHT
from engrain.runtime.consolidation.rules.narrowing import OPPOSITE
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.tokens import Token

UNITS = wording.words(
    "euro dollar pound franc crown krone yen percent g gram kilo metr metre ml litr minut hour second day week month year "
    "mile degre total amount"
)
"""Normalised words that measure; equal units make no equal topic."""
_NOUN = re.compile(r"(?:['’]s|\b(?:the|a|an|my|this))\s+(?:[a-z]+\s+)?$", re.IGNORECASE)
"""Before a noun: the night shift is no verb of change."""
_SOURCES = wording.words(
    "ticket receipt watch log invit letter mail plan list note app calendar bill statement label sign card document bank page "
    "print websit look check count thought memori read saw see find turn real befor last time"
)
"""Normalised words for where the right value was found."""
_UNTOPICAL = UNITS | LIGHT | wording.FRAME_WORDS | wording.CORRECTION_WORDS


def names_topic(token: Token, text: str) -> bool:
    """Whether a word says what a statement is about: no number, date, unit, light word or verb of change."""
    if token.number or token.date or token.norm in _UNTOPICAL:
        return False
    return not cues.TURN_CUE.fullmatch(text, token.start, token.end) or bool(_NOUN.search(text[: token.start]))


def topic(reading: Reading) -> frozenset[str]:
    """The words of a record that say what it is about."""
    return frozenset(token.norm for token in reading.tokens if names_topic(token, reading.text))


def shares_topic(older: Reading, newer: Reading) -> bool:
    """Whether both records hold one word that says what they are about, or three that say it together."""
    if topic(older) & newer.norms:
        return True
    return len({t.norm for t in older.tokens if not t.number and not t.date and t.norm in newer.norms}) >= 3


def of_one_topic(clause: Clause, value: list[Token], older: Reading, newer: Reading) -> bool:
    """Whether most words of the clause around a new value, the value aside, are the older record's."""
    own = {token.norm for token in value}
    words = {t.norm for t in clause.tokens if names_topic(t, newer.text) and t.norm not in own} - _SOURCES
    known = words & older.norms
    return not words - known or len(words - known) < len(known)


def untouched(older: Reading, newer: Reading) -> bool:
    """Whether a part of the older record, with a verb of its own, says nothing that the newer record speaks of."""
    if len(older.parts) < 2:
        return False
    own = [(part, {t.norm for t in part.tokens if names_topic(t, older.text)}) for part in older.parts]
    return any(words and not words & newer.norms and _STATES.search(part.masked) for part, words in own)


_STATES = re.compile(
    r"^\W*(?:and |but |also |who )?(?:user |i |they |he |she |it |\w+ )?(?:is|are|has|have|was|were|had|does|do|will|\w{2,}(?:s|ed))\b",
    re.IGNORECASE,
)


def rivals(older: Reading, newer: Reading) -> bool:
    """Whether a noun that both share has another word beside it on either side: summer holidays, winter holidays.

    Beside a value that is said again ("from 9:15 to 10:00") such a pair of words tells two things apart.
    """
    mine, theirs = _beside(older, newer), _beside(newer, older)
    pairs = [{mine[place], theirs[place]} for place in mine.keys() & theirs.keys()]
    return any(len(pair) == 2 and not any(pair <= group for group in OPPOSITE) for pair in pairs)


_SEASON = re.compile(r"\b(?:spring|summer|autumn|winter)\b", re.IGNORECASE)


def other_season(older: Reading, newer: Reading, part: tuple[int, int] | None) -> bool:
    """Whether both name a season, not the same, beside a number that differs: each has a value of its own."""
    if part is not None or not any(token.number for token in newer.tokens if token.norm not in older.norms):
        return False
    mine, theirs = ({word.lower() for word in _SEASON.findall(one.masked)} for one in (older, newer))
    return bool(mine) and bool(theirs) and mine.isdisjoint(theirs)


def _beside(reading: Reading, other: Reading) -> dict[tuple[str, int], str]:
    """For each shared noun the plain word right before (-1) or behind (1) it that the other record lacks."""
    found: dict[tuple[str, int], str] = {}
    for first, second in zip(reading.tokens, reading.tokens[1:], strict=False):
        if reading.text[first.end : second.start] not in {" ", "-", "'s ", "’s "}:
            continue
        for token, noun, side in ((first, second, -1), (second, first, 1)):
            if noun.norm in other.norms and token.norm not in other.norms and _plain_noun(token, noun, reading):
                found[noun.norm, side] = token.norm
    return found


def _plain_noun(token: Token, noun: Token, reading: Reading) -> bool:
    if noun.number or noun.date or token.named or token.number or token.date:
        return False
    surface = reading.text[token.start : token.end]
    return names_topic(token, reading.text) and not surface.endswith(("ed", "ly", "ing"))


def same_slot(mine: tuple[Token, ...], theirs: tuple[Token, ...], older: Reading, newer: Reading) -> bool:
    """Whether right behind one shared word each record has another plain word: writing the thesis, writing the report."""
    return bool(_slots(mine, older, newer) & _slots(theirs, newer, older))


def _slots(found: tuple[Token, ...], reading: Reading, other: Reading) -> set[str]:
    pairs = itertools.pairwise(found)
    return {
        first.norm
        for first, second in pairs
        if first.norm in other.norms
        and second.norm not in other.norms
        and not second.named
        and names_topic(second, reading.text)
        and _ARTICLE.fullmatch(reading.text[first.end : second.start])
    }


_ARTICLE = re.compile(r"\s+(?:the |a |an |my |their )?")
