"""Each reward looks at one thing; better answers earn more, and nothing earns by saying nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from engrain.models.extractor.preferences import rank_answers
from engrain.models.extractor.rewards import REWARDS, Judged, reward
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.prompts import PROMPT_HASH, render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import (
    Dimensions,
    ExtractedRecord,
    ExtractionExample,
    MemoryType,
    Role,
    Split,
    Turn,
    WindowStyle,
)

TEXTS = (
    "Hi there!",
    "I keep three goats behind the mill in Évora.",
    "My sister Ana bought a blue van because hers broke.",
)
TURNS = tuple(
    Turn(id=f"t{n}", session_id="s", role=Role.USER, speaker="", text=text, timestamp=datetime(2026, 3, 2, tzinfo=UTC))
    for n, text in enumerate(TEXTS)
)
WINDOW = Window(TURNS)


def record(source: int, content: str, **dimension: Any) -> ExtractedRecord:
    return ExtractedRecord(
        source_id=source, content=content, dimension=Dimensions(memory_type=MemoryType.FACT, **dimension)
    )


GOLD = (
    record(2, "The user keeps three goats behind the mill in Évora.", location="Évora"),
    record(3, "The user's sister Ana bought a blue van.", reason="hers broke"),
)


def scores(answer: str, gold: tuple[ExtractedRecord, ...] = GOLD) -> dict[str, float]:
    judged = Judged(answer, WINDOW, gold)
    return {name: function(judged) for name, function in REWARDS.items()}


def test_the_gold_answer_earns_everything() -> None:
    assert scores(render_records(GOLD, "compact")) == dict.fromkeys(REWARDS, 1.0)
    assert reward(Judged(render_records(GOLD, "full"), WINDOW, GOLD)) == 1.0


@pytest.mark.parametrize("answer", ["", "I cannot do that.", '{"memories":[{"source_id":2,"content":"The us', "}{"])
def test_what_cannot_be_read_earns_nothing(answer: str) -> None:
    assert reward(Judged(answer, WINDOW, GOLD)) == 0.0


@pytest.mark.parametrize(
    ("change", "name", "value"),
    [
        (lambda rows: [*rows, record(2, rows[0].content.replace("The user", "This user"))], "no_duplicates", 2 / 3),
        (lambda rows: rows[:1], "coverage", 0.5),
        (lambda rows: [rows[0], record(2, rows[1].content, reason="hers broke")], "coverage", 0.5),
        (lambda rows: [rows[0], record(2, rows[1].content, reason="hers broke")], "grounded", 0.5),
        (lambda rows: [rows[0], record(3, rows[1].content, reason="a quarrel with neighbours")], "evidence", 0.5),
        (
            lambda rows: [rows[0], record(3, rows[1].content + " It is a van and it is blue and Ana bought it.")],
            "brevity",
            18 / 30,
        ),
    ],
)
def test_each_fault_costs_its_own_reward(change: Any, name: str, value: float) -> None:
    found = scores(render_records(change(list(GOLD)), "compact"))
    assert found[name] == pytest.approx(value)
    assert reward(Judged(render_records(change(list(GOLD)), "compact"), WINDOW, GOLD)) < 1.0


def test_words_around_the_json_and_bad_records_cost() -> None:
    answer = render_records(GOLD, "compact")
    assert scores(f"Sure: {answer}")["valid_json"] == 0.0
    broken = json.loads(answer)
    broken["memories"][0]["dimension"]["memory_type"] = "opinion"
    assert scores(json.dumps(broken))["schema"] == 0.5


def test_silence_pays_only_where_there_is_nothing_to_say() -> None:
    nothing = '{"memories":[]}'
    assert reward(Judged(nothing, WINDOW, ())) == 1.0
    assert {name for name, value in scores(nothing).items() if value} == {"valid_json", "schema"}
    assert reward(Judged(nothing, WINDOW, GOLD)) < reward(Judged(render_records(GOLD[:1], "full"), WINDOW, GOLD))
    assert reward(Judged(render_records(GOLD, "full"), WINDOW, ())) < 0.7


def example(name: str) -> ExtractionExample:
    return ExtractionExample(
        id=name,
        split=Split.TRAIN,
        style=WindowStyle.LONGMEMEVAL,
        window=TURNS,
        overlap=0,
        records=GOLD,
        teacher="m",
        prompt_hash=PROMPT_HASH["compact"],
    )


def test_the_best_answer_is_paired_with_the_worst() -> None:
    half, best = render_records(GOLD[:1], "compact"), render_records(GOLD, "compact")
    ranked = rank_answers([example("a"), example("b")], [["no", half], [best]], prompt="compact")
    assert [(pair.chosen, pair.rejected) for pair in ranked.pairs] == [(best, "no")]
    assert ranked.pairs[0].margin == 1.0
    assert ranked.undecided == ("b",), "two equal answers teach nothing"
    without = rank_answers([example("a")], [["no", half]], prompt="compact", teacher=False)
    assert without.pairs[0].chosen == half
    with pytest.raises(InputError, match="none of 1 windows has two answers"):
        rank_answers([example("b")], [[best]], prompt="compact")
