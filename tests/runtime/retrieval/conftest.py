"""Records and indexes of the retrieval tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from engrain.runtime.schema import MemoryRecord, Scope

Make = Callable[..., MemoryRecord]


@pytest.fixture
def make_record() -> Make:
    """A record with an id and a text; keyword arguments override."""

    def make(record_id: str = "r1", content: str = "a text", **changes: Any) -> MemoryRecord:
        moment = datetime(2023, 4, 29, 10, tzinfo=UTC)
        values: dict[str, Any] = {
            "id": record_id,
            "scope": Scope(user_id="ana"),
            "content": content,
            "source_time": moment,
            "source_speaker": "user",
            "ingest_time": moment,
            "source_turn_ids": ("t1",),
            "extractor": "test",
            "embedder": "test",
        }
        return MemoryRecord(**values | changes)

    return make
