"""`engrain eval dependency`: the choice of turns, the report, and the bars on Memora weekly."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engrain.recipes.eval_dependency import evaluate, read_ids, read_turns, stand_in
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.dependency.diagnostics import content_tokens, length_ratios, normalised, retained
from engrain.runtime.extraction.dependency.extractor import DependencyExtractor
from engrain.runtime.schema import Role, Turn

DATA = os.environ.get("ENGRAIN_DATA", "")
NEEDS_DATA = pytest.mark.skipif(not Path(DATA, "memora").is_dir(), reason="needs ENGRAIN_DATA with Memora")


def turn(number: int, text: str) -> Turn:
    moment = datetime(2025, 6, 1, tzinfo=UTC)
    return Turn(id=f"t{number}", session_id="s", role=Role.USER, speaker="u", text=text, timestamp=moment)


def test_the_stand_in_takes_positives_then_first_person_words_then_length() -> None:
    turns = [turn(0, "Nice."), turn(1, "I like my tea."), turn(2, "A long remark about it."), turn(3, "Thanks.")]
    assert [one.id for one in stand_in(turns, frozenset({"t3"}), admitted=3)] == ["t3", "t1", "t2"]


def test_content_tokens_leave_function_words_but_not_negations_or_amounts() -> None:
    assert content_tokens("I really don't want to spend $8.50 on the coffee") == [
        "don't", "want", "spend", "$8.50", "coffee",
    ]  # fmt: skip
    assert retained("I like green tea", "User likes tea.") == (3, 2)
    assert normalised(" “I LIKE  tea!” ") == "i like tea"
    assert length_ratios("I like tea.", "I like tea.") == (1.0, 1.0, 1.0)


def test_ids_come_from_text_or_jsonl(tmp_path: Path) -> None:
    plain, rows = tmp_path / "ids.txt", tmp_path / "ids.jsonl"
    plain.write_text("a\n\nb\n", encoding="utf-8")
    rows.write_text(json.dumps({"id": "a", "admitted": True}) + "\n" + json.dumps({"id": "b", "admitted": False}))
    assert read_ids(plain) == {"a", "b"}
    assert read_ids(rows) == {"a"}
    with pytest.raises(InputError, match="not a file"):
        read_ids(tmp_path / "none.txt")


@NEEDS_DATA
@pytest.mark.full
def test_bars_on_memora_weekly() -> None:
    pytest.importorskip("spacy")
    turns, positive = read_turns(Path(DATA) / "memora", "weekly")
    report = evaluate(DependencyExtractor.load("spacy"), stand_in(turns, positive), positive)
    admitted, kept = report["admitted"], report["positive"]
    assert admitted["turns"] == 3327
    assert admitted["empty"] <= 0.0051 and kept["empty"] == 0
    assert admitted["fragment"] <= 0.0096
    assert admitted["fallback"] <= 0.0664
    assert kept["content_tokens"] == pytest.approx(18986, rel=0.05)
    assert kept["retention"] >= 0.828
    assert 1.0 <= admitted["units"] <= 1.2
    assert admitted["equal"] <= admitted["fallback"] + admitted["short"]
    assert admitted["length_tokens"] <= 0.8
