"""Context for an answering model: budget, order, marks, replies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from engrain.runtime.retrieval.packing import Order, PackingSettings, estimated_tokens, pack
from engrain.runtime.schema import Hit, MemoryRecord, Reply, Status

Make = Callable[..., MemoryRecord]


def hit(record: MemoryRecord, **changes: Any) -> Hit:
    return Hit(record=record, score=1.0, route_scores={}, **changes)


def words(text: str) -> int:
    return len(text.split())


def test_lines_are_dated_attributed_and_marked(make_record: Make) -> None:
    old = make_record("a", "lives in\nRome", status=Status.SUPERSEDED, source_speaker="Ana", time="2022")

    packed = pack([hit(old)])

    assert packed.text == "[2023-04-29T10:00:00+00:00, Sat] Ana: [OUTDATED; superseded] lives in Rome (time: 2022)"
    assert packed.record_ids == ("a",) and packed.left_out == ()


def test_the_best_that_fit_are_taken_and_put_in_order_of_time(make_record: Make) -> None:
    late = make_record("late", "one two three", source_time=datetime(2023, 5, 1, tzinfo=UTC))
    long = make_record("long", "word " * 50)
    early = make_record("early", "four five", source_time=datetime(2023, 1, 1, tzinfo=UTC))

    packed = pack([hit(late), hit(long), hit(early)], PackingSettings(budget=20), words)

    assert packed.record_ids == ("early", "late") and packed.left_out == ("long",)
    assert packed.tokens == words(packed.text) <= 20
    ranked = pack([hit(late), hit(early)], PackingSettings(order=Order.RANK), words)
    assert ranked.record_ids == ("late", "early")


def test_replies_come_after_records_and_once(make_record: Make) -> None:
    reply = Reply(turn_id="t2", text="try the soup", answers="t1")
    first, second = (hit(make_record(name, name), reply=reply) for name in ("a", "b"))

    packed = pack([first, second])

    assert packed.text.count("assistant: try the soup") == 1 and packed.text.splitlines()[1].startswith("  assistant")
    tight = pack([first, second], PackingSettings(budget=10), words)
    assert tight.record_ids == ("a", "b") and tight.replies_left_out == 2
    assert "assistant" not in pack([first], PackingSettings(replies=False)).text


def test_estimated_tokens_counts_wide_scripts_by_character() -> None:
    assert estimated_tokens("abcdefgh") == 2 and estimated_tokens("在哪里") == 3 and estimated_tokens("") == 0
