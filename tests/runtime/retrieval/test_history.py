"""Historical retrieval, SLICE-Mem A.4: cue, depth, statuses, links, limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from engrain.runtime.retrieval.cues import wants_history
from engrain.runtime.retrieval.history import fetch_depth, follow_links, keep_eligible, link_lookups
from engrain.runtime.schema import Link, MemoryRecord, Status

Make = Callable[..., MemoryRecord]


@pytest.mark.parametrize(
    "question",
    [
        "When did I move?",
        "Where was I PREVIOUSLY employed?",
        "What did I use to drive?",
        "How long have I had the cat?",
        "Where do I currently live?",
        "Has my diet changed?",
        "How many bikes do I currently own?",
        "Am I no longer a member?",
    ],
)
def test_wordings_of_time_or_change_trigger(question: str) -> None:
    assert wants_history(question)


@pytest.mark.parametrize(
    "question", ["How many bikes do I own?", "What is the total of my bills?", "Who is Ana's dentist?", "List my pets."]
)
def test_counts_and_plain_facts_do_not(question: str) -> None:
    assert not wants_history(question)


@pytest.mark.parametrize(("budget", "depth", "lookups"), [(1, 17, 8), (8, 24, 8), (10, 30, 10), (20, 60, 20)])
def test_depths(budget: int, depth: int, lookups: int) -> None:
    assert fetch_depth(budget) == depth and link_lookups(budget) == lookups


def test_redundant_never_and_outdated_only_when_triggered_in_their_order(make_record: Make) -> None:
    ranked = [
        make_record("old", status=Status.SUPERSEDED),
        make_record("same", status=Status.DROPPED),
        make_record("new"),
        make_record("other"),
    ]

    assert [one.id for one in keep_eligible(ranked, 2, triggered=False)] == ["new", "other"]
    assert [one.id for one in keep_eligible(ranked, 2, triggered=True)] == ["old", "new"]


def test_nothing_beyond_the_depth_is_kept(make_record: Make) -> None:
    ranked = [*(make_record(f"d{place}", status=Status.DROPPED) for place in range(17)), make_record("late")]

    assert keep_eligible(ranked, 1, triggered=True) == []


def links(*targets: str, relation: str = "superseded_by") -> tuple[Link, ...]:
    return tuple(Link(relation=relation, record_id=target) for target in targets)


class Store:
    """Records by id; remembers every look-up."""

    def __init__(self, records: Sequence[MemoryRecord]) -> None:
        self.records = {record.id: record for record in records}
        self.asked: list[str] = []

    def __call__(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        self.asked += ids
        return {one: self.records[one] for one in ids if one in self.records}


def test_links_are_followed_one_hop_and_no_id_twice(make_record: Make) -> None:
    first = make_record("a", links=links("b", "c", "kept"))
    kept = make_record("kept", links=links("a", "c"))
    store = Store(
        [make_record("b", status=Status.SUPERSEDED, links=links("far")), make_record("c"), make_record("far")]
    )

    found = follow_links([first, kept], 10, store)

    assert [(record.id, leader.id) for record, leader in found] == [("b", "a"), ("c", "a")]


def test_at_most_r_or_eight_lookups_failed_ones_counted(make_record: Make) -> None:
    leader = make_record("a", links=links(*(f"x{place}" for place in range(20))))
    store = Store([make_record(f"x{place}") for place in range(4, 20)])

    found = follow_links([leader], 2, store)

    assert store.asked == [f"x{place}" for place in range(8)]
    assert [record.id for record, _ in found] == ["x4", "x5", "x6", "x7"]


def test_redundant_records_and_other_links_are_not_followed(make_record: Make) -> None:
    leader = make_record("a", links=(*links("b", relation="qualifies"), *links("c")))
    store = Store([make_record("b"), make_record("c", status=Status.DROPPED)])

    assert follow_links([leader], 5, store) == [] and store.asked == ["c"]
