"""States that exclude each other: residence, relationship status, number of children (SLICE-Mem A.4).

Preferences are not among them: liking one thing never ends liking another.
"""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re
from dataclasses import dataclass

from engrain.runtime.consolidation.rules import quantities, wording
from engrain.runtime.consolidation.rules.reading import Clause, Reading

_PLACE = r"(?P<value>(?:the )?[A-Z][\w'’.-]*(?:,? (?:[A-Z][\w'’-]*|de|la|upon|am|an der))*)"
_STATES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("residence", re.compile(rf"\b(?:lives?|living|resid(?:es|ing)|(?:is|am|'m) based|settled)(?: now)? in {_PLACE}")),
    ("residence", re.compile(rf"\b(?P<moved>moved|relocated|has moved|is moving)(?: back)?(?: from {_PLACE.replace('value', 'left')})?(?: back)? to {_PLACE}")),
    ("residence", re.compile(
        rf"\b(?:lives?|living|rents?|has a room|shares? a|is renting)\b(?! in [A-Z])(?: (?!in [A-Z])[a-zà-ÿ'’-]+){{1,7}} in {_PLACE}")),
    ("residence", re.compile(
        rf"\b(?P<moved>moved)(?: in| out)? (?:into|to|in with)(?: (?!in [A-Z])[\w'’-]+){{1,7}} in {_PLACE}")),
    ("residence", re.compile(
        rf"\b(?P<moved>got|found|bought|has|have)(?: (?:a|an|my|their|his|her|our|own|new|place|flat|house|apartment|room|of)){{2,6}} in {_PLACE}(?= and (?:has |have )?moved)")),
    ("relationship status", re.compile(
        r"\b(?:is|are|got|became|has been)(?: now| recently| just)* (?P<value>single|engaged|married|divorced|widowed|separated|in a relationship)\b(?!-| in | with the | in$)")),
    ("relationship status", re.compile(
        r"\b(?:has|have) no (?P<value>partner|girlfriend|boyfriend|wife|husband)\b")),
    ("relationship status", re.compile(r"\b(?:User|I|We) (?:has |have |just )*(?P<value>married)\b")),
    ("number of children", re.compile(
        r"\b(?:has|have)(?: now)? (?P<value>\d+|no|one|two|three|four|five|six|seven|eight) (?:children|kids|child)\b(?! in\b| at\b| over\b)")),
    ("workplace", re.compile(r"\b(?:(?P<now>now works?|works? now)|works?) (?:at|for) (?P<value>(?:the |a |an )?\w[^,.;]*?)(?=\s*(?:[,.;]|\band\b|\bas\b|$))")),
)  # fmt: skip
_SUBJECT = re.compile(
    r"^(?:\W*(?:in \w+ )?(?:user|i|we)\b(?! ?['’]s)(?! and)|\W*(?:and|but|now|is|lives?|has|moved|plays)\b|\W*user and [A-Z]\w+\b)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class State:
    """An attribute of the user with its value, the words that say so, and whether they tell of a transition."""

    attribute: str
    value: str
    start: int
    end: int
    transition: bool
    digits: bool = True
    left: str = ""
    now: bool = False


def states(reading: Reading, units: tuple[Clause, ...] | None = None) -> list[State]:
    """The states that a record asserts of the user, as true, now."""
    if reading.foreign or reading.subject_people:
        return []
    found: list[State] = []
    for unit in units or (*reading.parts, *reading.sentences):
        if (
            unit.hedged
            or (unit.negative and not _HAS_NONE.search(unit.masked))
            or unit.past_habit
            or wording.FUTURE.search(unit.masked)
        ):
            continue
        if not _SUBJECT.search(unit.masked):
            continue
        for attribute, pattern in _STATES:
            for match in pattern.finditer(reading.masked, unit.start, unit.end):
                found.append(_state(attribute, match))
    return list(dict.fromkeys(found))


def single_state(reading: Reading) -> State | None:
    """The state of a record that says nothing else: what the deterministic pass of A.4 handles."""
    if len(reading.parts) != 1:
        return None
    found = states(reading)
    if len(found) != 1 or not found[0].digits or found[0].attribute == "workplace":
        return None
    state = found[0]
    extra = {token.norm for token in reading.tokens if token.end <= state.start or token.start >= state.end}
    return state if not extra - wording.FRAME_WORDS - _DATES else None


_HAS_NONE = re.compile(
    r"\b(?:has|have) no (?:children|kids|partner|girlfriend|boyfriend|wife|husband)\b", re.IGNORECASE
)
_PARTLY = re.compile(
    r"\b(?:during|in (?:the )?(?:winter|summer|spring|autumn|fall)|weekends?|weekdays?|temporar\w*|part of|while|"
    r"for (?:a|an|the|one|two|three|four|five|six|\d+) (?:days?|nights?|weeks?|weekend))\b",
    re.IGNORECASE,
)
_AT_WORK = re.compile(
    r"\b(?:job|team|department|role|company|position|as an?|engineer|firm|office|project|app|tool)\b", re.I
)
_DATES = wording.words(
    "january february march april may june july august september october november december"
) | frozenset(str(number) for number in [*range(1, 32), *range(1950, 2101)])


def _state(attribute: str, match: re.Match[str]) -> State:
    raw = match["value"].strip(" ,.").casefold()
    raw = "single" if raw in {"partner", "girlfriend", "boyfriend", "wife", "husband"} else raw
    value = quantities.NUMBER_WORDS.get(raw, "0" if raw == "no" else raw)
    transition = bool(match.groupdict().get("moved")) or bool(re.search(r"\b(?:got|became|back)\b", match[0]))
    end = match.start() + len(match[0].rstrip(" ,."))
    groups = match.groupdict()
    digits = attribute != "number of children" or raw.isdigit()
    left = (groups.get("left") or "").strip(" ,.").casefold()
    return State(attribute, value, match.start(), end, transition, digits, left, bool(groups.get("now")))


def ends(new: State, old: State, newer: Reading) -> bool:
    """Whether a newer state ends an older one: the only value there can be, not another beside it, nor for a while."""
    if old.attribute != new.attribute or old.value == new.value or new.left not in ("", old.value):
        return False
    if wording.SECOND.search(newer.masked) or _PARTLY.search(newer.masked):
        return False
    if new.attribute == "workplace":
        return (
            new.now
            and new.value not in {"home", "night", "nights", "the office"}
            and not wording.RECURRING.search(newer.masked)
        )
    return not (new.attribute == "residence" and _AT_WORK.search(newer.masked))
