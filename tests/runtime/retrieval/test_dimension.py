"""The dimension route: DimMem's case A.1 worked out by hand, and what each component means."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from engrain.runtime.retrieval.dimension import DimensionScorer, Variant, meets
from engrain.runtime.retrieval.dimension_index import DimensionIndex
from engrain.runtime.retrieval.query import parse_question
from engrain.runtime.schema import MemoryRecord, MemoryType, ParsedQuery, TimeConstraint

Make = Callable[..., MemoryRecord]
ASKED = datetime(2023, 4, 29, 12, tzinfo=UTC)
QUESTION = "How many days did I spend on camping trips in the United States this year?"


def day(year: int, month: int = 1, number: int = 1) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


@pytest.fixture
def asked() -> ParsedQuery:
    """Table 7 of the paper: type, keywords, time and place of the camping question."""
    return ParsedQuery(
        anchor="How many days did the user spend on camping trips in the United States this year?",
        target_types=(MemoryType.EPISODIC,),
        keywords=("camping trips", "United States"),
        time_constraints=(TimeConstraint(relation="between", start=day(2023), end=day(2023, 4, 30)),),
        location="United States",
        answer_dimension="content",
    )


@pytest.fixture
def big_sur(make_record: Make) -> MemoryRecord:
    """Record A: the right type and time, a place whose name is not the country's."""
    return make_record(
        "A",
        "The user returned from a 3-day solo camping trip to Big Sur in early April 2023.",
        memory_type=MemoryType.EPISODIC,
        time="2023-04",
        event_start=day(2023, 4),
        event_end=day(2023, 5),
        location="Big Sur",
        keywords=("camping trip", "Big Sur"),
    )


@pytest.fixture
def rockies(make_record: Make) -> MemoryRecord:
    """Record B: a plan, said on the last day that the question allows."""
    return make_record(
        "B",
        "The user is planning a trip to the Rocky Mountains in Colorado.",
        memory_type=MemoryType.EPISODIC,
        location="Colorado",
        keywords=("Rocky Mountains", "Colorado"),
    )


def test_the_rules_read_the_camping_question_as_the_paper_does() -> None:
    parsed = parse_question(QUESTION, ASKED)

    assert parsed.target_types == (MemoryType.EPISODIC,)
    assert parsed.location == "United States" and "united states" in parsed.keywords
    assert parsed.answer_dimension == "content" and not parsed.needs_assistant_context
    [constraint] = parsed.time_constraints
    assert (constraint.relation, constraint.start, constraint.end) == ("between", day(2023), day(2023, 4, 30))


def test_components_of_case_a1(asked: ParsedQuery, big_sur: MemoryRecord, rockies: MemoryRecord) -> None:
    scorer = DimensionScorer(asked)

    # A: its words are camping and trip; "camping trips" and "trips" are not among them.
    assert scorer.components(big_sur) == {
        "memory_type": 1.0, "time": 1.0, "location": 0.0, "keyword_phrase": 0.0, "keyword_token": 1 / 4,
    }  # fmt: skip
    # B: none of camping, trips, united, states.
    assert scorer.components(rockies) == {
        "memory_type": 1.0, "time": 1.0, "location": 0.0, "keyword_phrase": 0.0, "keyword_token": 0.0,
    }  # fmt: skip


def test_scores_of_case_a1(asked: ParsedQuery, big_sur: MemoryRecord, rockies: MemoryRecord) -> None:
    # All five are active, so the weights add up to 0.15 + 0.30 + 0.20 + 0.15 + 0.15 = 0.95.
    scorer = DimensionScorer(asked)

    assert scorer.score(big_sur) == pytest.approx((0.15 + 0.30 + 0.15 / 4) / 0.95)
    assert scorer.score(rockies) == pytest.approx((0.15 + 0.30) / 0.95)
    index = DimensionIndex()
    index.add(0, rockies)
    index.add(1, big_sur)
    assert index.best(scorer, np.ones(2, np.bool_), 15).slots.tolist() == [1, 0]


def test_the_locomo_variant_has_fixed_weights_and_the_anchors_words(asked: ParsedQuery, big_sur: MemoryRecord) -> None:
    # The anchor's 15 distinct words; A's text holds the, user, camping, in.
    scorer = DimensionScorer(asked, "locomo")

    assert scorer.components(big_sur)["anchor_token"] == pytest.approx(4 / 15)
    assert scorer.score(big_sur) == pytest.approx(0.15 + 0.20 + 0.15 / 4 + 0.20 * 4 / 15)


def test_only_what_the_question_activates_counts(big_sur: MemoryRecord) -> None:
    only_place = ParsedQuery(anchor="", location="big sur")

    assert DimensionScorer(only_place).score(big_sur) == 1.0
    assert DimensionScorer(ParsedQuery(anchor="anything")).score(big_sur) == 0.0
    # Fixed weights are not shared out anew: the place alone is worth its 0.10.
    assert DimensionScorer(only_place, "locomo").score(big_sur) == pytest.approx(0.10)


@pytest.mark.parametrize(
    ("relation", "start", "end", "expected"),
    [
        ("on", day(2023, 4, 10), day(2023, 4, 11), True),  # inside the record's own span
        ("on", day(2023, 4, 29), day(2023, 4, 30), True),  # the day it was said
        ("on", day(2023, 5), day(2023, 6), False),
        ("before", day(2023, 5), day(2023, 6), True),
        ("before", day(2023, 4, 15), day(2023, 4, 16), False),  # the span reaches past it
        ("after", day(2023, 3), day(2023, 4), True),
        ("after", day(2023, 4), day(2023, 5), False),
        ("around", day(2023, 5, 2), day(2023, 5, 3), True),  # 3 days from a day
        ("around", day(2023, 5, 5), day(2023, 5, 6), False),
        ("around", day(2023, 3), day(2023, 4), True),  # 31 days from a month
        ("around", day(2023, 7), day(2023, 8), False),
        ("around", day(2024), day(2025), True),  # 366 days from a year
        ("around", day(2025), day(2026), False),
    ],
)
def test_time_conditions(big_sur: MemoryRecord, relation: str, start: datetime, end: datetime, expected: bool) -> None:
    assert meets(big_sur, TimeConstraint(relation=relation, start=start, end=end)) is expected


QUESTIONS = (
    QUESTION,
    "What did I do in Rome before March 2023?",
    "Which trip to Oslo did I take after 2023-02-10?",
    "Who came around June 2022?",
    "What does the user like?",
    "?",
)


@pytest.mark.parametrize("variant", ["longmemeval", "locomo"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_index_scores_as_the_definition_does(make_record: Make, question: str, variant: Variant) -> None:
    draw = random.Random(7)
    index, records = DimensionIndex(), {}
    for slot in range(300):
        place, month = draw.choice(["Rome", "Oslo", "the United States", ""]), draw.randrange(1, 13)
        record = make_record(
            str(slot),
            f"The user took a {draw.choice(['camping trip', 'train', 'trip'])} and liked it",
            memory_type=draw.choice([*MemoryType]),
            location=place,
            keywords=tuple(draw.sample(["trip", "camping trips", "june", "who"], 2)),
            source_time=day(2023, month, 1 + slot % 28),
            **({"event_start": day(2022, month), "event_end": day(2022, month, 20)} if slot % 2 else {}),
        )
        records[slot] = record
        index.add(slot, record)
    scorer = DimensionScorer(parse_question(question, ASKED), variant)
    allowed = np.array([slot % 5 > 0 for slot in records])

    found = index.best(scorer, allowed, 40)

    scored = {slot: np.float32(scorer.score(record)) for slot, record in records.items() if allowed[slot]}
    expected = sorted((slot for slot in scored if scored[slot] > 0), key=lambda slot: (-scored[slot], slot))[:40]
    assert found.slots.tolist() == expected
    assert found.scores.tolist() == [pytest.approx(float(scored[slot])) for slot in expected]
