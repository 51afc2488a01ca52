"""Scores against hand-computed values, with an embedder whose cosines are set by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from numpy.typing import NDArray

from engrain.models.extractor.metrics import (
    copied_records,
    keyword_f1,
    match_records,
    precision_recall_f1,
    score_extraction,
    score_fields,
    text_f1,
    time_agreement,
)
from engrain.runtime.extraction.parsing import ParseResult
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Dimensions, ExtractedRecord, MemoryType, Role, Turn


def record(source: int, content: str, **dimension: object) -> ExtractedRecord:
    return ExtractedRecord.model_validate(
        {"source_id": source, "content": content, "dimension": {"memory_type": "fact", **dimension}}
    )


def result(*records: ExtractedRecord, valid: bool = True, truncated: bool = False) -> ParseResult:
    return ParseResult(records, (), valid_json=valid, truncated=truncated)


def angles(texts: Sequence[str]) -> NDArray[np.float32]:
    """Each text is a number of degrees; the cosine of two is that of their difference."""
    radians = np.radians([float(text) for text in texts])
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def test_matching_is_one_to_one_and_takes_as_many_as_possible() -> None:
    # 0 is closest to 1, but then 30 (36.8 degrees is cosine 0.8) would be left without a partner.
    predicted = [record(1, "0"), record(1, "30")]
    gold = [record(1, "1"), record(1, "-30")]
    assert match_records(predicted, gold, angles) == [(0, 1), (1, 0)]
    assert match_records(predicted, [record(1, "1")], angles) == [(0, 0)]


def test_matching_needs_the_same_message_and_the_cosine() -> None:
    assert match_records([record(2, "0")], [record(1, "0")], angles) == []
    assert match_records([record(1, "0")], [record(1, "37")], angles) == []
    assert match_records([record(1, "0")], [record(1, "36")], angles) == [(0, 0)]
    assert match_records([record(1, "0")], [record(1, "36")], angles, threshold=0.9) == []
    assert match_records([], [record(1, "0")], angles) == []


def test_scores_are_sums_over_windows() -> None:
    results = [
        result(record(1, "0", memory_type="episodic"), record(2, "90")),
        result(valid=False, truncated=True),
        result(),
    ]
    gold = [[record(1, "5"), record(3, "90")], [record(1, "0")], []]
    scores = score_extraction(results, gold, angles)
    assert (scores.windows, scores.predicted, scores.gold, scores.matched) == (3, 2, 3, 1)
    assert (scores.precision, scores.recall) == (0.5, pytest.approx(1 / 3))
    assert scores.f1 == pytest.approx(0.4)
    assert scores.valid_json == pytest.approx(2 / 3)
    assert scores.truncated == 1
    assert scores.fields is not None and scores.fields.memory_type == 0.0
    flat = scores.flat("tuned_")
    assert flat["tuned_f1"] == scores.f1 and flat["tuned_field_memory_type"] == 0.0


def test_nothing_wanted_and_nothing_found_is_perfect() -> None:
    assert score_extraction([result()], [[]], angles).f1 == 1.0
    assert score_extraction([result()], [[record(1, "0")]], angles).f1 == 0.0
    assert precision_recall_f1(0, 3, 0) == (0.0, 0.0, 0.0)


def test_a_missing_result_is_an_error() -> None:
    with pytest.raises(ValueError, match="argument 2"):
        score_extraction([result()], [[], []], angles)


def test_field_scores_average_over_pairs() -> None:
    left = record(1, "x", time="2026-05", location="Porto", keywords=("Goats", "milk"), memory_type="profile")
    right = record(1, "y", time="2026-05-01/2026-05-31", location="in Porto", keywords=("goats",))
    scores = score_fields([(left, right), (right, right)])
    assert scores.memory_type == 0.5
    assert scores.time == 1.0
    assert scores.location == pytest.approx((2 / 3 + 1) / 2)
    assert scores.keywords == pytest.approx((2 / 3 + 1) / 2)
    assert scores.reason == scores.purpose == 1.0


@pytest.mark.parametrize(
    ("left", "right", "score"),
    [
        ("", "", 1.0),
        ("2026-05-01", "", 0.0),
        ("2026-05-01", "2026-05-02", 0.0),
        ("2026-05-01", "2026-05-01/2026-05-02", 0.5),
        ("2026-05-01T00:00:00+00:00/2026-05-01T11:59:59+00:00", "2026-05-01", 0.5),
        ("soon", "2026", 0.0),
        ("soon", "soon", 1.0),
    ],
)
def test_time_is_compared_as_intervals(left: str, right: str, score: float) -> None:
    assert time_agreement(left, right) == pytest.approx(score)
    assert time_agreement(right, left) == pytest.approx(score)


def test_text_and_keyword_f1() -> None:
    assert text_f1("the the cat", "the cat") == pytest.approx(0.8)
    assert text_f1("用户 猫", "用户") == pytest.approx(2 / 3)
    assert keyword_f1(("A", "a "), ("a",)) == 1.0
    assert keyword_f1((), ()) == 1.0


def test_the_copy_baseline_leaves_out_the_context() -> None:
    turns = tuple(
        Turn(
            id=str(n),
            session_id="s",
            role=Role.USER,
            speaker="A",
            text=f"text {n}",
            timestamp=datetime(2026, 1, n, tzinfo=UTC),
        )
        for n in (1, 2, 3)
    )
    copied = copied_records(Window(turns, overlap=1))
    assert [(entry.source_id, entry.content) for entry in copied.records] == [(2, "text 2"), (3, "text 3")]
    assert {entry.dimension for entry in copied.records} == {Dimensions(memory_type=MemoryType.FACT)}
