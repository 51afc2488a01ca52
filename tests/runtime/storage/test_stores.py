from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from engrain.runtime.errors import StoreError
from engrain.runtime.schema import Change, Relation, Scope, Status
from engrain.runtime.storage.protocol import Batch, Failure
from engrain.runtime.storage.tabular import TabularStore

MakeBatch = Callable[..., Batch]


def drop(record_id: str, before: Status = Status.ACTIVE) -> Change:
    return Change(
        id=uuid4().hex,
        record_id=record_id,
        before=before,
        after=Status.DROPPED,
        relation=Relation.DEDUP,
        decided_by="rules",
        decided_at="2026-05-09T00:00:00+00:00",
    )


def test_what_is_written_is_read_back_whole(store: TabularStore, make_batch: MakeBatch) -> None:
    batch = make_batch("I moved to Lisbon.", "Grüße, 你好 🙂\x00end")

    written = store.write(batch)

    assert written.record_ids == tuple(record.id for record in batch.records)
    assert tuple(store.records("ana")) == batch.records
    assert [stored.turn for stored in store.turns("ana")] == [new.turn for new in batch.turns]


def test_a_turn_written_twice_is_one_and_brings_no_second_record(store: TabularStore, make_batch: MakeBatch) -> None:
    store.write(make_batch("I moved to Lisbon."))

    again = store.write(make_batch("I moved to Lisbon.", "I like it there."))

    assert again.turn_ids == ("s1/I like it there.",)
    assert again.duplicate_turn_ids == ("s1/I moved to Lisbon.",)
    assert len(store.records("ana")) == 2
    assert store.counters("ana") == {"as_given": 2, "records": 2, "turns": 2}


def test_a_failing_batch_leaves_nothing(store: TabularStore, make_batch: MakeBatch) -> None:
    good = make_batch("one", "two")
    twice = Batch(good.scope, good.turns, (good.records[0], good.records[0]), good.vectors)

    with pytest.raises(StoreError, match=r"(?i)unique"):
        store.write(twice)

    assert store.turns("ana") == [] and store.records("ana") == [] and store.counters("ana") == {}


def test_users_and_agents_are_apart(store: TabularStore, make_batch: MakeBatch) -> None:
    store.write(make_batch("secret of ana"))
    store.write(make_batch("secret of ben", user_id="ben"))
    store.write(make_batch("told to an agent", agent_id="coach"))
    [ana_record] = store.records("ana", agent_id=None)[:1]

    assert store.record(ana_record.id, "ben") is None
    assert not store.delete(ana_record.id, "ben")
    assert [record.content for record in store.records("ana", agent_id="coach")] == ["told to an agent"]
    assert store.known_turns(Scope(user_id="ben"), ["s1/secret of ana"]) == {}
    delta = store.changes_since("ben", 0)
    assert delta is not None and [record.content for record in delta.records] == ["secret of ben"]


def test_recent_turns_stop_at_the_given_moment(store: TabularStore, make_batch: MakeBatch) -> None:
    batch = make_batch("a", "b", "c", "d")
    store.write(batch)

    recent = store.recent_turns(batch.scope, "s1", batch.turns[2].turn.timestamp, 2)

    assert [stored.turn.text for stored in recent] == ["b", "c"]


def test_vectors_come_back_bit_for_bit(store: TabularStore, make_batch: MakeBatch) -> None:
    batch = make_batch("a")
    vectors = np.array([[0.1, -1e-30, 1 / 3, 0.9]], dtype=np.float32)
    store.write(Batch(batch.scope, batch.turns, batch.records, vectors))

    delta = store.changes_since("ana", 0)

    assert delta is not None and np.array_equal(delta.vectors, vectors)


def test_another_connection_sees_writes_and_deletes_as_a_delta(
    store: TabularStore, open_store: Callable[..., TabularStore], make_batch: MakeBatch
) -> None:
    other = open_store()
    store.write(make_batch("a", "b"))
    whole = other.changes_since("ana", 0)
    assert whole is not None and whole.restart and len(whole.records) == len(whole.turns) == 2
    assert other.changes_since("ana", whole.version) is None

    store.write(make_batch("c", session="s2"))
    store.delete("ana:None:s1/a")
    delta = other.changes_since("ana", whole.version)
    other.close()

    assert delta is not None and not delta.restart
    assert [record.content for record in delta.records] == ["c"]
    assert delta.removed_records == (whole.records[0].key,)
    assert delta.removed_turns == (whole.turns[0].key,)


def test_delete_removes_the_words_everywhere_in_the_tables(
    store: TabularStore, path: Path, make_batch: MakeBatch
) -> None:
    store.write(make_batch("my password is swordfish", "hello"))
    store.apply("ana", [drop("ana:None:s1/my password is swordfish")])

    assert store.delete("ana:None:s1/my password is swordfish", "ana")
    assert not store.delete("ana:None:s1/my password is swordfish", "ana")

    assert [turn.turn.text for turn in store.turns("ana")] == ["hello"]
    assert store.changes("ana") == []
    assert store.write(make_batch("my password is swordfish")).record_ids  # It can be added again.


def test_delete_all_removes_all_of_one_user_only(store: TabularStore, make_batch: MakeBatch) -> None:
    store.write(make_batch(*(f"turn {number}" for number in range(300))))
    store.write(make_batch("kept", user_id="ben"))
    before = store.changes_since("ana", 0)

    assert store.delete_all("ana") == 300

    assert store.records("ana") == [] and store.turns("ana") == [] and store.counters("ana") == {}
    assert len(store.records("ben")) == 1
    assert before is not None
    after = store.changes_since("ana", before.version)
    assert after is not None and after.restart and after.records == ()


def test_delete_all_of_an_agent_leaves_the_rest(store: TabularStore, make_batch: MakeBatch) -> None:
    store.write(make_batch("mine"))
    store.write(make_batch("the coach's", agent_id="coach"))

    assert store.delete_all("ana", agent_id="coach") == 1

    assert [record.content for record in store.records("ana")] == ["mine"]


def test_status_changes_apply_once_and_are_logged(store: TabularStore, make_batch: MakeBatch) -> None:
    store.write(make_batch("a", "b"))
    change = drop("ana:None:s1/a")

    assert store.apply("ana", [change, drop("ana:None:s1/a"), drop("nobody")]) == (change,)

    assert store.changes("ana") == [change]
    assert [record.content for record in store.records("ana")] == ["b"]
    assert len(store.records("ana", statuses=(Status.ACTIVE, Status.DROPPED))) == 2
    assert store.apply("ben", [drop("ana:None:s1/b")]) == ()


def test_failures_are_kept_and_counted(store: TabularStore, make_batch: MakeBatch) -> None:
    batch = make_batch("a")
    failure = Failure("s1", "no_json", "I cannot do that", "tiny-extractor")

    store.write(Batch(batch.scope, batch.turns, batch.records, batch.vectors, (failure,), {"failed": 1}))

    assert store.failures("ana") == [failure] and store.failures("ben") == []
    assert store.counters("ana")["failed"] == 1


def test_a_closed_store_says_so(store: TabularStore) -> None:
    store.close()
    store.close()

    with pytest.raises(StoreError, match="closed"):
        store.records("ana")


def test_paging_is_in_order_of_arrival(store: TabularStore, make_batch: MakeBatch) -> None:
    store.write(make_batch("a", "b", "c"))

    assert [record.content for record in store.records("ana", limit=1, offset=1)] == ["b"]
    last = store.turns("ana", limit=2)[-1].turn
    assert last.text == "b" and last.timestamp.utcoffset() == timedelta(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_writes_through_a_connection_of_its_own(store: TabularStore, make_batch: MakeBatch) -> None:
    store.write(make_batch("parent"))
    child = multiprocessing.get_context("fork").Process(target=store.write, args=(make_batch("child"),))
    child.start()
    child.join(timeout=30)

    assert child.exitcode == 0
    assert [record.content for record in store.records("ana")] == ["parent", "child"]
    assert store.write(make_batch("parent again")).record_ids
