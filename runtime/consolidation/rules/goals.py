"""A goal, limit or budget with another number: it has one value at a time, whatever verb sets it.

"Aims to read 20 pages a day" and "set the bar at 30 pages a day" share neither verb nor noun for the goal; what makes
them one is that both set a value, count in one unit, and are about the same things with nothing left over.
"""
# ruff: noqa: E501  (a pattern or table reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.coverage import TIME_WORDS, trim
from engrain.runtime.consolidation.rules.equal import LIGHT
from engrain.runtime.consolidation.rules.matching import Struck
from engrain.runtime.consolidation.rules.reading import Clause, Reading, people
from engrain.runtime.consolidation.rules.support import UNITS
from engrain.runtime.consolidation.rules.tokens import Token

_GOAL = re.compile(
    r"\b(?:goals?|targets?|budgets?|budgeted|limits?|caps?|capped|allowance|allows?|bar|quota|ceiling|maximum|minimum|cut-?off|"
    r"aims?|aiming|wants? to|tries to|set(?:s|ting)? aside|puts? aside|saves?|curfew|allot\w*|at most|no more than|up to)\b",
    re.IGNORECASE,
)
_SETS = re.compile(
    r"\b(?:set|sets|decided|fixed|agreed|raised|lowered|increased|reduced|cut|changed|upped|bumped|dropped|down|up|new|now|"
    r"wants? to|aims?|allows?|caps?|capped|limited?|from now on|settled on|instead)\b",
    re.IGNORECASE,
)
_SETTING = wording.words(
    "goal target budget limit cap allow bar quota ceil maximum minimum aim want tri set asid put save decid fix agre rais "
    "lower increas reduc cut chang up bump drop down new now settl on go per max min curfew allot give spend most instead"
)
"""Normalised words that set a value and are not what it is for."""
_WHOSE = re.compile(
    r"\b(?:another|second|also|too|for once|today|tonight|this (?:week|month|time|year))\b", re.IGNORECASE
)


def match_goal(older: Reading, newer: Reading) -> tuple[Struck, Clause] | None:
    """The older goal when the newer sets another number for it."""
    if len(older.sentences) != 1 or (_WHOSE.search(newer.masked) and not _WHOSE.search(older.masked)):
        return None
    unit = older.sentences[0]
    if not _GOAL.search(unit.masked) or unit.negative or unit.past_habit:
        return None
    for sentence in newer.sentences:
        if (
            sentence.hedged
            or sentence.negative
            or not (_GOAL.search(sentence.masked) and _SETS.search(sentence.masked))
        ):
            continue
        if people(unit.masked) == people(sentence.masked) and _other_number(unit, sentence):
            return Struck(*trim(older, 0, len(older.text)), whole=True), sentence
    return None


def sets_goal(newer: Reading) -> bool:
    """Whether the record sets a goal, so that it may be another value of one."""
    return bool(_GOAL.search(newer.masked) and _SETS.search(newer.masked))


def _other_number(unit: Clause, sentence: Clause) -> bool:
    """One number each, of one unit and another value, and the same things besides."""
    old, new = _numbers(unit), _numbers(sentence)
    new = [token for token in new if token.norm not in unit.norms] if len(new) > 1 else new
    if len(old) != 1 or len(new) != 1 or old[0].norm == new[0].norm:
        return False
    mine, theirs = _rest(unit), _rest(sentence)
    if not theirs <= mine or {t.norm for t in unit.tokens if t.named and not t.number} - sentence.norms:
        return False
    return len(mine - theirs) <= 1 and bool((mine & theirs) - UNITS or (not mine - UNITS and mine == theirs))


def _numbers(clause: Clause) -> list[Token]:
    return [token for token in clause.tokens if token.number and ":" not in token.norm]


def _rest(clause: Clause) -> set[str]:
    number = {token.norm for token in clause.tokens if token.number}
    return {token.norm for token in clause.tokens} - number - _SETTING - LIGHT - (wording.FRAME_WORDS - TIME_WORDS)
