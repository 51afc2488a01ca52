from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engrain.runtime.errors import StoreError
from engrain.runtime.storage.connections import SQLiteSettings
from engrain.runtime.storage.files import APPLICATION_ID
from engrain.runtime.storage.inspection import inspect_store
from engrain.runtime.storage.migrations import MIGRATIONS, SCHEMA_VERSION
from engrain.runtime.storage.protocol import Batch
from engrain.runtime.storage.sqlite import SQLiteStore

MakeBatch = Callable[..., Batch]


@pytest.fixture
def filled(path: Path, make_batch: MakeBatch) -> Path:
    store = SQLiteStore(path, "tiny@1", 4)
    store.write(make_batch(*(f"turn {number} with some words" for number in range(200))))
    store.close()
    return path


def test_another_embedder_is_refused_naming_both(filled: Path) -> None:
    with pytest.raises(StoreError, match=r"'tiny@1' \(4 dimensions\).*'other@2' \(4 dimensions\)"):
        SQLiteStore(filled, "other@2", 4)
    with pytest.raises(StoreError, match=r"4 dimensions.*8 dimensions"):
        SQLiteStore(filled, "tiny@1", 8)


def test_a_newer_version_is_refused(filled: Path) -> None:
    with sqlite3.connect(filled) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")

    with pytest.raises(StoreError, match="update Engrain"):
        SQLiteStore(filled, "tiny@1", 4)


def test_a_folder_a_missing_folder_and_other_files_are_refused(tmp_path: Path) -> None:
    text, foreign = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("dear diary " * 100)
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    before = text.read_bytes()

    with pytest.raises(StoreError, match="is a folder"):
        SQLiteStore(tmp_path, "tiny@1", 4)
    with pytest.raises(StoreError, match="does not exist"):
        SQLiteStore(tmp_path / "none" / "memory.db", "tiny@1", 4)
    with pytest.raises(StoreError, match="not a memory file"):
        SQLiteStore(text, "tiny@1", 4)
    with pytest.raises(StoreError, match="another program"):
        SQLiteStore(foreign, "tiny@1", 4)
    assert text.read_bytes() == before


def test_a_truncated_file_is_refused_and_left_as_it_is(filled: Path) -> None:
    half = filled.read_bytes()[: filled.stat().st_size // 2]
    filled.write_bytes(half)

    with pytest.raises(StoreError, match="truncated"):
        SQLiteStore(filled, "tiny@1", 4)

    assert filled.read_bytes() == half


def test_a_file_with_overwritten_pages_is_reported_as_damaged(filled: Path) -> None:
    size = filled.stat().st_size
    with filled.open("r+b") as stream:
        stream.seek(4096)
        stream.write(os.urandom(size - 4096))

    with pytest.raises(StoreError, match="damaged"):
        SQLiteStore(filled, "tiny@1", 4).records("ana")


def test_a_read_only_file_is_refused(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled.chmod(0o444)
    if os.access(filled, os.W_OK):  # root may write anything
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != filled)

    with pytest.raises(StoreError, match="read-only"):
        SQLiteStore(filled, "tiny@1", 4)


def test_a_locked_file_can_be_read_and_a_write_gives_up_after_the_timeout(filled: Path, make_batch: MakeBatch) -> None:
    holder = sqlite3.connect(filled, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    store = SQLiteStore(filled, "tiny@1", 4, SQLiteSettings(busy_timeout_s=0.1))

    assert len(store.records("ana")) == 200
    with pytest.raises(StoreError, match=r"locked.*0\.1 s"):
        store.write(make_batch("new"))

    holder.execute("ROLLBACK")
    holder.close()
    assert store.write(make_batch("new")).record_ids
    store.close()


def test_a_copy_without_its_log_is_whole_after_close(filled: Path, tmp_path: Path) -> None:
    copy = shutil.copy(filled, tmp_path / "copy.db")

    assert len(SQLiteStore(copy, "tiny@1", 4).records("ana")) == 200


def test_threads_share_a_store_without_loss(path: Path, make_batch: MakeBatch) -> None:
    store = SQLiteStore(path, "tiny@1", 4)
    errors: list[BaseException] = []

    def add(worker: int) -> None:
        try:
            for number in range(20):
                store.write(make_batch(f"worker {worker} says {number}", session=f"s{worker}"))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == [] and len(store.records("ana")) == 80
    store.close()
    assert inspect_store(path) == []


def test_inspection_finds_what_contradicts(filled: Path) -> None:
    assert inspect_store(filled) == []
    with sqlite3.connect(filled) as connection:
        connection.execute("DELETE FROM vectors WHERE record_key <= 3")
        connection.execute("UPDATE records SET embedder = 'x' WHERE key = 9")

    assert inspect_store(filled) == ["3 records without a vector", "1 records of another embedder"]
    with pytest.raises(StoreError, match="no memory file"):
        inspect_store(filled.with_name("none.db"))


def side_files(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_another_programs_file_is_neither_written_nor_accompanied(tmp_path: Path, mode: str) -> None:
    foreign = tmp_path / "other.db"
    connection = sqlite3.connect(foreign)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("CREATE TABLE cats (name TEXT)")
    connection.commit()
    connection.close()
    before, files = foreign.read_bytes(), side_files(foreign)

    for _ in range(2):
        with pytest.raises(StoreError, match="another program"):
            SQLiteStore(foreign, "tiny@1", 4)
        with pytest.raises(StoreError, match="another program"):
            inspect_store(foreign)

    assert foreign.read_bytes() == before and side_files(foreign) == files


def test_a_file_of_the_first_version_is_brought_up_to_date(path: Path, make_batch: MakeBatch) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in MIGRATIONS[0].statements.split(";"):
        connection.execute(statement)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("embedder", "tiny@1"), ("dimension", "4")])
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO scopes VALUES ('ana', 7, 0)")
    connection.execute(
        "INSERT INTO turns VALUES (1, 7, 'ana', NULL, NULL, 't1', 's1', 'user', 'Ana', 'old', "
        "'2026-05-08T13:56:00+00:00', 1778248560.0, 'as_given', NULL, '{}')"
    )
    connection.execute(
        "INSERT INTO records VALUES (1, 7, 'r1', 'ana', NULL, NULL, 'old', NULL, '', '', '', '', '[]', NULL, NULL, "
        "'2026-05-08T13:56:00+00:00', 'Ana', '2026-05-08T13:56:00+00:00', 'active', '[]', '[]', 'as_given', 'tiny@1', "
        "'{}')"
    )
    connection.execute("INSERT INTO vectors VALUES (1, ?)", (b"\x00" * 16,))
    connection.execute("INSERT INTO record_sources VALUES (1, 0, 1)")
    connection.close()
    with pytest.raises(StoreError, match=f"schema version 1; open it once .* bring it to {SCHEMA_VERSION}"):
        inspect_store(path)

    store = SQLiteStore(path, "tiny@1", 4)
    store.write(make_batch("new"))

    assert [record.content for record in store.records("ana")] == ["old", "new"]
    delta = store.changes_since("ana", 7)
    assert delta is not None and not delta.restart and [record.content for record in delta.records] == ["new"]
    store.close()
    assert inspect_store(path) == []


def test_inspection_writes_nothing_and_reads_what_cannot_be_written(filled: Path) -> None:
    filled.chmod(0o444)
    before, files = filled.read_bytes(), side_files(filled)

    assert inspect_store(filled) == []

    assert filled.read_bytes() == before and side_files(filled) == files


@pytest.mark.parametrize("length", [1, 15, 99, 4_000])
def test_a_file_cut_anywhere_is_refused_and_left_as_it_is(filled: Path, length: int) -> None:
    rest = filled.read_bytes()[:length]
    filled.write_bytes(rest)

    for look in (lambda: SQLiteStore(filled, "tiny@1", 4), lambda: inspect_store(filled)):
        with pytest.raises(StoreError, match=r"truncated|not a memory file"):
            look()

    assert filled.read_bytes() == rest


def test_vectors_that_do_not_fit_are_refused_by_the_store_itself(path: Path, make_batch: MakeBatch) -> None:
    store = SQLiteStore(path, "tiny@1", 4)
    batch = make_batch("a")
    for vectors in (np.full((1, 4), np.nan, np.float32), np.ones((1, 5), np.float32), np.ones((2, 4), np.float32)):
        with pytest.raises(StoreError, match="vector"):
            store.write(Batch(batch.scope, batch.turns, batch.records, vectors))
    assert store.turns("ana") == []
    store.close()


def test_a_limit_on_file_sizes_is_not_called_damage(filled: Path, make_batch: MakeBatch) -> None:
    store = SQLiteStore(filled, "tiny@1", 4)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (filled.stat().st_size, hard))
    try:
        with pytest.raises(StoreError, match=r"could not be read or written .*ulimit -f"):
            store.write(make_batch(*(f"more {number} " + "long words " * 50 for number in range(500))))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        store.close()
    assert inspect_store(filled) == []


def test_a_folder_is_no_memory_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a file"):
        inspect_store(tmp_path)
