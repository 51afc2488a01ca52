"""Filters, sessions, earlier moments, updated texts and their history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engrain.runtime.async_memory import AsyncMemory
from engrain.runtime.errors import InputError
from engrain.runtime.memory import Memory
from engrain.runtime.schema import Change, Relation, Status

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def contents(memory: Memory, query: str = "I", **options: Any) -> list[str]:
    return sorted(hit.memory for hit in memory.search(query, **({"user_id": "ana"} | options)).results)


@pytest.fixture
def filled(memory: Memory) -> Memory:
    places = [
        ("I ate in Rome", {"stars": 4, "tags": ["food", "trip"], "done": True}),
        ("I slept in Oslo", {"stars": 2, "tags": ["trip"], "place": "Oslo"}),
        ("I ran home", {"stars": 4.5, "place": "Bergen"}),
        ("I read a book", {}),
    ]
    for number, (text, metadata) in enumerate(places):
        moment = NOON + number * DAY
        memory.add(text, user_id="ana", session_id=f"s{number}", timestamp=moment, metadata=metadata)
    return memory


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (None, "aelr"),
        ({}, "aelr"),
        ({"stars": 4}, "a"),
        ({"done": True}, "a"),
        ({"done": 1}, ""),
        ({"stars": {"ne": 4}}, "elr"),
        ({"stars": {"in": [2, 4.5]}}, "lr"),
        ({"stars": {"gte": 4}}, "ar"),
        ({"stars": {"gt": 2, "lt": 4.5}}, "a"),
        ({"stars": {"lte": "4"}}, ""),
        ({"place": {"gte": "Bergen", "lt": "C"}}, "r"),
        ({"tags": {"contains": "food"}}, "a"),
        ({"memory": {"contains": "READ"}}, "e"),
        ({"tags": {"contains": "trip"}, "place": "Oslo"}, "l"),
        ({"or": [{"stars": 4}, {"place": "Bergen"}]}, "ar"),
        ({"AND": [{"stars": {"gt": 1}}, {"NOT": {"place": {"in": ["Oslo", "Bergen"]}}}]}, "a"),
        ({"not": [{"stars": {"gt": 1}}]}, "e"),
        ({"session_id": {"in": ["s1", "s3"]}}, "el"),
        ({"created_at": {"gte": NOON + DAY, "lt": "2026-05-10T14:00:01+02:00"}}, "lr"),
        ({"metadata.stars": 2}, "l"),
    ],
)
def test_filters_narrow_before_ranking(filled: Memory, filters: Any, expected: str) -> None:
    letters = {"I ate in Rome": "a", "I slept in Oslo": "l", "I ran home": "r", "I read a book": "e"}

    assert "".join(sorted(letters[text] for text in contents(filled, filters=filters))) == expected


def test_a_filter_sees_what_was_added_and_changed_since_the_last_one(filled: Memory) -> None:
    assert contents(filled, filters={"stars": 4}) == ["I ate in Rome"]
    [new] = filled.add("I swam", user_id="ana", metadata={"stars": 4, "depth": 3}).record_ids

    assert contents(filled, filters={"stars": 4}) == ["I ate in Rome", "I swam"]
    assert contents(filled, filters={"depth": 3}) == ["I swam"]
    filled.update(new, "I swam far", user_id="ana")
    assert contents(filled, filters={"depth": 3}) == ["I swam far"]
    filled.delete(new)
    assert contents(filled, filters={"stars": 4}) == ["I ate in Rome"]


def test_sessions_narrow_like_agents_and_runs(filled: Memory) -> None:
    assert contents(filled, session_id="s2") == ["I ran home"]
    assert contents(filled, session_id="none") == []
    assert contents(filled, session_id="s2", agent_id="coach") == []


def test_as_of_answers_from_what_had_been_said_by_then(filled: Memory) -> None:
    assert contents(filled, as_of=NOON + DAY) == ["I ate in Rome", "I slept in Oslo"]
    assert contents(filled, as_of=NOON - DAY) == []
    assert contents(filled, as_of=(NOON + DAY).isoformat(), filters={"stars": 2}) == ["I slept in Oslo"]
    with pytest.raises(InputError, match=r"as_of: .* no time zone"):
        contents(filled, as_of=datetime(2026, 5, 8))


def test_as_of_shows_what_was_replaced_later_as_it_stood(filled: Memory) -> None:
    old, new = (filled.search(text, user_id="ana", top_k=1).results[0].record for text in ("Rome ate", "read book"))
    decided = NOON + 30 * DAY
    change = Change(
        id="c1", record_id=old.id, other_id=new.id, before=Status.ACTIVE, after=Status.SUPERSEDED,
        relation=Relation.SUPERSEDE, decided_by="rules", decided_at=decided,
    )  # fmt: skip
    assert filled.store.apply("ana", [change]) == (change,)

    assert old.content not in contents(filled)
    [then] = filled.search(
        "I", user_id="ana", as_of=new.source_time - timedelta(seconds=1), filters={"stars": 4}
    ).results
    assert then.memory == old.content and then.record.status is Status.ACTIVE
    assert old.content not in contents(filled, as_of=new.source_time)
    # By ingest time the decision counts, whenever the newer statement was made.
    later = datetime.now(UTC) + DAY
    assert (old.content in contents(filled, as_of_ingest=later)) == (decided > later)
    assert contents(filled, as_of_ingest=NOON - 9 * DAY) == []


def test_a_text_update_keeps_all_else_and_tells_what_was(filled: Memory) -> None:
    [hit] = filled.search("Oslo", user_id="ana", top_k=1).results
    before, at = hit.record, datetime.now(UTC) + timedelta(hours=1)

    assert filled.update(before.id, "I slept in Bodø", user_id="ben") is None
    after = filled.update(before.id, "I slept in Bodø", user_id="ana", timestamp=at)

    assert after == before.model_copy(update={"content": "I slept in Bodø", "updated_at": at})
    assert filled.search("Bodø", user_id="ana", top_k=1).results[0].updated_at == at
    assert filled.search("Bodø", user_id="ana", top_k=1).results[0].metadata == before.metadata
    events = filled.history(before.id, user_id="ana")
    assert [(event.action, event.before, event.after) for event in events] == [
        ("added", "", "I slept in Oslo"),
        ("updated", "I slept in Oslo", "I slept in Bodø"),
    ]
    assert filled.history(before.id, user_id="ben") == () == filled.history("nothing")
    asked = datetime.now(UTC)
    assert "I slept in Oslo" in contents(filled, as_of_ingest=asked)
    assert filled.delete(before.id) and filled.history(before.id) == ()
    assert filled.store.revisions(before.id, "ana") == []


def test_infer_false_keeps_turns_as_given(open_memory: Callable[..., Memory], gate: Any, make_extractor: Any) -> None:
    memory = open_memory(gate=gate, extractor=make_extractor(lambda window: "no json"))

    result = memory.add(["Rex", "ok"], user_id="ana", infer=False)

    assert result.records == 2 and result.rejected == 0 and gate.batches == []
    assert {record.extractor for record in memory.list(user_id="ana")} == {"as_given"}


def test_the_same_verbs_can_be_awaited(open_memory: Callable[..., Memory]) -> None:
    async def talk() -> list[str]:
        async with AsyncMemory(open_memory()) as memory:
            adds = [memory.add(f"I have {number} cats", user_id="ana", timestamp=NOON) for number in range(20)]
            added = await asyncio.gather(*adds)
            [record_id] = added[7].record_ids
            assert await memory.update(record_id, "I have no cats", user_id="ana") is not None
            assert [event.action for event in await memory.history(record_id)] == ["added", "updated"]
            with pytest.raises(InputError, match="query is empty"):
                await memory.search("", user_id="ana")
            with pytest.raises(TypeError):
                await memory.search("cats", user="ana")  # type: ignore[call-arg]
            assert await memory.delete(added[0].record_ids[0])
            found = await asyncio.gather(*[memory.search("cats", user_id="ana", top_k=50) for _ in range(8)])
            return [hit.memory for hit in found[-1].results]

    texts = asyncio.run(talk())

    assert len(texts) == 19 and "I have no cats" in texts and "I have 7 cats" not in texts
