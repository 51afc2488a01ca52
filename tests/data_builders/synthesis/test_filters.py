"""The filters one by one: what passes, what is refused, and in which words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from engrain.data_builders.synthesis.filters import filter_window
from engrain.data_builders.synthesis.rejects import SynthesisReject
from engrain.data_builders.synthesis.settings import FilterSettings
from engrain.runtime.extraction.parsing import parse_records
from engrain.runtime.extraction.support import support, unsupported_dimensions
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Dimensions, ExtractedRecord, MemoryType, Role, Turn, WindowStyle

TEXT = "I moved to Évora because my landlord sold the house, and I want to open a bakery with Rui. 我不吃花生。"


def window(text: str = TEXT, count: int = 2) -> Window:
    moment = datetime(2026, 3, 2, tzinfo=UTC)
    turns = [
        Turn(id=f"t{n}", session_id="s", role=Role.USER, speaker="Ana", text=text, timestamp=moment)
        for n in range(count)
    ]
    return Window(tuple(turns), 1)


def record(content: str = "The user moved to Évora.", **dimension: Any) -> dict[str, Any]:
    return {"source_id": 2, "content": content, "dimension": {"memory_type": "fact", **dimension}}


def refused(*records: dict[str, Any], style: WindowStyle = WindowStyle.LONGMEMEVAL) -> list[SynthesisReject]:
    result = parse_records(json.dumps({"memories": records}), window())
    settings = FilterSettings(most_dropped=1.0)
    return [reject.reason for reject in filter_window("w", window(), style, result, settings)[1]]


@pytest.mark.parametrize(
    "good",
    [
        record(),
        record(time="2026-03", location="Évora", reason="the landlord sold the house", purpose="to open a bakery"),
        record("用户不吃花生。", keywords=["花生"]),
        record('The user calls the house "my castle".'),
        record("The user's sister said that the bakery opened in May 2026.", keywords=["bakery", "sold house"]),
        record("The user moved house three times last century."),
    ],
)
def test_what_the_window_says_passes(good: dict[str, Any]) -> None:
    assert refused(good) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record("The user moved yesterday."), SynthesisReject.TIME),
        (record("The user moves in two weeks."), SynthesisReject.TIME),
        (record("The user moved three days ago."), SynthesisReject.TIME),
        (record(time="next Friday"), SynthesisReject.TIME),
        (record("She moved to Évora."), SynthesisReject.PRONOUN),
        (record("The user likes my house."), SynthesisReject.PRONOUN),
        (record("I moved to Évora."), SynthesisReject.PRONOUN),
        (record(location="Reykjavik"), SynthesisReject.UNSUPPORTED),
        (record(reason="a quarrel with neighbours"), SynthesisReject.UNSUPPORTED),
        (record(keywords=["motorcycle", "racing"]), SynthesisReject.UNSUPPORTED),
        ({**record(), "source_id": 1}, SynthesisReject.IN_OVERLAP),
        ({**record(), "source_id": 7}, SynthesisReject.OUTSIDE_WINDOW),
        ({**record(), "content": " "}, SynthesisReject.SCHEMA),
    ],
)
def test_what_it_does_not_say_is_refused(bad: dict[str, Any], reason: SynthesisReject) -> None:
    assert refused(bad) == [reason]


def test_a_sentence_of_two_people_has_to_name_somebody() -> None:
    assert refused(record("The baker sold the house."), style=WindowStyle.LOCOMO) == [SynthesisReject.PRONOUN]
    assert refused(record("Ana moved to the south."), style=WindowStyle.LOCOMO) == []


def test_a_window_is_refused_when_most_of_it_was() -> None:
    result = parse_records(json.dumps({"memories": [record(), record("It rains."), record("He left.")]}), window())
    records, rejects = filter_window("w", window(), WindowStyle.LONGMEMEVAL, result, FilterSettings())
    assert records is None
    assert rejects[-1].reason is SynthesisReject.MOSTLY_REFUSED
    assert rejects[-1].detail == "2 of 3 records were refused"


def test_nothing_is_an_answer_only_where_nothing_was_said() -> None:
    nothing = '{"memories":[]}'
    for said, empty in (
        (TEXT, True),
        ("Thanks, that helps!", False),
        ("Could you tell me how I bake my bread?", False),
    ):
        result = parse_records(nothing, window(said))
        records, rejects = filter_window("w", window(said), WindowStyle.LONGMEMEVAL, result, FilterSettings())
        assert (records is None, [one.reason for one in rejects]) == (empty, [SynthesisReject.EMPTY] * empty)


def test_support_compares_beginnings_of_words_in_any_script() -> None:
    assert support("baking at the harbour", ["The bakings of harbours."]) == 1.0
    assert support("花生", ["我不吃花生。"]) == 1.0
    assert support("香菜", ["我不吃花生。"]) == 0.0
    assert support("goats and sheep", ["three goats"]) == 0.5
    dimension = Dimensions(memory_type=MemoryType.FACT, location="Lisbon", keywords=("Évora", "bakery"))
    found = ExtractedRecord(source_id=2, content="x", dimension=dimension)
    assert unsupported_dimensions(found, window()) == ("location",)
