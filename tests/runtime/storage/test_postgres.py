"""What is PostgreSQL's own: servers that are not there, names of schemas, empty databases."""

from __future__ import annotations

import socket

import pytest

from engrain.runtime.errors import InputError, StoreError
from engrain.runtime.storage.postgres import PostgresSettings, PostgresStore, open_stored

QUICK = PostgresSettings(connect_timeout_s=1)


def test_a_server_that_is_not_there_is_named_in_one_line() -> None:
    with pytest.raises(StoreError, match=r"PostgreSQL: .*connection"):
        PostgresStore("postgresql://nobody@127.0.0.1:1/none", "tiny@1", 4, QUICK)
    with pytest.raises(StoreError, match="PostgreSQL: "):
        PostgresStore("postgresql://%zz", "tiny@1", 4, QUICK)


def test_a_server_that_does_not_answer_is_not_taken_for_a_lock() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with pytest.raises(StoreError, match="the server does not answer"):
            PostgresStore(f"postgresql://nobody@127.0.0.1:{port}/none", "tiny@1", 4, QUICK)


@pytest.mark.parametrize("name", ["", "Engrain", "a; DROP SCHEMA public", "1a", "x" * 64])
def test_a_schema_name_is_a_plain_name(postgres_dsn: str, name: str) -> None:
    with pytest.raises(InputError, match="schema_name"):
        PostgresStore(postgres_dsn, "tiny@1", 4, PostgresSettings(schema_name=name))


def test_a_database_without_memories_is_not_filled_by_looking(postgres_dsn: str) -> None:
    for _ in range(2):
        with pytest.raises(StoreError, match="no memory in its schema untouched"):
            open_stored(postgres_dsn, PostgresSettings(schema_name="untouched"))


def test_another_embedder_is_refused_naming_both(postgres_dsn: str) -> None:
    settings = PostgresSettings(schema_name="taken")
    PostgresStore(postgres_dsn, "tiny@1", 4, settings).close()

    with pytest.raises(StoreError, match=r"'tiny@1' \(4 dimensions\).*'other@2' \(5 dimensions\)"):
        PostgresStore(postgres_dsn, "other@2", 5, settings)
    assert open_stored(postgres_dsn, settings).embedder == "tiny@1"
