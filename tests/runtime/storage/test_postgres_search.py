"""Scopes too large to load: the database chooses candidates, by words and by vectors."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from numpy.typing import NDArray

from engrain.runtime.memory import Memory, MemorySettings
from engrain.runtime.schema import Status
from engrain.runtime.storage.postgres import PostgresSettings, PostgresStore

DEPTH = 20
QUESTIONS = 60
EMBEDDERS = Path.home() / ".cache" / "engrain" / "embedders"


class Given:
    """Vectors of known texts, and of others by their words."""

    identity, dimension = "given@1", 32

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.casefold().replace("?", "").split():
                row += np.random.default_rng(sum(word.encode()) * len(word)).standard_normal(self.dimension)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-9))


def _settings(schema: str, **changes: Any) -> MemorySettings:
    return MemorySettings(postgres=PostgresSettings(schema_name=schema, **changes))


def _messages(count: int) -> list[dict[str, str]]:
    things = ("kayak", "violin", "garden", "passport", "beehive", "telescope", "bakery", "marathon")
    places = ("Lisbon", "Oslo", "Kyoto", "Quito", "Accra")
    return [
        {
            "role": "user",
            "content": f"I took the {things[n % 8]} to {places[n % 5]} with {_friend(n)}",
            "timestamp": f"2026-01-{1 + n // 24:02d}T{n % 24:02d}:00:00+00:00",
        }
        for n in range(count)
    ]


def _friend(number: int) -> str:
    """A name that one message holds."""
    return f"{'bdfgklmnprstvz'[number % 14]}{'aeiou'[number // 14 % 5]}{'bdfgklmnprstvz'[number // 70 % 14]}orin"


@pytest.fixture
def filled(postgres_dsn: str) -> str:
    """A schema with 300 turns of Ana's and 3 of Bo's."""
    schema = f"s{uuid4().hex}"
    with Memory.open(postgres_dsn, embedder=Given(), settings=_settings(schema)) as memory:
        memory.add(_messages(300), user_id="ana", session_id="one")
        memory.add(_messages(3), user_id="bo", session_id="one")
    return schema


def test_candidates_of_the_database_answer_as_the_whole_memory_does(postgres_dsn: str, filled: str) -> None:
    questions = [f"What did I take along with {_friend(number)}?" for number in (8, 41, 299)]
    with Memory.open(postgres_dsn, embedder=Given(), settings=_settings(filled)) as memory:
        whole = [memory.search(question, user_id="ana", top_k=5) for question in questions]
        assert len(memory.searcher.peek("ana")) == 600
    with Memory.open(postgres_dsn, embedder=Given(), settings=_settings(filled, loaded_limit=10)) as memory:
        chosen = [memory.search(question, user_id="ana", top_k=5) for question in questions]
        memory.search("kayak", user_id="bo")
        assert len(memory.searcher.peek("ana")) == 0, "nothing of a large scope is loaded"
        assert len(memory.searcher.peek("bo")) == 6, "a small scope is"
    for number, one, other in zip((8, 41, 299), whole, chosen, strict=True):
        assert other.results[0].memory.endswith(_friend(number))
        assert [hit.id for hit in one.results[:3]] == [hit.id for hit in other.results[:3]]
        assert all(hit.record.scope.user_id == "ana" for hit in other.results)


def test_what_is_added_updated_and_deleted_shows_at_once(postgres_dsn: str, filled: str) -> None:
    with Memory.open(postgres_dsn, embedder=Given(), settings=_settings(filled, loaded_limit=10)) as memory:
        assert "zeppelin" not in memory.search("zeppelin?", user_id="ana").results[0].memory
        [record_id] = memory.add("A zeppelin passed", user_id="ana", timestamp="2026-03-01T00:00:00+00:00").record_ids
        assert memory.search("zeppelin?", user_id="ana").results[0].id == record_id
        memory.update(record_id, "A dirigible passed", user_id="ana")
        assert memory.search("dirigible?", user_id="ana").results[0].id == record_id
        assert memory.delete(record_id, user_id="ana")
        assert record_id not in {hit.id for hit in memory.search("dirigible?", user_id="ana").results}


@pytest.mark.parametrize("query", ["'; DROP TABLE turns; --", "a & b | !c <-> d:*", "\\' 'x", "% ? %s", "\x00kayak"])
def test_the_syntax_of_queries_is_words(postgres_dsn: str, filled: str, query: str) -> None:
    with Memory.open(postgres_dsn, embedder=Given(), settings=_settings(filled, loaded_limit=10)) as memory:
        memory.search(query, user_id="ana")
        assert len(memory.list(user_id="ana")) == 300


def test_a_filter_is_answered_from_the_whole_scope(postgres_dsn: str, filled: str) -> None:
    with Memory.open(postgres_dsn, embedder=Given(), settings=_settings(filled, loaded_limit=10)) as memory:
        found = memory.search("kayak", user_id="ana", filters={"id": {"ne": "none"}}, top_k=3)
        assert len(found.results) == 3
        assert len(memory.searcher.peek("ana")) == 600


@pytest.fixture(scope="module")
def minilm() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """MiniLM's vectors of LoCoMo's turns, and of its questions."""
    data = Path(os.environ.get("ENGRAIN_DATA", "")) / "locomo" / "locomo5.json"
    bundles = sorted(EMBEDDERS.glob("*minilm*")) if EMBEDDERS.is_dir() else []
    if not os.environ.get("ENGRAIN_DATA") or not data.is_file() or not bundles:
        pytest.skip("wants ENGRAIN_DATA with locomo, and the MiniLM bundle of `engrain doctor`")
    from engrain.runtime.embedding import OnnxEmbedder

    turns, questions = [], []
    for sample in json.loads(data.read_text(encoding="utf-8")):
        sessions = [value for name, value in sample["conversation"].items() if isinstance(value, list)]
        turns += [f"{turn['speaker']}: {turn['text']}" for session in sessions for turn in session]
        questions += [item["question"] for item in sample["qa"]]
    embedder = OnnxEmbedder.load(bundles[0])
    return embedder.embed(sorted(set(turns))), embedder.embed(questions[:: len(questions) // QUESTIONS][:QUESTIONS])


@pytest.mark.full
def test_hnsw_finds_nearly_what_exact_search_finds(
    postgres_dsn: str, minilm: tuple[NDArray[np.float32], NDArray[np.float32]], capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, asked = minilm
    settings = PostgresSettings(schema_name=f"s{uuid4().hex}", loaded_limit=0, vector_search="hnsw")
    store = PostgresStore(postgres_dsn, "minilm@1", vectors.shape[1], settings)
    exact = PostgresStore(
        postgres_dsn, "minilm@1", vectors.shape[1], settings.model_copy(update={"vector_search": "exact"})
    )
    try:
        _write(store, vectors)
        found = 0
        for query in asked:
            best = {int(row) for row in np.argsort(-(vectors @ query), kind="stable")[:DEPTH]}
            assert _nearest(exact, query) == best
            found += len(_nearest(store, query) & best)
    finally:
        store.close()
        exact.close()
    recall = found / (DEPTH * len(asked))
    with capsys.disabled():
        print(f"\nHNSW, {len(vectors)} vectors, {len(asked)} questions: recall at {DEPTH} {recall:.4f}")  # noqa: T201
    assert recall >= 0.98


def _nearest(store: PostgresStore, query: NDArray[np.float32]) -> set[int]:
    selection = store.select("ana", (), query, (Status.ACTIVE,), DEPTH, 0)
    assert selection is not None
    return {int(record.id) for record in selection.delta.records}


def _write(store: PostgresStore, vectors: NDArray[np.float32]) -> None:
    from engrain.runtime.schema import MemoryRecord, Role, Scope, Turn
    from engrain.runtime.storage.protocol import Admission, Batch, NewTurn
    from tests.runtime.storage.conftest import START

    scope = Scope(user_id="ana")
    turns = [
        Turn(id=f"t{row}", session_id="one", role=Role.USER, speaker="Ana", text=f"turn {row}", timestamp=START)
        for row in range(len(vectors))
    ]
    records = tuple(
        MemoryRecord(
            id=str(row), scope=scope, content=turn.text, source_time=START, source_speaker="Ana", ingest_time=START,
            source_turn_ids=(turn.id,), extractor="as_given", embedder="minilm@1",
        )
        for row, turn in enumerate(turns)
    )  # fmt: skip
    store.write(Batch(scope, tuple(NewTurn(turn, Admission.AS_GIVEN) for turn in turns), records, vectors))
