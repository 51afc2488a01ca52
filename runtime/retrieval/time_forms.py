"""The forms in which a question names a day or a period, and the days that each means, seen from the day of asking.

Conventions, which differ from those of a statement's times (`extraction.dependency.times`): a date without a year is
the most recent one that has begun; last week is the previous Monday to Sunday; last weekend and last summer are the
latest that are over; seasons are northern.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

Days = tuple[date, date]
"""First and last day, both inside."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "few": 3, "several": 4,
}  # fmt: skip
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": -1}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""First month of each northern season of three months."""
_FEASTS = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "boxing day": (12, 26),
    "new year's eve": (12, 31), "new year's day": (1, 1), "new year's": (1, 1), "new year": (1, 1),
    "valentine's day": (2, 14), "valentine's": (2, 14), "st patrick's day": (3, 17), "halloween": (10, 31),
}  # fmt: skip

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of|a few|several)"
_UNIT = r"(?:day|week|month|year)s?"
_WEEKDAY = "(?:" + "|".join(_WEEKDAYS) + ")"
_FEAST = "(?:" + "|".join(_FEASTS) + ")"
_SEASON = "(?:" + "|".join(_SEASONS) + ")"
_ORDINAL = "(?:" + "|".join(_ORDINALS) + ")"

# Tried in this order at each place of the question; the first that matches is the point's form.
FORMS: dict[str, str] = {
    "iso": r"\d{4}-\d{2}(?:-\d{2})?\b",
    "slashed": r"\d{4}/\d{1,2}/\d{1,2}\b",
    "nth_weekday": rf"(?:the )?{_ORDINAL} {_WEEKDAY} (?:of|in) {_MONTH}(?:,? {_YEAR})?",
    "day_month": rf"(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?\b",
    "month_day": rf"{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR})?\b",
    "month_year": rf"(?:early |mid[- ]|late )?{_MONTH},? (?:of )?(?:{_YEAR}|(?:last|this) year)\b",
    "feast": rf"{_FEAST}(?:,? (?:of |in )?{_YEAR})?\b",
    "season_year": rf"(?:the )?{_SEASON} (?:of )?{_YEAR}\b",
    "decade": r"(?:the )?(?:19|20)\d0'?s\b",
    "days_ago": r"the day before yesterday|yesterday(?: (?:morning|afternoon|evening))?|last night|today|tonight|"
    r"(?:earlier |late(?:r)? )?this (?:morning|afternoon|evening)",
    "shifted": r"(?:this past|last|previous|this|next|current) "
    rf"(?:week|weekend|month|year|{_SEASON}|{_WEEKDAY}|{_MONTH})\b",
    "span_back": rf"(?:the )?(?:past|last|previous) (?:(?:{_COUNT}|couple of|few) )?{_UNIT}\b",
    "ago": rf"(?:about |around |roughly )?{_COUNT} {_UNIT} (?:ago|back|earlier)\b",
    "year": rf"(?:the (?:start|beginning|end|middle) of |early |mid[- ]|late )?(?:the year )?{_YEAR}\b",
    "month": rf"(?:early |mid[- ]|late )?{_MONTH}",
    "weekday": rf"{_WEEKDAY}\b",
}


def month_days(year: int, month: int) -> Days:
    """First and last day of a month; months beyond 12, or below 1, are of other years."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _month_number(text: str) -> int:
    found = re.search(_MONTH, text)
    assert found is not None
    return _MONTHS.index(found.group()[:3]) + 1


def _year_number(text: str) -> int | None:
    found = re.search(_YEAR, text)
    return int(found.group()) if found else None


def _latest(make: Callable[[int], Days], today: date) -> Days:
    """The most recent one that has begun: a date without a year looks back."""
    for year in (today.year, today.year - 1, today.year - 2, today.year - 3, today.year - 4):
        try:
            days = make(year)
        except ValueError:
            continue
        if days[0] <= today:
            return days
    raise ValueError("no such day")


def _iso(text: str, today: date) -> Days:
    parts = [int(part) for part in re.split(r"[-/]", text)]
    if len(parts) == 2:
        return month_days(parts[0], parts[1])
    return (date(*parts),) * 2


def _day_of_month(text: str, today: date) -> Days:
    year, month = _year_number(text), _month_number(text)
    number = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", text)
    assert number is not None
    return _dated(year, lambda in_year: (date(in_year, month, int(number[1])),) * 2, today)


def _dated(year: int | None, make: Callable[[int], Days], today: date) -> Days:
    return make(year) if year else _latest(make, today)


def _month_of_year(text: str, today: date) -> Days:
    year = _year_number(text)
    if year is None and "year" in text:
        year = today.year - ("last" in text)
    month = _month_number(text)
    return _dated(year, lambda in_year: month_days(in_year, month), today)


def _feast(text: str, today: date) -> Days:
    name = next(name for name in _FEASTS if name in text)
    month, day = _FEASTS[name]
    return _dated(_year_number(text), lambda year: (date(year, month, day),) * 2, today)


def _season(name: str, year: int) -> Days:
    first = _SEASONS[name]
    return month_days(year, first)[0], month_days(year, first + 2)[1]


def _season_of_year(text: str, today: date) -> Days:
    name = next(name for name in _SEASONS if name in text)
    return _season(name, _year_number(text) or today.year)


def _nth_weekday(text: str, today: date) -> Days:
    number = _ORDINALS[next(word for word in text.split() if word in _ORDINALS)]
    weekday = next(place for place, name in enumerate(_WEEKDAYS) if name in text)
    month = _month_number(re.split(r" (?:of|in) ", text)[1])

    def in_year(year: int) -> Days:
        first, last = month_days(year, month)
        if number < 0:
            day = last - timedelta(days=(last.weekday() - weekday) % 7)
        else:
            day = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (number - 1))
        return day, day

    return _dated(_year_number(text), in_year, today)


def _decade(text: str, today: date) -> Days:
    found = re.search(r"\d{4}", text)
    assert found is not None
    return date(int(found.group()), 1, 1), date(int(found.group()) + 9, 12, 31)


def _days_ago(text: str, today: date) -> Days:
    back = 2 if "before" in text else 1 if "yesterday" in text or "last" in text else 0
    return (today - timedelta(days=back),) * 2


def _shifted(text: str, today: date) -> Days:
    which, unit = text.removeprefix("this ").split(" ", 1) if text.startswith("this past") else text.split(" ", 1)
    step = {"this": 0, "current": 0, "next": 1}.get(which, -1)
    if unit == "year":
        return date(today.year + step, 1, 1), date(today.year + step, 12, 31)
    if unit == "month":
        return month_days(today.year, today.month + step)
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        return monday, monday + timedelta(days=6)
    if unit == "weekend":
        # The weekend that is over last, this one, or the one after it.
        saturday = today + timedelta(days=5 - today.weekday())
        saturday += timedelta(weeks=step)
        return saturday, saturday + timedelta(days=1)
    if unit in _WEEKDAYS:
        back = (today.weekday() - _WEEKDAYS.index(unit)) % 7
        day = today - timedelta(days=back or (7 if step < 0 else 0)) if step <= 0 else today + timedelta(days=7 - back)
        return day, day
    if unit in _SEASONS:
        return _shifted_season(unit, step, today)
    month = _month_number(unit)
    return month_days(today.year - (step < 0 and month >= today.month) + (step > 0 and month <= today.month), month)


def _shifted_season(name: str, step: int, today: date) -> Days:
    """Last summer is the latest that is over; this summer the one under way, or else the latest that began."""
    years = (today.year + 1, today.year, today.year - 1, today.year - 2)
    if step > 0:
        return min(days for year in years if (days := _season(name, year))[0] > today)
    return max(days for year in years if (days := _season(name, year))[0 if step == 0 else 1] <= today)


def _amount(text: str) -> int:
    for word in text.split():
        if word.isdigit():
            return int(word)
        if word in _NUMBERS and word not in {"a", "an"}:
            return _NUMBERS[word]
    return 1


def _back(text: str, today: date) -> date:
    count = _amount(text)
    if "day" in text:
        return today - timedelta(days=count)
    if "week" in text:
        return today - timedelta(weeks=count)
    months = count * (12 if "year" in text else 1)
    first = month_days(today.year, today.month - months)
    return first[0].replace(day=min(today.day, first[1].day))


def _span_back(text: str, today: date) -> Days:
    return _back(text, today), today


def _ago(text: str, today: date) -> Days:
    day = _back(text, today)
    if "year" in text:
        return date(day.year, 1, 1), date(day.year, 12, 31)
    return month_days(day.year, day.month) if "month" in text else (day, day)


def _year(text: str, today: date) -> Days:
    year = _year_number(text)
    assert year is not None
    return date(year, 1, 1), date(year, 12, 31)


def _weekday(text: str, today: date) -> Days:
    back = (today.weekday() - _WEEKDAYS.index(text)) % 7 or 7
    return (today - timedelta(days=back),) * 2


READERS: dict[str, Callable[[str, date], Days | None]] = {
    "iso": _iso,
    "slashed": _iso,
    "nth_weekday": _nth_weekday,
    "day_month": _day_of_month,
    "month_day": _day_of_month,
    "month_year": _month_of_year,
    "feast": _feast,
    "season_year": _season_of_year,
    "decade": _decade,
    "days_ago": _days_ago,
    "shifted": _shifted,
    "span_back": _span_back,
    "ago": _ago,
    "year": _year,
    "month": _month_of_year,
    "weekday": _weekday,
}
