"""The old value is said again and denied, and another of its kind stands beside it: no verb of change is needed.

"Ebba can't make it on Thursday, so squash is on Sunday"; "had said 310 crowns, but the receipt says 370".
"""
# ruff: noqa: E501  (a pattern or table reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.alignment import kinds
from engrain.runtime.consolidation.rules.coverage import TIME_WORDS, trim
from engrain.runtime.consolidation.rules.equal import LIGHT
from engrain.runtime.consolidation.rules.matching import Struck
from engrain.runtime.consolidation.rules.narrowing import is_quantity
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.support import names_topic, of_one_topic, topic

_TAKEN_BACK = re.compile(
    r"\b(?:not|n't|cannot|can't|won't|no longer|isn't|wasn't|had (?:said|told|written|noted|put|given|thought|assumed|quoted)|"
    r"instead of|rather than|wrong(?:ly)?|was (?:a |the )?(?:mistake|typo|slip))\b|n't\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:also|too|as well|another|again|only|just|this week|this time|today|tonight|for once|"
    r"(?:the|my|their|his|her|than) usual)\b",
    re.I,
)


def match_contrast(older: Reading, newer: Reading) -> tuple[Struck, Clause] | None:
    """The older statement when the newer denies its number or day, and gives another one for the same topic."""
    old = [token for token in older.tokens if is_quantity(token)]
    if not old or len(older.sentences) != 1 or _ASIDE.search(newer.masked) or wording.RECURRING.search(newer.masked):
        return None
    gone = {token.norm for token in old}
    if older.parts[0].hedged or not gone & newer.norms:
        return None
    new = [token for token in newer.tokens if is_quantity(token) and token.norm not in older.norms]
    whole, told = older.clause(0, len(older.text)), newer.clause(0, len(newer.text))
    if not new or told.hedged or not kinds(old, whole) <= kinds(new, told):
        return None
    denied = [p for p in newer.parts if gone & p.norms and _TAKEN_BACK.search(p.masked)]
    holding = [p for p in newer.parts if any(p.start <= t.start < p.end for t in new)]
    if not denied or not holding or not _one_thing(older, newer):
        return None
    about = newer.clause(min(denied[0].start, holding[0].start), max(denied[-1].end, holding[-1].end))
    if not of_one_topic(about, new, older, newer):
        return None
    return Struck(*trim(older, 0, len(older.text)), whole=True), about


def takes_back(newer: Reading) -> bool:
    """Whether the record denies something and holds a number or day."""
    return bool(_TAKEN_BACK.search(newer.masked)) and any(is_quantity(token) for token in newer.tokens)


def _one_thing(older: Reading, newer: Reading) -> bool:
    """The newer record says again what the older is about, its names and all but one of its other words."""
    mine = topic(older)
    missing = mine - newer.norms - TIME_WORDS
    named = {t.norm for t in older.tokens if t.named and not is_quantity(t)}
    verbs = {t.norm for t in older.tokens if names_topic(t, older.text)} & LIGHT
    return bool(mine & newer.norms) and not named - newer.norms and len(missing - verbs) <= 1
