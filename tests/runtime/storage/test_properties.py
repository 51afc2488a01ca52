"""Any sequence of adds, updates, deletes and searches against a plain dictionary, on both stores."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from numpy.typing import NDArray

from engrain.runtime.memory import Memory
from engrain.runtime.storage.postgres import PostgresSettings, PostgresStore
from engrain.runtime.storage.sqlite import SQLiteStore
from engrain.runtime.storage.tabular import TabularStore

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
USERS = ("ana", "ben", "ana' OR '1'='1")
TEXTS = st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).filter(str.strip)
METADATA = st.dictionaries(st.sampled_from(["stars", "place"]), st.one_of(st.integers(0, 3), TEXTS), max_size=2)


class Words:
    identity, dimension = "words@1", 16

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), 16), np.float32)
        for row, text in enumerate(texts):
            vectors[row, hashlib.sha256(text.encode()).digest()[0] % 16] = 1.0
        return vectors


class AgainstADictionary(RuleBasedStateMachine):
    """`model`: by user, by record id: text and metadata."""

    def __init__(self, make: StoreMaker) -> None:
        super().__init__()
        self.make = make
        self.name = uuid4().hex
        self.memory = Memory(make(self.name), Words())
        self.model: dict[str, dict[str, tuple[str, dict[str, object]]]] = {user: {} for user in USERS}
        self.said: dict[str, dict[tuple[str, int], None]] = {user: {} for user in USERS}

    def teardown(self) -> None:
        self.memory.close()

    @rule(
        user=st.sampled_from(USERS),
        texts=st.lists(TEXTS, min_size=1, max_size=3),
        minute=st.integers(0, 3),
        metadata=METADATA,
    )
    def add(self, user: str, texts: list[str], minute: int, metadata: dict[str, object]) -> None:
        result = self.memory.add(
            texts, user_id=user, session_id="s", timestamp=NOON + timedelta(minutes=minute), metadata=metadata
        )
        new = [text for place, text in enumerate(texts) if (text, 2 * 60 * minute + place) not in self.said[user]]
        assert len(result.record_ids) == len(new) and result.duplicates == len(texts) - len(new)
        self.said[user].update({(text, 2 * 60 * minute + place): None for place, text in enumerate(texts)})
        self.model[user].update(
            {record_id: (text, metadata) for record_id, text in zip(result.record_ids, new, strict=True)}
        )

    @precondition(lambda self: any(self.model.values()))
    @rule(data=st.data(), asking=st.sampled_from(USERS), text=TEXTS)
    def update(self, data: st.DataObject, asking: str, text: str) -> None:
        owner, record_id = self._some(data)
        changed = self.memory.update(record_id, text, user_id=asking)
        assert (changed is not None) == (owner == asking)
        if changed is not None:
            before, metadata = self.model[owner][record_id]
            assert changed.content == text and changed.metadata == metadata and changed.scope.user_id == owner
            assert self.memory.history(record_id)[-1].before == before
            self.model[owner][record_id] = (text, metadata)

    @precondition(lambda self: any(self.model.values()))
    @rule(data=st.data(), asking=st.sampled_from(USERS))
    def delete(self, data: st.DataObject, asking: str) -> None:
        owner, record_id = self._some(data)
        turns = {turn.turn.id: turn.turn for turn in self.memory.turns(user_id=owner)}
        record = self.memory.get(record_id)
        assert record is not None
        assert self.memory.delete(record_id, user_id=asking) == (owner == asking)
        if owner == asking:
            del self.model[owner][record_id]
            for turn in (turns[turn_id] for turn_id in record.source_turn_ids):
                self.said[owner].pop((turn.text, round(2 * (turn.timestamp - NOON).total_seconds())))

    @rule(user=st.sampled_from(USERS))
    def delete_all(self, user: str) -> None:
        assert self.memory.delete_all(user_id=user) == len(self.model[user])
        self.model[user], self.said[user] = {}, {}

    @rule(user=st.sampled_from(USERS), query=TEXTS)
    def search(self, user: str, query: str) -> None:
        hits = self.memory.search(query, user_id=user, top_k=1_000).results
        assert {hit.id: (hit.memory, hit.metadata) for hit in hits} == self.model[user]
        assert len(hits) == len(self.model[user])

    @rule(user=st.sampled_from(USERS), stars=st.integers(0, 3))
    def search_filtered(self, user: str, stars: int) -> None:
        if any("stars" in metadata for _, metadata in self.model[user].values()):
            hits = self.memory.search("x", user_id=user, top_k=1_000, filters={"stars": stars}).results
            wanted = {key for key, (_, metadata) in self.model[user].items() if metadata.get("stars") == stars}
            assert {hit.id for hit in hits} == wanted

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = Memory(self.make(self.name), Words())

    @invariant()
    def lists_are_the_model(self) -> None:
        for user in USERS:
            records = self.memory.list(user_id=user)
            assert {record.id: (record.content, record.metadata) for record in records} == self.model[user]

    def _some(self, data: st.DataObject) -> tuple[str, str]:
        return data.draw(st.sampled_from([(user, key) for user in USERS for key in self.model[user]]))


class StoreMaker:
    """Opens the store of a name: a file or a schema."""

    def __init__(self, folder: Path, dsn: str | None) -> None:
        self.folder, self.dsn = folder, dsn

    def __call__(self, name: str) -> TabularStore:
        if self.dsn is None:
            return SQLiteStore(self.folder / f"{name}.db", Words.identity, Words.dimension)
        return PostgresStore(self.dsn, Words.identity, Words.dimension, PostgresSettings(schema_name=f"s{name}"))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_store_is_a_dictionary_of_its_users(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    make = StoreMaker(tmp_path, request.getfixturevalue("postgres_dsn") if kind == "postgres" else None)
    run_state_machine_as_test(
        lambda: AgainstADictionary(make),
        settings=settings(
            max_examples=12,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
        ),
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_delete_all_of_ten_thousand_removes_ten_thousand(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    make = StoreMaker(tmp_path, request.getfixturevalue("postgres_dsn") if kind == "postgres" else None)
    with Memory(make("many"), Words()) as memory:
        memory.add([f"text {number}" for number in range(10_000)], user_id="ana", timestamp=NOON)
        memory.add("kept", user_id="ben", timestamp=NOON)
        assert memory.search("text", user_id="ana").results

        assert memory.delete_all(user_id="ana") == 10_000

        assert memory.list(user_id="ana") == [] and memory.search("text", user_id="ana").results == ()
        assert len(memory.list(user_id="ben")) == 1
