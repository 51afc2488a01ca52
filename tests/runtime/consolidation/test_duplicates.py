from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engrain.runtime.consolidation.duplicates import find_duplicates, normalised_body
from engrain.runtime.schema import MemoryRecord, MemoryType, Relation, Scope, Status

NOON = datetime(2026, 5, 8, 12, 0, tzinfo=UTC)


def record(name: str, content: str, *, sources: tuple[str, ...] = ("t1",), **changes: Any) -> MemoryRecord:
    values: dict[str, Any] = {
        "id": name,
        "scope": Scope(user_id="ana"),
        "content": content,
        "source_time": NOON,
        "ingest_time": NOON,
        "source_turn_ids": sources,
        "extractor": "as_given",
        "embedder": "tiny@1",
    }
    return MemoryRecord(**values | changes)


@pytest.mark.parametrize(
    "content",
    [
        "Ana adopted a dog",
        "  ana  adopted\na DOG. ",
        "“Ana adopted a dog!”",
        "Ａna adopted a dog",
        "2026-05-08: Ana adopted a dog.",
        "[2026-05-08T12:00:00+00:00, Fri] Ana adopted a dog",
        "(8 May 2026) Ana adopted a dog",
        "On May 8, 2026, Ana adopted a dog",
    ],
)
def test_bodies_that_are_one(content: str) -> None:
    assert normalised_body(content) == "ana adopted a dog"


@pytest.mark.parametrize("content", ["2026 was a good year", "May was warm", "12 May Street is home", "..."])
def test_text_that_only_looks_like_a_date_stays(content: str) -> None:
    assert normalised_body(content) == content.lower().strip()


def test_the_later_copy_from_one_turn_is_dropped() -> None:
    [change] = find_duplicates([record("a", "Ana has a dog."), record("b", "ana has a dog"), record("c", "a cat")])

    assert (change.record_id, change.other_id) == ("b", "a")
    assert (change.before, change.after, change.relation) == (Status.ACTIVE, Status.DROPPED, Relation.DEDUP)
    assert "t1" in change.evidence and change.decided_by == "rules"


def test_equal_words_from_another_turn_are_another_event() -> None:
    records = [record("a", "I bought coffee"), record("b", "I bought coffee", sources=("t2",))]

    assert find_duplicates(records) == []


def test_any_shared_source_turn_is_enough() -> None:
    records = [record("a", "x", sources=("t1", "t2")), record("b", "x", sources=("t2", "t3"))]

    assert [change.record_id for change in find_duplicates(records)] == ["b"]


def test_without_sources_the_message_time_decides_and_events_are_spared() -> None:
    later = NOON + timedelta(hours=1)
    fact = {"sources": (), "memory_type": MemoryType.FACT}
    event = {"sources": (), "memory_type": MemoryType.EPISODIC}
    records = [
        record("a", "x", **fact),
        record("b", "x", **fact),
        record("c", "x", source_time=later, **fact),
        record("d", "y", **event),
        record("e", "y", **event),
    ]

    assert [change.record_id for change in find_duplicates(records)] == ["b"]


def test_users_agents_and_hidden_records_are_left_alone() -> None:
    records = [
        record("a", "x"),
        record("b", "x", scope=Scope(user_id="ben")),
        record("c", "x", scope=Scope(user_id="ana", agent_id="coach")),
        record("d", "x", status=Status.DROPPED),
        record("e", "x", status=Status.SUPERSEDED),
    ]

    assert find_duplicates(records) == []


def test_three_copies_keep_the_first() -> None:
    changes = find_duplicates([record(name, "x") for name in "abc"])

    assert [(change.record_id, change.other_id) for change in changes] == [("b", "a"), ("c", "a")]
