"""Reading and writing times: source timestamps, message stamps and the time field of a record.

Every moment inside Engrain is an aware datetime. Sources write time in their own ways, two of them without a zone
(LongMemEval `2023/05/20 (Sat) 02:21`, LoCoMo `1:56 pm on 8 May, 2023`); the caller then has to state the zone.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from engrain.runtime.errors import InputError

MESSAGE_STEP = timedelta(milliseconds=500)
"""Distance between the messages of a session whose source dates only the session (DimMem's 0.5 s)."""

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SLASHED = re.compile(
    r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?:\s*\((?P<weekday>[A-Za-z]{3})\w*\))?"
    r"(?:\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?)?"
)
_SPOKEN = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})\s*(?P<half>[ap])\.?m\.?\s+on\s+"
    r"(?P<day>\d{1,2})\s+(?P<month>[A-Za-z]{3})[a-z]*,?\s+(?P<year>\d{4})",
    re.IGNORECASE,
)
_FORMS = "an ISO date or datetime, '2023/05/20 (Sat) 02:21' or '1:56 pm on 8 May, 2023'"
_YEAR, _MONTH, _DAY = re.compile(r"\d{4}"), re.compile(r"\d{4}-\d{2}"), re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?")


def parse_zone(name: str) -> tzinfo:
    """The time zone of an IANA name such as `UTC` or `Europe/Berlin`.

    Raises `InputError` for a name that the system's zone database does not hold.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(f"'{name}' is not a time zone; use an IANA name such as 'UTC' or 'Europe/Berlin'") from None


def parse_timestamp(text: str, zone: tzinfo | None) -> datetime:
    """The aware moment that `text` names.

    An offset in the text wins; `zone` is applied only where the text has none. A date alone is its midnight. A local
    time that occurs twice (the end of daylight saving) is read as the first of the two.

    Raises `InputError` when the form is unknown, the date does not exist, the stated weekday is another one, or the
    text has no offset and no zone is given.
    """
    moment = _read_moment(text.strip())
    if moment.tzinfo is not None:
        return moment
    if zone is None:
        raise InputError(
            f"the timestamp '{text}' has no time zone; write an offset as in "
            f"'{moment.isoformat()}+00:00', or state the zone of the source"
        )
    return moment.replace(tzinfo=zone)


def message_stamp(moment: datetime) -> str:
    """`[2023-05-08T13:56:00.500+00:00, Mon]`: the stamp of a message line, milliseconds only where there are any.

    Weekdays are English and independent of the locale, so that a model reads the same text everywhere.
    """
    precision = "milliseconds" if moment.microsecond else "seconds"
    return f"[{moment.isoformat(timespec=precision)}, {WEEKDAYS[moment.weekday()]}]"


def session_moments(start: datetime, count: int, step: timedelta = MESSAGE_STEP) -> list[datetime]:
    """`count` moments from `start`, `step` apart in real time, in the zone of `start`.

    Adding to a zoned datetime moves its wall clock; going through UTC keeps the distance across a clock change.
    """
    zone = start.tzinfo
    origin = start.astimezone(UTC)
    return [(origin + index * step).astimezone(zone) for index in range(count)]


def record_interval(text: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """The half-open interval [start, end) that a record's time field names (DimMem section 3.1).

    The field holds `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, an ISO datetime, or a range `start/end` of two of these. A
    datetime covers one second. `zone` applies where the text has no offset.

    Raises `InputError` for any other form, a date that does not exist, or a range that ends before it starts.
    """
    first, slash, second = text.strip().partition("/")
    start, end = _period(first.strip(), zone)
    if slash:
        last_start, end = _period(second.strip(), zone)
        if last_start < start:
            raise InputError(f"the time range '{text}' ends before it starts")
    return start, end


def _read_moment(text: str) -> datetime:
    try:
        if match := _SLASHED.fullmatch(text):
            return _slashed(match)
        if match := _SPOKEN.fullmatch(text):
            return _spoken(match)
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"'{text}' is not a timestamp ({error}); use {_FORMS}") from None


def _slashed(match: re.Match[str]) -> datetime:
    day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    clock = time(int(match["hour"] or 0), int(match["minute"] or 0), int(match["second"] or 0))
    moment = datetime.combine(day, clock)
    stated = match["weekday"]
    if stated and stated.title() != WEEKDAYS[moment.weekday()]:
        raise ValueError(f"that day is a {WEEKDAYS[moment.weekday()]}, not a {stated}")
    return moment


def _spoken(match: re.Match[str]) -> datetime:
    hour = int(match["hour"])
    if not 1 <= hour <= 12:
        raise ValueError(f"hour {hour} with am or pm")
    month = match["month"].lower()
    if month not in _MONTHS:
        raise ValueError(f"'{match['month']}' is not a month")
    hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    return datetime(int(match["year"]), _MONTHS.index(month) + 1, int(match["day"]), hour, int(match["minute"]))


def _period(text: str, zone: tzinfo) -> tuple[datetime, datetime]:
    try:
        if _YEAR.fullmatch(text):
            year = int(text)
            return datetime(year, 1, 1, tzinfo=zone), datetime(year + 1, 1, 1, tzinfo=zone)
        if _MONTH.fullmatch(text):
            first = date.fromisoformat(f"{text}-01")
            after = date(first.year + first.month // 12, first.month % 12 + 1, 1)
            return _midnight(first, zone), _midnight(after, zone)
        if _DAY.fullmatch(text):
            day = date.fromisoformat(text)
            return _midnight(day, zone), _midnight(day + timedelta(days=1), zone)
        if _MOMENT.fullmatch(text):
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
            return moment, moment + timedelta(seconds=1)
    except (ValueError, OverflowError) as error:
        raise InputError(f"'{text}' is not a record time ({error})") from None
    raise InputError(f"'{text}' is not a record time; use YYYY, YYYY-MM, YYYY-MM-DD, an ISO datetime or start/end")


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)
