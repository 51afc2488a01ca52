"""Small batches for the store, without any model."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import numpy as np
import pytest

from engrain.runtime.schema import MemoryRecord, Role, Scope, Turn
from engrain.runtime.storage.postgres import PostgresSettings, PostgresStore
from engrain.runtime.storage.protocol import Admission, Batch, NewTurn
from engrain.runtime.storage.sqlite import SQLiteStore
from engrain.runtime.storage.tabular import TabularStore

DIMENSION = 4
START = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)


class MakeBatch(Protocol):
    """A batch of user turns, each with one record that repeats it."""

    def __call__(
        self, *texts: str, user_id: str = "ana", agent_id: str | None = None, session: str = "s1"
    ) -> Batch: ...


OpenStore = Callable[..., TabularStore]


@pytest.fixture
def make_batch() -> MakeBatch:
    def make(*texts: str, user_id: str = "ana", agent_id: str | None = None, session: str = "s1") -> Batch:
        scope = Scope(user_id=user_id, agent_id=agent_id)
        turns = [
            Turn(
                id=f"{session}/{text}",
                session_id=session,
                role=Role.USER,
                speaker="Ana",
                text=text,
                timestamp=START + timedelta(seconds=place),
            )
            for place, text in enumerate(texts)
        ]
        records = tuple(record_of(turn, scope) for turn in turns)
        vectors = np.eye(DIMENSION, dtype=np.float32)[np.arange(len(turns)) % DIMENSION]
        return Batch(scope, tuple(NewTurn(turn, Admission.AS_GIVEN) for turn in turns), records, vectors)

    return make


def record_of(turn: Turn, scope: Scope) -> MemoryRecord:
    return MemoryRecord(
        id=f"{scope.user_id}:{scope.agent_id}:{turn.id}",
        scope=scope,
        content=turn.text,
        source_time=turn.timestamp,
        source_speaker=turn.speaker,
        ingest_time=START,
        source_turn_ids=(turn.id,),
        extractor="as_given",
        embedder="tiny@1",
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """A PostgreSQL server with pgvector of this session's own.

    Not under pytest's folder: the server runs as a user of its own when the tests run as root, and cannot enter that.
    """
    pytest.importorskip("psycopg")
    pgserver = pytest.importorskip("pgserver")
    folder = tempfile.mkdtemp(prefix="engrain-postgres-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, path: Path) -> Iterator[OpenStore]:
    """Opens the same store again and again: a file, or a schema of a database."""
    opened: list[TabularStore] = []
    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else ""
    schema = f"s{uuid4().hex}"

    def make(embedder: str = "tiny@1", dimension: int = DIMENSION) -> TabularStore:
        store: TabularStore
        if dsn:
            store = PostgresStore(dsn, embedder, dimension, PostgresSettings(schema_name=schema))
        else:
            store = SQLiteStore(path, embedder, dimension)
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> TabularStore:
    return open_store()
