"""What callers get wrong, or send on purpose: one clear error or a harmless answer, and nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from engrain.runtime.errors import InputError, StoreError
from engrain.runtime.memory import Memory
from engrain.runtime.storage.inspection import inspect_store

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
EAST = timezone(timedelta(hours=14))
Open = Callable[..., Memory]


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.add(["I have a dog", "I live in Oslo"], user_id="ana", timestamp=NOON, metadata={"stars": 3})
    return memory


def nested(levels: int) -> dict[str, Any]:
    return {} if not levels else {"in": nested(levels - 1)}


@pytest.mark.parametrize(
    ("messages", "options", "message"),
    [
        (None, {}, "NoneType is no message"),
        (7, {}, "int is no message"),
        (b"bytes", {}, "bytes is no message"),
        ("x", {"timestamp": datetime.max.replace(tzinfo=UTC)}, "end of the calendar"),
        ("x", {"timestamp": datetime.min.replace(tzinfo=EAST)}, "end of the calendar"),
        ("x", {"timestamp": "9999-12-31T23:59:59.999999+00:00"}, "end of the calendar"),
        ([{"content": "x", "timestamp": "0001-01-01T00:00:00+14:00"}], {}, "message 1: .*end of the calendar"),
        ("x", {"timestamp": datetime(2026, 5, 8)}, "no time zone"),
        ("x", {"metadata": nested(65)}, "nested deeper than 64"),
        ("x", {"metadata": {"list": [[[float("inf")]]]}}, "JSON"),
        ("x", {"metadata": {"text": "cut \ud83d"}}, r"lone surrogate \(U\+D83D\)"),
        ("x", {"metadata": {7: "seven"}}, "the name 7 is int"),
        ("x", {"metadata": {"deep": [{None: 1}]}}, "the name None"),
        ("x", {"metadata": [("a", 1)]}, "metadata is list"),
        ("x", {"user_id": "\ud83d"}, "user_id"),
        ("x", {"session_id": ""}, "session_id"),
    ],
)
def test_bad_adds_are_refused_and_nothing_is_written(
    memory: Memory, messages: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        memory.add(messages, **({"user_id": "ana"} | options))

    assert memory.turns(user_id="ana") == []


def test_what_looks_dangerous_is_kept_as_it_is(memory: Memory) -> None:
    odd = "nul \x00, '); DROP TABLE records; --, %s, \ue000, 🙂, \u202e"
    memory.add(odd, user_id=odd, agent_id=odd, session_id=odd, timestamp=NOON, metadata={odd: [odd, nested(30)]})

    [record] = memory.list(user_id=odd, agent_id=odd)
    assert record.content == odd and record.metadata == {odd: [odd, nested(30)]}
    [hit] = memory.search(odd, user_id=odd, session_id=odd, filters={odd: {"contains": odd}}).results
    assert hit.memory == odd and hit.created_at == NOON and hit.updated_at is None
    assert memory.search(odd, user_id="ana").results == ()


@pytest.mark.parametrize("top_k", [0, -1, 1.0, "3", True, float("nan")])
def test_a_top_k_that_is_no_number_of_hits_is_refused(filled: Memory, top_k: Any) -> None:
    with pytest.raises(InputError, match="top_k"):
        filled.search("dog", user_id="ana", top_k=top_k)


def test_numbers_beyond_any_store_are_no_limit(filled: Memory) -> None:
    assert len(filled.search("dog", user_id="ana", top_k=10**30).results) == 2
    assert len(filled.list(user_id="ana", limit=10**30)) == 2
    assert filled.list(user_id="ana", offset=10**30) == [] == filled.turns(user_id="ana", offset=2**63)
    for bad in ({"limit": 0}, {"limit": 1.5}, {"offset": -1}, {"limit": True}, {"offset": "1"}):
        with pytest.raises(InputError):
            filled.list(user_id="ana", **bad)


@pytest.mark.parametrize("verb", ["get", "delete", "history"])
@pytest.mark.parametrize("record_id", [None, "", 7, "\ud83d"])
def test_ids_that_are_none_are_refused(filled: Memory, verb: str, record_id: Any) -> None:
    with pytest.raises(InputError, match="record_id"):
        getattr(filled, verb)(record_id)

    assert len(filled.list(user_id="ana")) == 2


@pytest.mark.parametrize("text", ["", " \n", None, 7, "cut \ud83d"])
def test_an_update_to_no_text_is_refused(filled: Memory, text: Any) -> None:
    [record, _] = filled.list(user_id="ana")

    with pytest.raises(InputError, match="text"):
        filled.update(record.id, text, user_id="ana")

    assert filled.get(record.id) == record


@pytest.mark.parametrize("broken", [np.full((1, 64), np.nan), np.ones((1, 3)), np.full((1, 64), np.inf)])
def test_broken_vectors_change_nothing(filled: Memory, embedder: Any, broken: Any) -> None:
    [record, _] = filled.list(user_id="ana")
    embedder.embed = lambda texts: broken

    for call in (
        lambda: filled.update(record.id, "I have a cat", user_id="ana"),
        lambda: filled.search("dog", user_id="ana"),
        lambda: filled.add("new", user_id="ana"),
    ):
        with pytest.raises(StoreError, match="embedder"):
            call()
    assert filled.get(record.id) == record and len(filled.list(user_id="ana")) == 2


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"colour": "red"}, "the field 'colour' is unknown; known are id, .*stars"),
        ({"stars": {"near": 3}}, "operator 'near' is unknown; use one of eq"),
        ({"stars": {}}, "no operator"),
        ({"stars": {"gt": True}}, "no order"),
        ({"stars": {"gt": float("nan")}}, "no number"),
        ({"stars": None}, "no text, number or truth value"),
        ({"stars": {"in": "3"}}, "no list"),
        ({"or": []}, "the list is empty"),
        ({"not": 3}, "no mapping"),
        ({3: 3}, "no field name"),
        ([("stars", 3)], "no mapping"),
        ({"created_at": {"gt": "2026-05-08T10:00"}}, "no time zone"),
        ({"created_at": {"gt": datetime(2026, 5, 8)}}, "no time zone"),
    ],
)
def test_bad_filters_are_refused_naming_the_place(filled: Memory, filters: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        filled.search("dog", user_id="ana", filters=filters)


def test_a_filter_nested_without_end_is_refused(filled: Memory) -> None:
    deep: dict[str, Any] = {"stars": 3}
    for _ in range(5_000):
        deep = {"not": deep}
    with pytest.raises(InputError, match="deeper than 32"):
        filled.search("dog", user_id="ana", filters=deep)


def test_a_long_query_is_read_in_part_and_the_store_stays_sound(filled: Memory, path: Any) -> None:
    for query in ("dog " * 250_000, "'\"*()^:-" * 100_000, "\x00" * 1_000_000, "狗" * 1_000_000):
        result = filled.search(query, user_id="ana")
        assert result.query_characters_cut == len(query) - 10_000
    filled.close()
    assert inspect_store(path) == []
