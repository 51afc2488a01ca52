"""Windows to records over any generator: prompts are the shared ones, failures are results, not exceptions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from engrain.runtime.errors import InputError, ModelServiceError
from engrain.runtime.extraction.extractor import Completion, DimensionalExtractor
from engrain.runtime.extraction.prompts import extraction_messages
from engrain.runtime.extraction.validation import RejectReason
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Role, Turn, WindowStyle

GOATS = json.dumps(
    {"memories": [{"source_id": 1, "content": "The user keeps goats.", "dimension": {"memory_type": "fact"}}]}
)


def window(text: str) -> Window:
    moment = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    return Window((Turn(id=text, session_id="s", role=Role.USER, speaker="M", text=text, timestamp=moment),))


class Prepared:
    """Gives prepared completions and keeps what it was asked."""

    def __init__(self, *answers: Completion) -> None:
        self.answers, self.asked = list(answers), list[list[dict[str, str]]]()

    def generate(self, conversations: Sequence[list[dict[str, str]]]) -> list[Completion]:
        self.asked.extend(conversations)
        return self.answers


def build(generator: Prepared, style: WindowStyle = WindowStyle.LONGMEMEVAL) -> DimensionalExtractor:
    return DimensionalExtractor(generator, style, "compact", "test-extractor")


def test_every_window_is_asked_with_the_shared_prompt() -> None:
    generator = Prepared(Completion(GOATS, "stop"), Completion('{"memories":[]}', "stop"))
    windows = [window("I keep goats."), window("Hello.")]
    results = build(generator).extract(windows)
    assert generator.asked == [extraction_messages(w, WindowStyle.LONGMEMEVAL, "compact") for w in windows]
    assert [len(result.records) for result in results] == [1, 0]
    assert [result.valid_json for result in results] == [True, True]


def test_failed_windows_are_counted_results() -> None:
    cut = GOATS.replace("}}]}", '}},{"source_id":1,"con')
    generator = Prepared(
        Completion(cut, "length"),
        Completion(GOATS, "length"),
        Completion("I would rather not.", "stop"),
        Completion("", "error", "HTTP 500"),
    )
    results = build(generator).extract([window(f"I keep goats {n}.") for n in range(4)])
    assert [len(result.records) for result in results] == [1, 1, 0, 0]
    assert [result.truncated for result in results] == [True, True, False, False]
    reasons = [[reject.reason for reject in result.rejects] for result in results]
    assert reasons[:2] == [[RejectReason.TRUNCATED]] * 2
    assert reasons[2] == [RejectReason.NO_JSON]
    assert "HTTP 500" in results[3].rejects[0].raw and not results[3].valid_json


def test_a_missing_completion_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        build(Prepared()).extract([window("I keep goats.")])


def test_a_dead_service_raises() -> None:
    class Dead(Prepared):
        def generate(self, conversations: Sequence[list[dict[str, str]]]) -> list[Completion]:
            raise ModelServiceError("nobody answers")

    with pytest.raises(ModelServiceError, match="nobody answers"):
        build(Dead()).extract([window("I keep goats.")])


def test_no_window_asks_nothing() -> None:
    generator = Prepared()
    assert build(generator).extract([]) == []
    assert generator.asked == []


def test_window_sizes_are_the_papers_unless_given() -> None:
    assert (build(Prepared()).size, build(Prepared()).overlap) == (15, 3)
    locomo = build(Prepared(), WindowStyle.LOCOMO)
    assert (locomo.size, locomo.overlap) == (25, 5)
    small = DimensionalExtractor(Prepared(), WindowStyle.LOCOMO, "compact", "x", size=3)
    assert (small.size, small.overlap) == (3, 2)
    with pytest.raises(InputError, match="the overlap must be smaller"):
        DimensionalExtractor(Prepared(), WindowStyle.LOCOMO, "compact", "x", size=3, overlap=3)
