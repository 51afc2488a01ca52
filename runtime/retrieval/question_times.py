"""Explicit time conditions of a question, resolved against the day it was asked (DimMem section 3.3).

A condition is a relation and a half-open interval: `on` and `between` mean inside it, `before` and `after` strictly
outside it, `around` within 3, 31 or 366 days of a day, a month or a year. Words that name a date only in the speaker's
life ("before I moved") are no condition, and neither is a number without a preposition ("my 2015 Corolla").
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from engrain.runtime.retrieval.time_forms import FORMS, READERS, Days
from engrain.runtime.schema import TimeConstraint

_NEEDS_PREPOSITION = frozenset({"year", "month", "weekday", "span_back"})
"""Forms that a name or a number could be too ("May", "a 2015 car", "on Sundays")."""
_POINT = "|".join(f"(?P<{name}>{form})" for name, form in FORMS.items())
_LEAD = (
    r"(?P<relation>between|from|since|ever since|before|prior to|after|following|later than|earlier than|until|till|"
    r"up to|by|around|about|near|roughly|within|throughout|during|over|through|in|on|of|at|for|to|and)"
)
_CLAUSE = re.compile(rf"\b(?:{_LEAD} )?(?:the end of )?(?:{_POINT})", re.IGNORECASE)
_RELATIONS = {
    "before": "before", "prior to": "before", "earlier than": "before", "until": "before", "till": "before",
    "up to": "before", "by": "before", "after": "after", "following": "after", "later than": "after",
    "around": "around", "about": "around", "near": "around", "roughly": "around",
}  # fmt: skip


_LEADS_OF_A_MONTH = frozenset(
    {"in", "since", "before", "after", "during", "until", "till", "by", "from", "between", "of", "around", "through"}
)
"""What may stand before the name of a month without a year: "about April" and "to June" are about people."""
_ALSO_WORDS = frozenset({"may", "mar", "sun", "sat"})
"""Short names that are words too when they are not capitalised."""
_JOINTS = frozenset({"and", "to", "through", "until", "till", "up to", "-"})
"""Between the two ends of a range."""


@dataclass(frozen=True, slots=True)
class _Found:
    lead: str
    form: str
    days: Days
    around: bool
    start: int
    end: int


def time_constraints(question: str, asked_at: datetime) -> tuple[TimeConstraint, ...]:
    """Every condition in the order of the question, in the zone of `asked_at`."""
    text = " ".join(question.replace("\u2019", "'").split())
    zone, today = asked_at.tzinfo or UTC, asked_at.date()
    found = [one for match in _CLAUSE.finditer(text) if (one := _read(match, today))]
    constraints: list[TimeConstraint] = []
    skip = False
    for place, one in enumerate(found):
        if skip:
            skip = False
            continue
        other = found[place + 1] if place + 1 < len(found) else None
        gap = text[one.end : other.start].strip(" ,").lower() if other else ""
        if other and one.lead in {"between", "from"} and _joins(gap, other.lead):
            first = _with_year_of(one.days, other.days)
            constraints.append(_constraint("between", (first[0], other.days[1]), zone))
            skip = True
        elif one.lead not in {"to", "and"} or one.form not in _NEEDS_PREPOSITION:
            constraints.append(_single(one, today, zone))
    return tuple(constraints)


def _joins(gap: str, lead: str) -> bool:
    return gap in _JOINTS or (not gap and lead in _JOINTS)


def _with_year_of(first: Days, second: Days) -> Days:
    """ "Between May 5 and May 9, 2023": the year is said once, at the end."""
    if first[0] <= second[0]:
        return first
    for year in (second[0].year, second[0].year - 1):
        try:
            moved = tuple(day.replace(year=year) for day in first)
        except ValueError:
            continue
        if moved[0] <= second[0]:
            return (moved[0], moved[1])
    return first


def _single(one: _Found, today: date, zone: tzinfo) -> TimeConstraint:
    if one.lead in {"since", "ever since", "from"}:
        return _constraint("between", (one.days[0], max(today, one.days[1])), zone)
    if one.around and one.lead not in {"before", "after"}:
        return _constraint("around", one.days, zone)
    if one.form == "span_back":
        return _constraint("between", one.days, zone)
    relation = _RELATIONS.get(one.lead)
    if relation:
        return _constraint(relation, one.days, zone)
    # A period that is under way lasts up to the question (DimMem A.1: "this year").
    under_way = one.days[0] <= today < one.days[1]
    if under_way:
        return _constraint("between", (one.days[0], today), zone)
    whole = one.form in {"shifted", "season_year", "decade"} and not _is_calendar_period(one.days)
    return _constraint("between" if whole else "on", one.days, zone)


def _is_calendar_period(days: Days) -> bool:
    first, last = days
    month = last == date(first.year, first.month, monthrange(first.year, first.month)[1]) and first.day == 1
    return first == last or month or (first == date(first.year, 1, 1) and last == date(first.year, 12, 31))


def _constraint(relation: str, days: Days, zone: tzinfo) -> TimeConstraint:
    after = days[1] + timedelta(days=1)
    return TimeConstraint(
        relation=relation,
        start=datetime(days[0].year, days[0].month, days[0].day, tzinfo=zone),
        end=datetime(after.year, after.month, after.day, tzinfo=zone),
    )


def _read(match: re.Match[str], today: date) -> _Found | None:
    form = next(name for name in FORMS if match.group(name) is not None)
    lead = (match["relation"] or "").lower()
    said = match.group(form)
    if form in _NEEDS_PREPOSITION and not lead:
        return None
    if form == "month" and lead not in _LEADS_OF_A_MONTH:
        return None
    if form in {"month", "weekday"} and said[:3].islower() and said[:3] in _ALSO_WORDS:
        return None
    try:
        days = READERS[form](said.lower().replace(".", ""), today)
    except (ValueError, OverflowError):
        return None
    if days is None:
        return None
    around = form == "ago" and not re.search(r"\bdays?\b", said)
    return _Found(lead, form, days, around, match.start(), match.end())
