"""Copies between stores, JSONL and new embedders: everything arrives, and nothing that does not fit is taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from engrain.runtime.errors import InputError, StoreError
from engrain.runtime.storage.dump import dump, from_lines, reembed, restore, table_names, to_lines
from engrain.runtime.storage.inspection import inspect_store
from engrain.runtime.storage.protocol import Batch
from engrain.runtime.storage.sqlite import SQLiteStore
from engrain.runtime.storage.tabular import TabularStore

MakeBatch = Callable[..., Batch]
OpenStore = Callable[..., TabularStore]


@pytest.fixture
def filled(store: TabularStore, make_batch: MakeBatch) -> TabularStore:
    store.write(make_batch("I moved to Lisbon.", "Grüße\x00 \ue000 🙂", "gone"))
    store.write(make_batch("secret of ben", user_id="ben"))
    store.delete("ana:None:s1/gone")
    moved = np.array([0.5, 0.5, 0.5, -0.5], np.float32)
    store.update("ana:None:s1/I moved to Lisbon.", "I moved to Porto.", moved, datetime(2026, 6, 1, tzinfo=UTC))
    return store


def contents(store: TabularStore, user_id: str = "ana") -> list[tuple[str, str]]:
    return [(record.id, record.content) for record in store.records(user_id)]


@pytest.mark.parametrize("way", ["rows", "lines"])
def test_a_copy_holds_everything_and_goes_on_growing(
    filled: TabularStore, tmp_path: Path, make_batch: MakeBatch, way: str
) -> None:
    copy = SQLiteStore(tmp_path / "copy.db", "tiny@1", 4)

    counts = restore(copy, dump(filled)) if way == "rows" else from_lines(list(to_lines(filled)), copy, "a.jsonl")

    assert counts["records"] == counts["vectors"] == counts["turns"] == 3
    assert sorted(map(repr, dump(copy))) == sorted(map(repr, dump(filled)))
    theirs, ours = filled.changes_since("ana", 0), copy.changes_since("ana", 0)
    assert theirs is not None and ours is not None
    assert np.array_equal(theirs.vectors, ours.vectors) and theirs.records == ours.records
    assert copy.revisions("ana:None:s1/I moved to Lisbon.", "ana")[0].before == "I moved to Lisbon."
    assert copy.write(make_batch("and then")).record_ids and copy.write(make_batch("I moved to Lisbon.")).turn_ids == ()
    copy.close()
    assert inspect_store(tmp_path / "copy.db") == []


def test_lines_go_back_into_the_same_kind_of_store(
    filled: TabularStore, open_store: OpenStore, make_batch: MakeBatch
) -> None:
    lines, before = list(to_lines(filled)), contents(filled)
    for user in ("ana", "ben"):
        filled.delete_all(user)
    with filled.database.writing() as connection:
        for table in reversed(table_names()):
            connection.execute(f"DELETE FROM {table}")

    from_lines(lines, filled, "a.jsonl")

    assert contents(filled) == before
    written = filled.write(make_batch("later", "still later"))
    assert len(written.record_ids) == 2 and len(open_store().records("ana")) == 4


def test_what_does_not_fit_is_refused_and_nothing_kept(filled: TabularStore, tmp_path: Path) -> None:
    lines = list(to_lines(filled))
    empty = SQLiteStore(tmp_path / "empty.db", "tiny@1", 4)
    wrong = json.dumps({"table": "sqlite_master", "name": "x"})
    cut = [*lines[:-1], lines[-1][: len(lines[-1]) // 2]]
    for bad, message in (
        ([], "line 1: no JSON"),
        (["{}"], "format None"),
        (cut, f"line {len(lines)}: no JSON"),
        ([lines[0], wrong], "'sqlite_master' is no table"),
        ([lines[0], json.dumps({"table": "turns", "id) VALUES (1); --": 1})], "no column names"),
        ([lines[0].replace("tiny@1", "other@2"), *lines[1:]], "vectors of 'other@2'"),
        ([*lines, json.dumps({"table": "vectors", "record_key": 77, "vector": {"base64": "AAAA"}})], "entries"),
    ):
        with pytest.raises(InputError, match=message):
            from_lines(bad, empty, "a.jsonl")
        assert empty.records("ana") == [] and empty.turns("ana") == []
    with pytest.raises(StoreError, match="holds memories already"):
        restore(filled, [])
    empty.close()


def test_new_vectors_in_place_and_programs_that_still_hold_the_old_ones_are_told(
    filled: TabularStore, open_store: OpenStore, make_batch: MakeBatch
) -> None:
    old = open_store()
    before = contents(filled)

    done = reembed(filled, "wide@2", 6, lambda records: np.eye(6, dtype=np.float32)[: len(records)])

    assert done == 3
    with pytest.raises(StoreError, match="'wide@2' now, not of 'tiny@1'"):
        old.changes_since("ana", 1)
    with pytest.raises(StoreError, match="'wide@2' now"):
        old.write(make_batch("late"))
    with pytest.raises(StoreError, match="wide@2"):
        open_store()
    new = open_store("wide@2", 6)
    delta = new.changes_since("ana", 0)
    assert delta is not None and delta.vectors.shape == (2, 6) and contents(new) == before
    assert {record.embedder for record in new.records("ana")} == {"wide@2"}


def test_a_failing_embedder_leaves_every_vector(filled: TabularStore, open_store: OpenStore) -> None:
    def fail(records: object) -> np.ndarray:
        raise InputError("no such model")

    with pytest.raises(InputError):
        reembed(filled, "wide@2", 6, fail)

    delta = open_store().changes_since("ana", 0)
    assert delta is not None and delta.vectors.shape == (2, 4)
