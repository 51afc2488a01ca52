"""Undoing: in any order that the log allows, the store is as it was, byte for byte."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from word_records import START, WordEmbedder

from engrain.runtime.errors import InputError
from engrain.runtime.memory import Memory
from engrain.runtime.schema import Change, Relation, Status

NOW = datetime(2026, 5, 1, tzinfo=UTC)
POOL = [
    "User lives in Rome.",
    "User lives in Oslo.",
    "User moved to Turin.",
    "User has a cat and works at Bosch.",
    "User left Bosch.",
    "User gave away the cat.",
    "User likes punk.",
    "User doesn't like punk any more.",
    "User needs to call the plumber.",
    "User called the plumber.",
    "User's list has milk, eggs and bread.",
    "User removed eggs from the list.",
    "User plays the cello.",
    "User plays the cello in an orchestra.",
]


def export(memory: Memory) -> bytes:
    """Every record whole, with its vector, and the log."""
    records = [r.model_dump(mode="json") for r in memory.list(user_id="ana", statuses=tuple(Status))]
    delta = memory.store.changes_since("ana", 0)
    vectors = [] if delta is None else [vector.tobytes().hex() for vector in delta.vectors]
    log = [change.model_dump(mode="json") for change in memory.store.changes("ana")]
    turns = [turn.turn.model_dump(mode="json") for turn in memory.turns(user_id="ana")]
    return json.dumps([records, vectors, log, turns], sort_keys=True).encode()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(st.sampled_from(POOL), min_size=2, max_size=12),
    order=st.randoms(use_true_random=False),
    merge=st.booleans(),
)
def test_undoing_everything_restores_the_store(said: list[str], order: object, merge: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "m.db", embedder=WordEmbedder()) as memory:
        for day, text in enumerate(said):
            memory.add({"role": "user", "content": text}, user_id="ana", timestamp=START + timedelta(days=day))
        before = export(memory)
        if merge:
            merge_two(memory)
        memory.consolidate(user_id="ana")
        undo_all(memory, order)
        assert export(memory) == before


def merge_two(memory: Memory) -> tuple[Change, ...]:
    """Merge the first two active records, as DimMem's update does."""
    older, newer = memory.list(user_id="ana")[:2]
    merged = newer.model_copy(update={"id": "merged", "content": f"{older.content} {newer.content}", "links": ()})
    changes = [
        Change(
            id=f"merge-{record.id}", record_id=record.id, other_id="merged", before=Status.ACTIVE,
            after=Status.SUPERSEDED, relation=Relation.MERGE, decided_by="m", decided_at=NOW,
        )
        for record in (older, newer)
    ]  # fmt: skip
    [vector] = memory.embedder.embed([merged.content])
    return memory.store.merge("ana", merged, vector, changes)


def undo_all(memory: Memory, order: object) -> None:
    """Undo in random order; what builds on a later change waits for it."""
    while log := memory.store.changes("ana"):
        order.shuffle(log)  # type: ignore[attr-defined]
        undone = 0
        for change in log:
            try:
                undone += len(memory.undo(change.id, user_id="ana"))
            except InputError:
                continue
        assert undone, "no order is left"


def test_an_undone_change_leaves_the_log_and_is_kept_apart(memory: Memory, say: Callable[..., str]) -> None:
    old = say("User lives in Rome.")
    say("User moved to Turin.", 2)
    [change] = memory.consolidate(user_id="ana")
    memory.undo(change.id, user_id="ana")

    assert memory.store.changes("ana") == []
    assert [undone for undone, _ in memory.store.undone_changes("ana")] == [change]
    record = memory.get(old)
    assert record is not None and record.status is Status.ACTIVE
    assert memory.consolidate(user_id="ana") == (), "what a person took back is not done again"


def test_a_merge_adds_a_record_and_its_undo_removes_only_that(memory: Memory, say: Callable[..., str]) -> None:
    names = [say("User has a dog."), say("User has a dog named Biscuit.", 1)]
    before = export(memory)
    changes = merge_two(memory)

    merged = memory.get("merged")
    assert merged is not None and {link.record_id for link in merged.links} == set(names)
    assert [turn.turn.text for turn in memory.sources(merged)] == ["User has a dog.", "User has a dog named Biscuit."]
    assert [record.id for record in memory.list(user_id="ana")] == ["merged"]
    assert [change.record_id for change in memory.undo(changes[1].id, user_id="ana")] == names
    assert export(memory) == before


def test_a_merge_with_a_record_that_changed_meanwhile_writes_nothing(memory: Memory, say: Callable[..., str]) -> None:
    say("User likes punk.")
    say("User doesn't like punk any more.", 2)
    memory.consolidate(user_id="ana")
    say("User plays chess.", 3)
    active = memory.list(user_id="ana", statuses=tuple(Status))
    older, newer = active[0], active[2]
    change = Change(
        id="x", record_id=older.id, other_id="merged", before=Status.ACTIVE, after=Status.SUPERSEDED,
        relation=Relation.MERGE, decided_by="m", decided_at=NOW,
    )  # fmt: skip
    merged = newer.model_copy(update={"id": "merged"})
    [vector] = memory.embedder.embed(["x"])

    assert memory.store.merge("ana", merged, vector, [change]) == ()
    assert memory.get("merged") is None


def test_what_another_change_builds_on_is_not_undone_first(memory: Memory, say: Callable[..., str]) -> None:
    say("User has a dog.")
    say("User has a dog named Biscuit.", 1)
    [first, _] = merge_two(memory)
    change = Change(
        id="later", record_id="merged", other_id=None, before=Status.ACTIVE, after=Status.DROPPED,
        relation=Relation.DEDUP, decided_by="m", decided_at=NOW,
    )  # fmt: skip
    assert memory.store.apply("ana", [change]) == (change,)

    with pytest.raises(InputError, match="later builds on it"):
        memory.undo(first.id, user_id="ana")


def test_an_unknown_change_names_the_way_out(memory: Memory) -> None:
    with pytest.raises(InputError, match="engrain memory log"):
        memory.undo("nothing", user_id="ana")


def test_what_replaces_a_record_must_be_active_and_another(memory: Memory, say: Callable[..., str]) -> None:
    one, two = say("User plays chess."), say("User plays go.", 1)
    draft = Change(
        id="a", record_id=one, other_id=two, before=Status.ACTIVE, after=Status.SUPERSEDED,
        relation=Relation.SUPERSEDE, decided_by="m", decided_at=NOW,
    )  # fmt: skip
    back = draft.model_copy(update={"id": "b", "record_id": two, "other_id": one})
    itself = back.model_copy(update={"id": "c", "other_id": two})
    beyond = back.model_copy(update={"id": "d", "other_id": None, "after": Status.ACTIVE, "part": (3, 99)})

    assert memory.store.apply("ana", [draft, back, itself, beyond]) == (draft,)
