"""Whether one of two statements is about a narrower thing than the other: the work laptop, the budget of the trip."""
# ruff: noqa: E501  (a table reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.equal import LIGHT
from engrain.runtime.consolidation.rules.reading import Clause
from engrain.runtime.consolidation.rules.tokens import Token, normalise

_JOINS = re.compile(
    r"\s+(?:with|for|about|of|from|to|in|at|on)\s+(?:the\s+|a\s+|an\s+|my\s+|their\s+|user's\s+)?", re.I
)
_OPPOSITES = (
    "short long brief detailed", "strong mild weak", "hot cold warm", "small big large", "early late", "open closed", "dark light milk",
    "sweet salty savoury", "quiet loud", "formal informal casual", "morning evening afternoon night lunchtime", "window aisle",
    "black white", "red white", "single married engaged divorced widowed separated", "vegan vegetarian", "on off", "positive negative", "left right",
    "car train bus bike tram metro ferry foot", "full-time part-time", "remote onsite hybrid", "paper digital", "fast slow", "cheap expensive",
)  # fmt: skip
OPPOSITE = [frozenset(normalise(word) for word in group.split()) for group in _OPPOSITES]


def narrowed(lost: list[Token], gained: list[Token], topic: frozenset[str], unit: Clause, sentence: Clause) -> bool:
    """Whether one of the two is about a narrower thing: the work laptop, the budget of the trip, the weekend."""
    named = wording.WEEKDAYS
    lost, gained = not_opposite(lost, gained), not_opposite(gained, lost)
    odd = {t.norm for t in (*lost, *gained)}
    acting = {t.norm for t in gained if acts(t, sentence)}
    if odd & (cues.SCOPES - named) or ((odd - acting) & wording.PEOPLE - topic and not topic & wording.PEOPLE):
        return True
    if wording.RECURRING.search(sentence.masked) and not wording.RECURRING.search(unit.masked):
        return True
    return _modified(gained, topic, sentence) or _modified(lost, topic, unit)


def acts(token: Token, sentence: Clause) -> bool:
    """The landlord who raised the rent changes its value, not its topic."""
    behind = sentence.masked[token.end - sentence.start :]
    return bool(re.match(rf"\s+(?:has |have |just )*(?:{cues.TURN_CUE.pattern})", behind, re.IGNORECASE))


def not_opposite(these: list[Token], those: list[Token]) -> list[Token]:
    """Without words whose opposite is on the other side: those are the value itself."""
    other = {token.norm for token in those}
    return [t for t in these if not any(t.norm in group and other & group for group in OPPOSITE)]


def _modified(odd: list[Token], topic: frozenset[str], clause: Clause) -> bool:
    """A word of one side only right before a shared noun, or joined to it by a preposition without being a value."""
    new = {token.start: token for token in odd}
    for first, second in zip(clause.tokens, clause.tokens[1:], strict=False):
        between = clause.text[first.end - clause.start : second.start - clause.start]
        if (
            first.start in new
            and second.norm in topic
            and not second.named
            and between in (" ", "-")
            and not plays(first)
        ):
            return True
        joined = first.norm in topic and not first.named and second.start in new and not is_quantity(second)
        if joined and _JOINS.fullmatch(between) and not second.named:
            return True
    return False


def plays(token: Token) -> bool:
    """A verb or word of change before a noun narrows nothing; "work" and "home" do."""
    if token.norm in {"work", "home"}:
        return False
    return (
        bool(cues.TURN_CUE.fullmatch(token.norm))
        or token.norm in LIGHT | wording.FRAME_WORDS
        or token.norm.endswith("ed")
        or token.number
    )


def is_quantity(token: Token) -> bool:
    """A number, a month or a weekday."""
    return token.number or token.date
