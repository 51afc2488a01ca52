"""Runs over a real memory file: what they change, what they leave, and that they can stop anywhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from engrain.runtime.consolidation.engine import Consolidator
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.state_pass import state_pass
from engrain.runtime.memory import Memory
from engrain.runtime.schema import Relation, Status

Say = Callable[..., str]
STORY = [
    "User lives in Bristol.",
    "User has a Labrador and works at the post office.",
    "User needs to call the plumber.",
    "User really likes Wilco.",
    "User moved to Leeds.",
    "User left the post office.",
    "User called the plumber.",
    "User used to really like Wilco, but has gone off them.",
    "User moved back to Bristol.",
    "User bought a coffee.",
    "User bought a coffee.",
]


def statuses(memory: Memory) -> dict[str, Status]:
    return {r.content: r.status for r in memory.list(user_id="ana", statuses=tuple(Status))}


def test_a_story_is_reconciled_and_nothing_is_rewritten(memory: Memory, say: Say) -> None:
    ids = [say(text, day) for day, text in enumerate(STORY)]
    before = {r.id: (r.content, r.source_time, r.ingest_time) for r in memory.list(user_id="ana")}
    changes = memory.consolidate(user_id="ana")

    active = {record.id for record in memory.list(user_id="ana")}
    hidden = [STORY[place] for place, name in enumerate(ids) if name not in active]
    assert hidden == [STORY[0], STORY[2], STORY[3], STORY[4]]
    assert all(change.anchor and change.evidence and change.decided_by == "rules" for change in changes)
    after = memory.list(user_id="ana", statuses=tuple(Status))
    assert {r.id: (r.content, r.source_time, r.ingest_time) for r in after} == before


def test_a_record_of_two_facts_loses_only_the_outdated_one(memory: Memory, say: Say) -> None:
    name = say(STORY[1])
    say(STORY[5], 3)
    [change] = memory.consolidate(user_id="ana")

    record = memory.get(name)
    assert record is not None and record.status is Status.ACTIVE
    [span] = record.superseded_spans
    assert (record.content[span.start : span.end], span.change_id) == ("works at the post office", change.id)
    assert name in [hit.record.id for hit in memory.search("Who has a Labrador?", user_id="ana").results]


def test_links_are_reciprocal(memory: Memory, say: Say) -> None:
    old, new = say(STORY[0]), say(STORY[4], 2)
    memory.consolidate(user_id="ana")

    first, second = memory.get(old), memory.get(new)
    assert first is not None and second is not None
    assert [(link.relation, link.record_id) for link in first.links] == [("superseded_by", new)]
    assert [(link.relation, link.record_id) for link in second.links] == [("supersedes", old)]


def test_a_second_run_looks_at_nothing(memory: Memory, say: Say) -> None:
    for day, text in enumerate(STORY):
        say(text, day)
    engine = Consolidator(memory.store)
    assert engine.run("ana").counts["pairs"] > 0

    again = Consolidator(memory.store).run("ana")
    assert (again.changes, again.counts["pairs"]) == ([], 0)


def test_what_arrives_later_is_compared_with_what_is_there(memory: Memory, say: Say) -> None:
    old = say(STORY[0])
    assert memory.consolidate(user_id="ana") == ()
    say("User likes tea.", 1)
    say(STORY[4], 2)

    [change] = memory.consolidate(user_id="ana")
    assert change.record_id == old


def test_an_older_message_that_arrives_late_is_outdated_by_what_is_there(memory: Memory, say: Say) -> None:
    say("User sold the kayak.", 10)
    memory.consolidate(user_id="ana")
    late = say("User owns a kayak.", 1)

    [change] = memory.consolidate(user_id="ana")
    assert change.record_id == late


def test_incremental_runs_end_where_one_run_ends(memory: Memory, say: Say, tmp_path: Any) -> None:
    for day, text in enumerate(STORY):
        say(text, day)
        memory.consolidate(user_id="ana")
    step_by_step = statuses(memory)
    with Memory.open(tmp_path / "other.db", embedder=memory.embedder) as other:
        for turn in memory.turns(user_id="ana"):
            other.add(turn.turn, user_id="ana")
        other.consolidate(user_id="ana")
        assert statuses(other) == step_by_step


@pytest.mark.parametrize("stop_at", range(1, 9))
def test_an_interrupted_run_goes_on(memory: Memory, say: Say, monkeypatch: Any, stop_at: int) -> None:
    for day, text in enumerate(STORY):
        say(text, day)
    calls = 0
    apply = memory.store.apply

    def stopping(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == stop_at:
            raise KeyboardInterrupt
        return apply(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(memory.store, "apply", stopping)
        with suppress(KeyboardInterrupt):
            memory.consolidate(user_id="ana")
    memory.consolidate(user_id="ana")

    wanted = [STORY[0], STORY[2], STORY[3], STORY[4]]
    assert sorted(text for text, status in statuses(memory).items() if status is not Status.ACTIVE) == sorted(wanted)
    assert len({change.record_id for change in memory.store.changes("ana")}) == 5


def test_users_and_agents_are_apart(memory: Memory, say: Say) -> None:
    say(STORY[0], 0, "ana")
    say(STORY[4], 2, "ben")
    assert memory.consolidate(user_id="ana") == memory.consolidate(user_id="ben") == ()


def test_as_of_reads_see_what_was_true_then(memory: Memory, say: Say) -> None:
    old = say("User lives in Bristol.", 0)
    new = say("User moved to Leeds.", 10)
    memory.consolidate(user_id="ana")

    now = [hit.record.id for hit in memory.search("Where does User live?", user_id="ana").results]
    then = memory.search("Where does User live?", user_id="ana", as_of="2026-03-05T00:00:00+00:00").results
    assert new in now and old not in now
    assert [hit.record.id for hit in then] == [old]


def test_state_pass_in_time_order(make: Any) -> None:
    texts = [
        "User lives in Rome.",
        "User lives in Rome.",
        "User lives in Oslo.",
        "User lives in Rome.",
        "User likes tea.",
    ]
    readings = [Reading(make(str(day), text, day)) for day, text in enumerate(texts)]
    found = [(d.relation, d.older.id, d.newer.id) for d in state_pass(readings)]

    # The return to Rome outdates Oslo and is no copy of the first Rome.
    assert found == [(Relation.DEDUP, "0", "1"), (Relation.SUPERSEDE, "0", "2"), (Relation.SUPERSEDE, "2", "3")]


def test_state_pass_needs_order_and_one_clause(make: Any) -> None:
    at_once = [Reading(make("a", "User is single.")), Reading(make("b", "User is engaged."))]
    longer = [Reading(make("a", "User lives in Rome and has a cat.")), Reading(make("b", "User lives in Oslo.", 1))]
    digits = [Reading(make("a", "User has 2 children.")), Reading(make("b", "User has 3 children.", 1))]
    words = [Reading(make("a", "User has two children.")), Reading(make("b", "User has 3 children.", 1))]

    assert not list(state_pass(at_once)) and not list(state_pass(longer)) and not list(state_pass(words))
    assert [d.relation for d in state_pass(digits)] == [Relation.SUPERSEDE]


def test_a_document_is_left_unread_and_counted(memory: Memory, say: Say) -> None:
    say("mega word " * 100_000, 0)
    say("User lives in Bristol.", 1)
    say("User moved to Leeds.", 2)
    report = Consolidator(memory.store).run("ana")
    assert report.counts["too_long"] == 1
    assert statuses(memory)["User lives in Bristol."] is Status.SUPERSEDED
