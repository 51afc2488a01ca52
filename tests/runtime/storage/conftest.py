"""Small batches for the store, without any model."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from engrain.runtime.schema import MemoryRecord, Role, Scope, Turn
from engrain.runtime.storage.protocol import Admission, Batch, NewTurn
from engrain.runtime.storage.sqlite import SQLiteStore

DIMENSION = 4
START = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)


class MakeBatch(Protocol):
    """A batch of user turns, each with one record that repeats it."""

    def __call__(
        self, *texts: str, user_id: str = "ana", agent_id: str | None = None, session: str = "s1"
    ) -> Batch: ...


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


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with_file = SQLiteStore(path, "tiny@1", DIMENSION)
    yield with_file
    with_file.close()
