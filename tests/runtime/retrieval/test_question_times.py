"""Time conditions of questions, each relation and form, resolved against the day of asking."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engrain.runtime.retrieval.question_times import time_constraints

WEDNESDAY = datetime(2024, 5, 15, 9, tzinfo=UTC)


def read(question: str, asked_at: datetime = WEDNESDAY) -> list[tuple[str, str, str]]:
    """Relation, first day and last day of every condition."""
    return [
        (one.relation, one.start.date().isoformat(), (one.end - timedelta(days=1)).date().isoformat())
        for one in time_constraints(question, asked_at)
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I do on 3 July 2023?", ("on", "2023-07-03", "2023-07-03")),
        ("What did I do on July 3rd?", ("on", "2023-07-03", "2023-07-03")),
        ("What did I eat on 2023-12-24?", ("on", "2023-12-24", "2023-12-24")),
        ("What happened in March?", ("on", "2024-03-01", "2024-03-31")),
        ("What happened in June?", ("on", "2023-06-01", "2023-06-30")),
        ("Where did I live before 2019?", ("before", "2019-01-01", "2019-12-31")),
        ("What did I read after May 2022?", ("after", "2022-05-01", "2022-05-31")),
        ("Who came around Christmas?", ("around", "2023-12-25", "2023-12-25")),
        ("Which films did I see between June and August 2023?", ("between", "2023-06-01", "2023-08-31")),
        ("What did I buy from 2018 to 2021?", ("between", "2018-01-01", "2021-12-31")),
        ("What have I read since February?", ("between", "2024-02-01", "2024-05-15")),
        ("What did I cook yesterday?", ("on", "2024-05-14", "2024-05-14")),
        ("What did I cook last Wednesday?", ("on", "2024-05-08", "2024-05-08")),
        ("Whom did I meet last week?", ("between", "2024-05-06", "2024-05-12")),
        ("Where was I last weekend?", ("between", "2024-05-11", "2024-05-12")),
        ("What did I spend last month?", ("on", "2024-04-01", "2024-04-30")),
        ("How many trips did I take this year?", ("between", "2024-01-01", "2024-05-15")),
        ("What did I plant last summer?", ("between", "2023-06-01", "2023-08-31")),
        ("What did I ski in the winter of 2022?", ("between", "2022-12-01", "2023-02-28")),
        ("What did I buy three weeks ago?", ("around", "2024-04-24", "2024-04-24")),
        ("What did I buy 10 days ago?", ("on", "2024-05-05", "2024-05-05")),
        ("What was I working on two years ago?", ("around", "2022-01-01", "2022-12-31")),
        ("What have I cooked in the past 7 days?", ("between", "2024-05-08", "2024-05-15")),
        ("What did I do on the first Saturday of March?", ("on", "2024-03-02", "2024-03-02")),
        ("What music did I like in the 1990s?", ("between", "1990-01-01", "1999-12-31")),
    ],
)
def test_one_condition(question: str, expected: tuple[str, str, str]) -> None:
    assert read(question) == [expected]


def test_two_conditions() -> None:
    assert read("What did I buy after 20 June 2023 but before 1 July 2023?") == [
        ("after", "2023-06-20", "2023-06-20"),
        ("before", "2023-07-01", "2023-07-01"),
    ]


@pytest.mark.parametrize(
    "question",
    [
        "When did I move to Oslo?",
        "What did I pay for my 2015 Corolla?",
        "What did I do before I moved?",
        "May I park in room 2021?",
        "Who is April?",
        "What do I do on 31 February 2023?",
    ],
)
def test_what_is_no_condition(question: str) -> None:
    assert read(question) == []


def test_days_are_those_of_the_askers_zone() -> None:
    asked_at = datetime(2024, 5, 15, 1, tzinfo=ZoneInfo("Asia/Tokyo"))

    [constraint] = time_constraints("What did I cook yesterday?", asked_at)

    assert constraint.start == datetime(2024, 5, 14, tzinfo=ZoneInfo("Asia/Tokyo"))
