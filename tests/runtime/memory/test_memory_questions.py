"""What a search makes of its question: the past, the assistant's words, the day of asking, another parser."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from engrain.runtime.errors import InputError
from engrain.runtime.memory import Memory, MemorySettings
from engrain.runtime.retrieval.search import SearchSettings
from engrain.runtime.schema import OUTDATED_MARK, Change, MemoryRecord, ParsedQuery, Relation, Status

Open = Callable[..., Memory]
NOW = datetime(2024, 5, 1, tzinfo=UTC)


def say(memory: Memory, text: str, when: datetime, **options: Any) -> str:
    return memory.add(text, user_id="ana", timestamp=when, **options).record_ids[0]


def replace(memory: Memory, old: str, new: str, relation: Relation = Relation.SUPERSEDE) -> None:
    after = Status.DROPPED if relation is Relation.DEDUP else Status.SUPERSEDED
    change = Change(
        id=f"{old}>{new}", record_id=old, other_id=new, before=Status.ACTIVE, after=after, relation=relation,
        basis="state_change", scope="job", anchor="job", decided_by="rules", decided_at=NOW,
    )  # fmt: skip
    assert memory.store.apply("ana", [change])


@pytest.fixture
def jobs(memory: Memory) -> dict[str, str]:
    """A job that was replaced by another, and a repetition of the second."""
    ids = {
        "old": say(memory, "I work at the bakery in Turin", datetime(2023, 1, 1, tzinfo=UTC)),
        "new": say(memory, "I got a job with the harbour office", datetime(2023, 6, 1, tzinfo=UTC)),
        "same": say(memory, "I got a job with the harbour office", datetime(2023, 7, 1, tzinfo=UTC)),
    }
    replace(memory, ids["old"], ids["new"])
    replace(memory, ids["same"], ids["new"], Relation.DEDUP)
    return ids


def test_a_plain_question_sees_what_is_current(memory: Memory, jobs: dict[str, str]) -> None:
    found = memory.search("Who works at the bakery?", user_id="ana").results

    assert [hit.id for hit in found] == [jobs["new"]]


def test_a_question_about_the_past_sees_outdated_records_marked_and_never_redundant_ones(
    memory: Memory, jobs: dict[str, str]
) -> None:
    found = memory.search("Where did I previously work at the bakery?", user_id="ana").results

    assert [hit.id for hit in found] == [jobs["old"], jobs["new"]]
    assert found[0].memory == f"{OUTDATED_MARK} I work at the bakery in Turin" and not found[1].memory.startswith("[")


def test_links_are_followed_beyond_the_budget(memory: Memory, jobs: dict[str, str]) -> None:
    found = memory.search("When did I work at the bakery?", user_id="ana", top_k=1).results

    assert [(hit.id, hit.linked_from) for hit in found] == [(jobs["old"], None), (jobs["new"], jobs["old"])]
    assert "supersession" in found[1].why


def test_links_do_not_leave_the_filter(memory: Memory, jobs: dict[str, str]) -> None:
    narrow = {"created_at": {"lt": "2023-02-01T00:00:00+00:00"}}

    found = memory.search("When did I work at the bakery?", user_id="ana", top_k=1, filters=narrow).results

    assert [hit.id for hit in found] == [jobs["old"]]


def test_history_can_be_turned_off(open_memory: Open, jobs: dict[str, str]) -> None:
    current = open_memory(settings=MemorySettings(search=SearchSettings(history=False)))

    assert [hit.id for hit in current.search("When did I work there?", user_id="ana").results] == [jobs["new"]]


TALK = [
    {"role": "user", "content": "Which soup shall I cook on Friday?"},
    {"role": "assistant", "content": "Try the lentil soup with lemon."},
    {"role": "user", "content": "My soup pot is too small."},
    {"role": "user", "content": "I need a larger soup pot."},
    {"role": "assistant", "content": "A six litre pot would do."},
]


def replies(memory: Memory, question: str, **options: Any) -> dict[str, str | None]:
    found = memory.search(question, user_id="ana", **options).results
    return {hit.memory: hit.reply.text if hit.reply else None for hit in found}


def test_replies_are_attached_when_the_question_needs_them(memory: Memory) -> None:
    memory.add(TALK, user_id="ana", session_id="s1")

    assert replies(memory, "Which soup did you recommend to cook?") == {
        "Which soup shall I cook on Friday?": "Try the lentil soup with lemon.",
        "My soup pot is too small.": None,  # another message of the user follows it
        "I need a larger soup pot.": "A six litre pot would do.",
    }
    assert set(replies(memory, "Which soup pot do I have?").values()) == {None}


@pytest.mark.parametrize(("mode", "attached"), [("never", 0), ("selective", 0), ("always", 2)])
def test_three_modes(memory: Memory, mode: str, attached: int) -> None:
    memory.add(TALK, user_id="ana", session_id="s1")

    found = replies(memory, "Which soup pot do I have?", assistant_recall=mode)

    assert sum(reply is not None for reply in found.values()) == attached


def test_replies_stay_in_their_session_and_with_their_user(memory: Memory) -> None:
    memory.add("Which soup shall I cook?", user_id="ana", session_id="s1", timestamp=NOW)
    memory.add({"role": "assistant", "content": "Another session"}, user_id="ana", session_id="s2", timestamp=NOW)
    memory.add({"role": "assistant", "content": "Another user"}, user_id="ben", session_id="s1", timestamp=NOW)

    assert replies(memory, "Which soup did you recommend?") == {"Which soup shall I cook?": None}


def test_an_unknown_mode_is_refused(memory: Memory) -> None:
    with pytest.raises(InputError, match="never, selective, always"):
        memory.search("soup", user_id="ana", assistant_recall="sometimes")


class Noted:
    """A parser that remembers what it was asked and answers the same every time."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, datetime]] = []

    def parse(self, question: str, asked_at: datetime) -> ParsedQuery:
        self.asked.append((question, asked_at))
        return ParsedQuery(anchor="bakery", needs_assistant_context=True)


def test_another_parser_reads_the_question_as_of_the_day_it_is_asked(open_memory: Open) -> None:
    parser = Noted()
    memory = open_memory(query_parser=parser)
    memory.add(TALK, user_id="ana", session_id="s1")

    found = replies(memory, "soup", asked_at="2024-05-01T08:00:00+02:00")

    assert parser.asked == [("soup", datetime.fromisoformat("2024-05-01T08:00:00+02:00"))]
    assert "Try the lentil soup with lemon." in found.values()


@pytest.mark.parametrize("fusion", ["weighted", "reciprocal", "ordered"])
def test_a_candidate_of_one_route_alone_is_found(open_memory: Open, fusion: str) -> None:
    memory = open_memory(settings=MemorySettings(search=SearchSettings(fusion=fusion, neighbour_weight=0.0)))
    for number in range(40):
        memory.add(f"filler number {number}", user_id="ana", session_id=f"s{number}")
    wanted = say(memory, "zeppelin", NOW, session_id="alone")

    found = memory.search("filler zeppelin", user_id="ana", top_k=40).results

    assert wanted in [hit.id for hit in found]


def test_the_dimension_route_finds_by_time_and_type(open_memory: Open, make_extractor: Any) -> None:
    def script(window: Any) -> str:
        month = window.turns[0].text.split()[-1]
        return json.dumps([
            {
                "source_id": 1,
                "content": f"The user went somewhere in {month}",
                "dimension": {"memory_type": "episodic", "time": month, "location": "", "reason": "", "purpose": "",
                              "keywords": []},
            }
        ])  # fmt: skip

    memory = open_memory(extractor=make_extractor(script))
    for month in ("2023-01", "2023-02", "2023-03"):
        memory.add(f"I went away in {month}", user_id="ana", session_id=month, timestamp=NOW)

    [first, *_] = memory.search("Which trips did I take in February?", user_id="ana", asked_at=NOW).results

    # Everything was said today, in May 2024; the question asks for February 2024, which no record names.
    assert first.route_scores["dimension"] < 1.0
    question = "Which trips did I take in February 2023?"
    [first, *_] = memory.search(question, user_id="ana", asked_at=NOW, explain=True).results
    assert first.record.time == "2023-02" and "dimension #1 (memory_type 1.00, time 1.00" in first.why


def test_every_record_a_hit_holds_is_of_this_user(memory: Memory, jobs: dict[str, str]) -> None:
    memory.add("I previously worked at the bakery", user_id="ben", timestamp=NOW)

    found = memory.search("Where did I previously work at the bakery?", user_id="ana").results

    assert {hit.record.scope.user_id for hit in found} == {"ana"} and all(
        isinstance(hit.record, MemoryRecord) for hit in found
    )


@pytest.mark.parametrize(
    ("wanted", "other", "question"),
    [
        ("我上个月搬到了上海", "我喜欢喝咖啡", "上海"),
        ("先月、京都へ引っ越しました", "コーヒーが好きです", "京都に引っ越した"),
        ("ฉันย้ายไปเชียงใหม่เมื่อเดือนที่แล้ว", "ฉันชอบดื่มกาแฟ", "เชียงใหม่"),
        ("I was adopting kittens", "I like coffee", "who adopted a kitten"),
        ("Я переехал в Казань", "Я люблю кофе", "Казань"),
    ],
)
def test_words_are_found_in_every_script(open_memory: Open, wanted: str, other: str, question: str) -> None:
    memory = open_memory(settings=MemorySettings(search=SearchSettings.bm25_alone()))
    for number, text in enumerate((other, wanted)):
        memory.add(text, user_id="ana", session_id=f"s{number}")

    assert [hit.memory for hit in memory.search(question, user_id="ana").results] == [wanted]
