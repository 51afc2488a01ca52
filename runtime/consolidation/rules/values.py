"""A named attribute with a new value: budgets, goals, deadlines, schedules, providers, statuses.

The newer record must say that the value changed, or is the value now; the attribute must be the same with its period,
project and owner; and the older record must hold another value of the same kind (a time for a time, a sum for a sum).
"""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.coverage import residue, trim
from engrain.runtime.consolidation.rules.matching import Struck
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.vetoes import crossed

_CHANGED = (
    r"(?:rais|increas|lower|reduc|cut|chang|set|updat|revis|switch|upgrad|downgrad|mov|push|postpon|reschedul|rebook|"
    r"bump|extend|shorten|adjust|drop|brought|shift|transfer|renam)\w*"
)
_END = r"(?=\s*(?:,(?!\d)|[;!?]|\.(?:\s|$)|\binstead\b|\bafter\b|\bbecause\b|\bfrom\b|$))"
_NEW: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:User's|The|My)\s+(?P<attr>[^,.;!?]+?)\s+(?:is|are|leaves|starts|takes place|meets)\s+now\s+(?:(?:on|at|in|for)\s+)?(?P<value>.+?){_END}",
        rf"\b(?:User's|The|My)\s+(?P<attr>[^,.;!?]+?)\s+(?:these days|nowadays|now|currently|at the moment)\s+(?:is|are)\s+(?P<value>.+?){_END}",
        rf"\b(?:these days|nowadays|now|since then|from now on|currently),?\s+(?:User's|the|my)\s+(?P<attr>[^,.;!?]+?)\s+(?:is|are)\s+(?P<value>.+?){_END}",
        r"^\W*(?:new|updated|current)\s+(?P<attr>[\w' -]{3,40}):\s*(?P<value>.+?)\.?$",
        rf"\b(?:User's|The|My)\s+new\s+(?P<attr>[^,.;!?]+?)\s+(?:is|are)\s+(?:now\s+)?(?P<value>.+?){_END}",
        rf"\b(?:User's|The|My)\s+(?P<attr>[^,.;!?]+?)\s+(?:was\s+|were\s+|has been\s+|is\s+|got\s+)?{_CHANGED}\s+(?:(?:back|up|down|forward|on)\s+)?(?:to|until)\s+(?P<value>.+?){_END}",
        rf"\b(?:User|I)\s+(?:(?:has|have|just|would like to|wants to|wanted to|decided to)\s+)*{_CHANGED}\s+(?:the\s+|a\s+|my\s+|their\s+|this\s+)?(?!new\b)(?P<attr>[^,.;!?]+?)\s+(?:back\s+|up\s+|down\s+)?(?:to|for|at|until)\s+(?P<value>.+?){_END}",
        rf"\b(?:User|I)\s+(?:has\s+|have\s+)?(?:set|made|chose|agreed)\s+(?:(?:a|the|my|their)\s+)?new\s+(?P<attr>[^,.;!?]+?)\s+(?:of|at|for|to)\s+(?P<value>.+?){_END}",
        rf"\b(?:User|I)\s+(?:has\s+|have\s+)?(?:switched|changed|moved)\s+(?:over\s+)?to\s+(?P<value>[^,.;!?]+?)\s+as\s+(?:the\s+|my\s+|their\s+)?(?P<attr>.+?){_END}",
        r"\b(?:User|I)\s+(?:has|have|got)\s+a\s+new\s+(?P<attr>[^,.;!?]+?),\s+(?P<value>[^,.;!?]+)",
    )
)
_HELD = re.compile(
    r"\b(?:User's|The|My|User and \w+'s)\s+(?P<attr>[^,;!?]+?)\s+(?:is|are|was|leaves|starts|takes place|meets|ends|"
    r"closes|opens)\s+(?:now\s+)?(?P<value>.+)",
    re.IGNORECASE,
)
_NAMED_THING = re.compile(
    r"(?P<thing>(?:the )?[A-Z][\w'’-]*(?: [\w'’-]+)*?) (?:to|for|until|at|on) (?P<value>[^A-Z]*\d.*|.*)"
)
_MEASURED = frozenset({"money", "date", "clock", "number"})
_LABELLED = re.compile(r"\W*(?P<attr>[\w' -]{3,40}):\s*(?P<value>.+)")
_BARE = re.compile(
    r"(?!User\b|I\b|We\b|It\b|There\b)(?P<attr>[A-Z][^,;!?]+?)\s+(?:is|are|ends|closes|opens)\s+(?P<value>.+)"
)
_TURNED = re.compile(
    r"(?P<value>[^,;!?]+?)\s+(?:is|are)\s+(?:User's|my)\s+(?P<attr>favou?rite [^,;!?.]+|go-to [^,;!?.]+)", re.IGNORECASE
)
"""The value first: "saffron risotto is my favourite dish"."""
OPTIONAL = wording.words("new goal target aim want need current status level number total amount this the own")
"""Words of an attribute that may stand on one side only: a step goal is what somebody wants to walk."""
_ADDING = re.compile(r"(?:also )?(?:includ|add|be |hav|mak|reflect|show|say)", re.IGNORECASE)
_UNIT = re.compile(r"(\d[\d,.:]*)(?:\s*(am|pm|a\.m\.|p\.m\.)|\s+([a-z]+))?", re.IGNORECASE)
_MONTH_OR_DAY = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{4}-\d{2}-\d{2}|\d{1,2}(?:st|nd|rd|th))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """An attribute and the stretch of text that holds its value."""

    attribute: frozenset[str]
    value: Clause
    anchor: Clause


def new_settings(newer: Reading) -> Iterator[Setting]:
    """Attributes that the record gives a changed or current value."""
    if newer.foreign:
        return
    for sentence in newer.sentences:
        if sentence.hedged or sentence.past_habit:
            continue
        for pattern in _NEW:
            for match in pattern.finditer(newer.masked, sentence.start, sentence.end):
                attribute, value = newer.clause(*match.span("attr")).norms, newer.clause(*match.span("value"))
                if (named := _NAMED_THING.match(value.masked)) and _kinds(named["value"], named["value"]) & _MEASURED:
                    # "rebooked the flight to Oslo for 5 October": the place belongs to the thing, not to the value.
                    attribute |= newer.clause(value.start, value.start + named.start("value")).norms
                    value = newer.clause(value.start + named.start("value"), value.end)
                if not _too_vague(attribute, match[0]) and not _ADDING.match(match["value"]):
                    yield Setting(attribute, value, newer.clause(*match.span()))


def _too_vague(attribute: frozenset[str], text: str) -> bool:
    """ "The budget" may be of anything; "User's address" and "the lunch budget" are not vague."""
    return not attribute - OPTIONAL - wording.GENERIC_NOUNS and not re.match(
        r"(?:User's|My)\b|User (?:has|switched)\b", text
    )


def match_setting(setting: Setting, older: Reading, newer: Reading) -> Struck | None:
    """Where the older record gives this attribute another value of the same kind, or None."""
    wanted = setting.attribute - OPTIONAL
    if not wanted or wanted <= cues.MANY or setting.value.norms <= older.norms:
        return None
    for unit in (*older.parts, *older.sentences):
        if (unit.hedged and not wording.FUTURE.search(unit.masked)) or unit.past_habit or unit.negative:
            continue
        if wanted <= unit.norms and not crossed(unit, setting.anchor) and _same_scope(setting, unit, older, newer):
            start, end = trim(older, unit.start, unit.end)
            return Struck(start, end, whole=not residue(older, start, end, newer))
    return None


def _same_scope(setting: Setting, unit: Clause, older: Reading, newer: Reading) -> bool:
    value = _held_value(unit, older, setting)
    if value is unit and _kinds(setting.value.masked, setting.value.text) <= {"name", "words"}:
        return False  # a drive to the office says nothing of where the office is
    # An appointment's day that changes leaves its hour unknown: a value of several kinds is outdated by all of them.
    if value is None or not _kinds(value.masked, value.text) <= _kinds(setting.value.masked, setting.value.text):
        return False
    rest = unit.norms - setting.attribute - value.norms - newer.norms - OPTIONAL
    rest -= _wanted_verb(unit)
    # "Application deadline for the grant": with two words of the attribute, one word more names no other thing.
    return not rest or (len(rest) == 1 and len(setting.attribute - OPTIONAL) > 1 and value is not unit)


def _held_value(unit: Clause, older: Reading, setting: Setting) -> Clause | None:
    """The stretch with the older value: behind the verb, or, where no verb of being is, everything that is not the
    attribute."""
    found = (
        (_LABELLED.match(older.masked[unit.start : unit.end]) and _LABELLED.match(older.masked))
        or _TURNED.search(older.masked, unit.start, unit.end)
        or _HELD.search(older.masked, unit.start, unit.end)
        or _BARE.match(older.masked, unit.start, unit.end)
    )
    if found is None:
        return unit
    # "User's status of the project is X": the attribute must be on the left side.
    left = older.clause(*found.span("attr"))
    extra = setting.attribute - OPTIONAL - left.norms
    value = older.clause(*found.span("value"))
    return value if not extra or extra <= value.norms else None


def _wanted_verb(unit: Clause) -> frozenset[str]:
    """The verb in `wants to walk 8,000 steps`, which a goal's name leaves out."""
    found = re.search(r"\b(?:wants?|goal is|aims?|plans?|hopes?|needs?) to (\w+)", unit.masked)
    if not found:
        return frozenset()
    return frozenset(t.norm for t in unit.tokens if unit.start + found.start(1) <= t.start < unit.start + found.end(1))


def _kinds(masked: str, text: str) -> set[str]:
    """What a value is: money, a clock time, a date, a number of something, a quotation, a name, or plain words."""
    kinds: set[str] = set()
    if re.search(r"[$€£]|\b(?:euros?|dollars?|pounds?)\b", text):
        kinds.add("money")
    if _MONTH_OR_DAY.search(text):
        kinds.add("date")
    for number, half, unit in _UNIT.findall(text):
        if ":" in number or half or re.search(rf"\bat {re.escape(number)}\b", text):
            kinds.add("clock")
        elif "date" not in kinds and "money" not in kinds:
            before = re.search(rf"(\w+)\s+{re.escape(number)}", text)
            kinds.add(
                "number" if unit or not before or before[1].lower() in {"is", "of", "to", "at"} else f"{before[1]}"
            )
    if "_" in masked:
        kinds.add("quotation")
    if not kinds:
        kinds.add("name" if re.search(r"(?<!^)\b[A-Z]\w+|^[A-Z]\w+", text.strip()) else "words")
    return kinds
