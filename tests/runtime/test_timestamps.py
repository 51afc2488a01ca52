"""Timestamps: every form of the sources, zones, message stamps and record times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engrain.runtime.errors import InputError
from engrain.runtime.timestamps import message_stamp, parse_timestamp, parse_zone, record_interval, session_moments

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023/05/20 (Sat) 02:21", datetime(2023, 5, 20, 2, 21, tzinfo=UTC)),
        ("2023/05/20 02:21:07", datetime(2023, 5, 20, 2, 21, 7, tzinfo=UTC)),
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:05 am on 1 January, 2024", datetime(2024, 1, 1, 0, 5, tzinfo=UTC)),
        ("12:30 PM on 1 Sept 2024", datetime(2024, 9, 1, 12, 30, tzinfo=UTC)),
        ("2025-06-01", datetime(2025, 6, 1, tzinfo=UTC)),
        ("2025-06-01T08:00:00Z", datetime(2025, 6, 1, 8, tzinfo=UTC)),
        (" 2025-06-01 08:00:00.5 ", datetime(2025, 6, 1, 8, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_each_source_form_is_read(text: str, expected: datetime) -> None:
    assert parse_timestamp(text, UTC) == expected


def test_an_offset_in_the_text_wins_over_the_zone() -> None:
    moment = parse_timestamp("2026-01-09T19:12:00+01:00", UTC)
    assert moment.utcoffset() == timedelta(hours=1)


def test_local_time_is_read_in_the_stated_zone() -> None:
    summer = parse_timestamp("1:56 pm on 8 May, 2023", BERLIN)
    assert summer.astimezone(UTC) == datetime(2023, 5, 8, 11, 56, tzinfo=UTC)


def test_a_naive_time_without_a_zone_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"'2023/05/20 \(Sat\) 02:21' has no time zone.*\+00:00"):
        parse_timestamp("2023/05/20 (Sat) 02:21", None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2023-02-30",
        "2023/13/01",
        "13:00 pm on 8 May, 2023",
        "1:56 pm on 8 Floreal, 2023",
        "1684549260",
    ],
)
def test_unknown_forms_and_impossible_dates_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a timestamp"):
        parse_timestamp(text, UTC)


def test_a_wrong_weekday_is_refused() -> None:
    with pytest.raises(InputError, match="that day is a Sat, not a Mon"):
        parse_timestamp("2023/05/20 (Mon) 02:21", UTC)


def test_an_unknown_zone_is_refused() -> None:
    assert parse_zone("Europe/Berlin").utcoffset(datetime(2026, 7, 1)) == timedelta(hours=2)
    for name in ("Mars/Olympus", "", "../etc/passwd"):
        with pytest.raises(InputError, match="is not a time zone"):
            parse_zone(name)


def test_message_stamp_has_milliseconds_only_where_there_are_any() -> None:
    moment = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert message_stamp(moment) == "[2023-05-08T13:56:00+00:00, Mon]"
    assert message_stamp(moment + timedelta(milliseconds=500)) == "[2023-05-08T13:56:00.500+00:00, Mon]"


def test_session_moments_keep_their_distance_across_a_clock_change() -> None:
    start = datetime(2026, 3, 29, 1, 59, 59, tzinfo=BERLIN)
    moments = session_moments(start, 4)
    assert [(moment - moments[0].astimezone(UTC)).total_seconds() for moment in moments] == [0.0, 0.5, 1.0, 1.5]
    assert moments[2].hour == 3


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026", (2026, 1, 1), (2027, 1, 1)),
        ("2026-12", (2026, 12, 1), (2027, 1, 1)),
        ("2026-02-28", (2026, 2, 28), (2026, 3, 1)),
        ("2026-02/2026-03-05", (2026, 2, 1), (2026, 3, 6)),
    ],
)
def test_record_intervals(text: str, start: tuple[int, int, int], end: tuple[int, int, int]) -> None:
    assert record_interval(text, UTC) == (datetime(*start, tzinfo=UTC), datetime(*end, tzinfo=UTC))


def test_a_record_moment_lasts_a_second_and_keeps_its_offset() -> None:
    start, end = record_interval("2026-02-02T09:30+05:30", UTC)
    assert start == datetime(2026, 2, 2, 4, 0, tzinfo=UTC)
    assert end - start == timedelta(seconds=1)


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-2", "2026-13", "2026-02-30", "05/2026", "2026-05/2026-04", "2026/", "20260501", "0000"]
)
def test_other_record_times_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        record_interval(text, UTC)
