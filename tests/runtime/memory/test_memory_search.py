from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.errors import InputError, StoreError
from engrain.runtime.memory import Memory
from engrain.runtime.retrieval.search import SearchSettings
from engrain.runtime.schema import Status
from engrain.runtime.settings import MemorySettings

Open = Callable[..., Memory]
NOON = datetime(2026, 5, 8, 12, 0, tzinfo=UTC)
FACTS = [
    "I adopted a dog called Rex",
    "My sister lives in Lisbon",
    "I am allergic to peanuts",
    "Last week I bought a red bicycle",
    "我在上海的图书馆工作",
]


def contents(memory: Memory, query: str, **options: Any) -> list[str]:
    return [hit.record.content for hit in memory.search(query, **({"user_id": "ana"} | options)).results]


@pytest.fixture
def filled(memory: Memory) -> Memory:
    memory.add(FACTS, user_id="ana", timestamp=NOON)
    return memory


@pytest.mark.parametrize(
    ("query", "place"),
    [("What is the dog's name?", 0), ("Where does her sister live?", 1), ("bicycles", 3), ("图书馆", 4)],
)
def test_the_right_record_comes_first(filled: Memory, query: str, place: int) -> None:
    assert contents(filled, query)[0] == FACTS[place]


def test_a_hit_tells_where_it_comes_from_and_why(filled: Memory) -> None:
    [hit] = filled.search("adopted dog", user_id="ana", top_k=1, explain=True).results

    assert hit.why == "lexical #1 (adopt, dog), dense #1"
    assert set(hit.route_scores) == {"lexical", "dense", "length"} and hit.route_scores["lexical"] > 0
    weights = {"lexical": 1.0, "dense": 0.7, "length": 0.2}
    assert hit.score == pytest.approx(sum(weights[part] * score for part, score in hit.route_scores.items()))
    assert hit.record.source_time == NOON and len(hit.record.source_turn_ids) == 1


def test_a_route_of_weight_zero_is_off(open_memory: Open, embedder: Any) -> None:
    memory = open_memory(settings=MemorySettings(search=SearchSettings.bm25_alone()))
    memory.add(FACTS, user_id="ana")
    embedder.calls.clear()

    [hit] = memory.search("bicycle in winter", user_id="ana").results

    assert set(hit.route_scores) == {"lexical"} and embedder.calls == []


def test_top_k_and_limit_are_one_thing(filled: Memory) -> None:
    assert len(contents(filled, "I", top_k=2)) == len(contents(filled, "I", limit=2)) == 2
    assert len(contents(filled, "I")) == 5
    for bad in ({"top_k": 0}, {"limit": -1}, {"top_k": 2, "limit": 3}, {"top_k": 1.5}, {"top_k": True}):
        with pytest.raises(InputError, match="top_k"):
            contents(filled, "I", **bad)
    with pytest.raises(TypeError):
        contents(filled, "I", k=3)


def test_a_search_never_leaves_its_user(filled: Memory) -> None:
    filled.add("I adopted a cat", user_id="ben")
    filled.add("I adopted a parrot", user_id="ana' OR '1'='1")

    assert contents(filled, "adopted", user_id="ben") == ["I adopted a cat"]
    assert contents(filled, "adopted", user_id="nobody") == []
    assert "I adopted a cat" not in contents(filled, "adopted cat parrot")


def test_agents_and_runs_narrow(filled: Memory) -> None:
    filled.add("I run with the coach", user_id="ana", agent_id="coach", run_id="r1")

    assert contents(filled, "coach dog", agent_id="coach") == ["I run with the coach"]
    assert contents(filled, "coach dog", agent_id="coach", run_id="r2") == []
    assert len(contents(filled, "coach dog")) == 6


@pytest.mark.parametrize(
    "query",
    [
        "'; DROP TABLE records; --",
        'dog" OR NEAR(a b) * ^ AND NOT',
        "dog\x00\x00",
        "dog \ud83d lone",
        "dog " * 250_000,
        "%_[]{}()\\",
        "🙂",
        "the of and",
    ],
    ids=["sql", "fts", "nul", "surrogate", "1MB", "wildcards", "emoji", "stop words"],
)
def test_hostile_queries_are_only_read(filled: Memory, query: str) -> None:
    result = filled.search(query, user_id="ana")

    assert len(result.results) == 5
    assert result.query_characters_cut == max(0, len(query) - 10_000)
    assert len(filled.list(user_id="ana")) == 5


@pytest.mark.parametrize("query", ["", "  \n", None, 7])
def test_an_empty_query_is_refused(filled: Memory, query: Any) -> None:
    with pytest.raises(InputError, match="query is empty"):
        filled.search(query, user_id="ana")


def test_what_another_memory_writes_and_deletes_is_seen_at_the_next_search(filled: Memory, open_memory: Open) -> None:
    assert contents(filled, "guitar lessons")[0] != "I take guitar lessons"
    other = open_memory()

    [new] = other.add("I take guitar lessons", user_id="ana", timestamp=NOON).record_ids
    assert contents(filled, "guitar lessons")[0] == "I take guitar lessons"

    other.delete(new, user_id="ana")
    assert "I take guitar lessons" not in contents(filled, "guitar lessons")

    other.delete_all(user_id="ana")
    assert contents(filled, "dog") == []


def test_indexes_follow_many_deletes_and_equal_a_fresh_one(open_memory: Open) -> None:
    memory = open_memory()
    ids = memory.add([f"fact {number} about topic {number % 7}" for number in range(1500)], user_id="ana").record_ids
    memory.search("topic", user_id="ana")
    for record_id in ids[:1200]:
        memory.delete(record_id)

    fresh = open_memory()
    for query in ("topic 3", "fact 1400", "about"):
        assert contents(memory, query) == contents(fresh, query)
        assert len(contents(memory, query, top_k=1000)) <= 300


def test_rejected_turns_are_found_only_when_asked_and_say_so(open_memory: Open, gate: Any) -> None:
    memory = open_memory(gate=gate)
    memory.add(["I adopted a dog", "lovely weather in Porto"], user_id="ana", timestamp=NOON)

    assert contents(memory, "Porto weather") == ["I adopted a dog"]
    result = memory.search("Porto weather", user_id="ana", include_rejected=True, top_k=2)
    hit = next(hit for hit in result.results if "rejected" in hit.route_scores)
    assert hit.record.content == "lovely weather in Porto" and hit.record.id.startswith("turn:")
    assert hit.why.startswith("rejected by the gate (p = 0.10)")
    assert memory.get(hit.record.id) is None


def test_a_turn_is_found_by_its_neighbours_words(open_memory: Open) -> None:
    memory = open_memory(settings=MemorySettings(search=SearchSettings(dense_weight=0.0)))
    talk = [
        {"role": "assistant", "content": "Which city did the conference take place in?"},
        {"role": "user", "content": "Lisbon, and it rained"},
        {"role": "user", "content": "Anyway, dinner was good"},
    ]
    memory.add(talk, user_id="ana", session_id="s", timestamp=NOON)
    memory.add("I saw the sea", user_id="ana", session_id="t", timestamp=NOON)

    hits = memory.search("conference city", user_id="ana", explain=True).results
    assert hits[0].record.content == "Lisbon, and it rained"
    assert hits[0].why.startswith("lexical #1") and "(" not in hits[0].why  # none of the words is its own


def test_a_late_neighbour_counts_without_new_indexing(open_memory: Open) -> None:
    memory = open_memory(settings=MemorySettings(search=SearchSettings(dense_weight=0.0)))
    memory.add("Lisbon, and it rained", user_id="ana", session_id="s", timestamp=NOON)
    assert contents(memory, "conference") == []
    question = {"role": "assistant", "content": "Where was the conference?"}

    memory.add(question, user_id="ana", session_id="s", timestamp=NOON - timedelta(seconds=5))

    assert contents(memory, "conference") == ["Lisbon, and it rained"]


def test_consolidated_copies_are_no_longer_found_but_kept(open_memory: Open, make_extractor: Any) -> None:
    copies = ("The user has a dog.", "2026-05-08: the user has a dog")
    dimension = {"memory_type": "fact"}
    answer = json.dumps([{"source_id": 1, "content": text, "dimension": dimension} for text in copies])
    memory = open_memory(extractor=make_extractor(lambda window: answer))
    memory.add("I have a dog", user_id="ana", timestamp=NOON)
    assert len(contents(memory, "dog")) == 2

    [change] = memory.consolidate(user_id="ana")

    assert contents(memory, "dog") == ["The user has a dog."]
    dropped = memory.get(change.record_id)
    assert dropped is not None and dropped.status is Status.DROPPED
    assert memory.consolidate(user_id="ana") == ()
    assert memory.store.changes("ana") == [change]


def test_get_list_and_delete_know_their_user(filled: Memory) -> None:
    first = filled.list(user_id="ana", limit=1)[0]

    assert filled.get(first.id, user_id="ana") == first
    assert filled.get(first.id, user_id="ben") is None
    assert not filled.delete(first.id, user_id="ben")
    assert filled.delete(first.id) and filled.get(first.id) is None
    assert len(filled.turns(user_id="ana")) == 4
    assert filled.delete_all(user_id="ana") == 4
    with pytest.raises(InputError):
        filled.list(user_id="ana", limit=0)


def test_reopening_keeps_everything_and_refuses_another_embedder(open_memory: Open, path: Path, embedder: Any) -> None:
    with open_memory() as first:
        first.add(FACTS, user_id="ana", timestamp=NOON)
    with pytest.raises(StoreError, match="closed"):
        first.search("dog", user_id="ana")

    assert contents(open_memory(), "What is the dog's name?")[0] == FACTS[0]
    embedder.identity = "another@2"
    with pytest.raises(StoreError, match=r"'hashing@1'.*'another@2'"):
        open_memory()
