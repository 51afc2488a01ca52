"""Time expressions resolved against the timestamp of their message, in the forms that a record's time field allows.

`dateparser` reads calendar dates and distances ("14 September", "3 weeks ago"); what it answers too finely (a month, a
week, a year) is given in the grain that was said. Repeated times ("on Sundays") and durations have no date.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import lru_cache

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = "|".join([*_MONTHS, *(name[:3] for name in _MONTHS), "sept"])
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LEAD = re.compile(
    r"^(?:(?:in|on|at|by|since|until|till|from|during|around|about|before|after|early|late|mid|the|of)[ -])+"
)
_REPEATED = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|annually|weekends|weekdays|mornings|evenings|nights|"
    r"per|a (?:day|week|month|year)|(?:mon|tues|wednes|thurs|fri|satur|sun)days)\b"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTH_ONLY = re.compile(rf"(?:(last|past|this|next|coming|following) )?({_MONTH})\.?(?:,? (?:of )?((?:19|20)\d\d))?")
_SHIFTED = re.compile(
    r"(last|past|this|next|coming|following) (week|weekend|month|year|spring|summer|fall|autumn|winter)"
)
_DAY_WORDS = {"today": 0, "tonight": 0, "yesterday": -1, "last night": -1, "tomorrow": 1, "the day after tomorrow": 2}
_PART_OF_DAY = re.compile(
    r"(?:this|earlier this|later this) (?:morning|afternoon|evening)|(?:earlier|later) today|(?:early|late) today"
)
_WEEKDAY = re.compile(
    rf"(?:(last|past|this|next|coming|following) )?({'|'.join(_WEEKDAYS)})(?: (?:morning|afternoon|evening|night))?"
)
_DISTANCE = re.compile(
    r"(?:(in|within) )?(\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|a couple(?: of)?) "
    r"(day|week|month|year)s?(?: (ago|from now|later|back))?"
)
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_CALENDAR = re.compile(rf"\b(?:{_MONTH})\b|\d{{1,4}}[/.-]\d{{1,2}}(?:[/.-]\d{{1,4}})?", re.IGNORECASE)
_SEASONS = {"spring": (3, 5), "summer": (6, 8), "fall": (9, 11), "autumn": (9, 11), "winter": (12, 2)}


def resolve(phrase: str, moment: datetime, *, past: bool) -> str:
    """`phrase` as `YYYY`, `YYYY-MM`, `YYYY-MM-DD` or a range; empty when it names no date.

    `past` tells which way an incomplete date looks ("in March" of a past tense is the last one).
    """
    return _resolve(" ".join(phrase.lower().split()), moment.date(), past)


@lru_cache(maxsize=4096)
def _resolve(phrase: str, day: date, past: bool) -> str:
    if _REPEATED.search(phrase):
        return ""
    bare = _LEAD.sub("", phrase).strip(" ,.")
    if _YEAR.fullmatch(bare):
        return bare
    if bare in _DAY_WORDS:
        return (day + timedelta(days=_DAY_WORDS[bare])).isoformat()
    if _PART_OF_DAY.fullmatch(phrase.strip()):
        return day.isoformat()
    if match := _SHIFTED.fullmatch(bare):
        return _shifted(match[1], match[2], day)
    if match := _WEEKDAY.fullmatch(bare):
        return _weekday(match[1] or "", _WEEKDAYS.index(match[2]), day, past)
    if match := _MONTH_ONLY.fullmatch(bare):
        return _month(match[2], match[3], day, past if match[1] is None else match[1] in ("last", "past"))
    if match := _DISTANCE.fullmatch(phrase.strip()):
        return _distance(match, day)
    return _calendar(bare, day, past) if _CALENDAR.search(bare) else ""


def _shifted(which: str, unit: str, day: date) -> str:
    step = {"last": -1, "past": -1, "this": 0}.get(which, 1)
    if unit == "year":
        return str(day.year + step)
    if unit == "month":
        return _shift_months(day, step)
    if unit == "week":
        monday = day - timedelta(days=day.weekday()) + timedelta(weeks=step)
        return f"{monday.isoformat()}/{(monday + timedelta(days=6)).isoformat()}"
    if unit == "weekend":
        saturday = day - timedelta(days=day.weekday()) + timedelta(days=5, weeks=step)
        return f"{saturday.isoformat()}/{(saturday + timedelta(days=1)).isoformat()}"
    first, last = _SEASONS[unit]
    year = day.year + (step if step < 0 or day.month > last > first else (step if which == "following" else 0))
    return f"{year}-{first:02d}/{year + (last < first)}-{last:02d}"


def _shift_months(day: date, step: int) -> str:
    months = day.year * 12 + day.month - 1 + step
    return f"{months // 12:04d}-{months % 12 + 1:02d}"


def _weekday(which: str, weekday: int, day: date, past: bool) -> str:
    """The nearest such day in the direction said, or in the direction of the tense; today does not count."""
    if which in ("last", "past") or (not which and past):
        back = (day.weekday() - weekday) % 7 or 7
        return (day - timedelta(days=back)).isoformat()
    ahead = (weekday - day.weekday()) % 7 or 7
    if which == "next" and ahead + day.weekday() < 7:
        ahead += 7  # "Next Friday", said on Monday, is the one of next week.
    return (day + timedelta(days=ahead)).isoformat()


def _month(name: str, year: str | None, day: date, past: bool) -> str:
    number = next(index for index, full in enumerate(_MONTHS, 1) if full.startswith(name[:3]))
    if year:
        return f"{year}-{number:02d}"
    shift = -1 if past and number > day.month else 1 if not past and number < day.month else 0
    return f"{day.year + shift}-{number:02d}"


def _distance(match: re.Match[str], day: date) -> str:
    ahead, count_text, unit, direction = match.groups()
    if not ahead and direction is None:
        return ""  # A duration: "four months".
    vague = count_text.startswith(("a few", "a couple"))
    count = int(count_text) if count_text.isdigit() else _NUMBERS.get(count_text, 2 if vague else 1)
    sign = -1 if direction in ("ago", "back") else 1
    if count > 3650:
        return ""
    if unit == "year":
        return str(day.year + sign * count)
    if unit == "month":
        return _shift_months(day, sign * count)
    return (day + timedelta(days=sign * count * (7 if unit == "week" else 1))).isoformat()


def _calendar(phrase: str, day: date, past: bool) -> str:
    """A calendar date through `dateparser`; empty when it reads none or the package is not installed."""
    try:
        import dateparser  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return ""
    found = dateparser.parse(
        phrase,
        languages=["en"],
        settings={
            "RELATIVE_BASE": datetime(day.year, day.month, day.day, 12),
            "PREFER_DATES_FROM": "past" if past else "future",
            "REQUIRE_PARTS": ["day", "month"],
        },
    )
    return found.date().isoformat() if found else ""
