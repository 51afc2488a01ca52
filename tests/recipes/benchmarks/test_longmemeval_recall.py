"""The LongMemEval benchmark on a small file in the published layout, and the arithmetic of its tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engrain.data_builders.sources.longmemeval import LongMemEvalSource
from engrain.recipes.benchmarks.longmemeval_recall import Answered, ask, detector, mean_recall, store, wilson
from engrain.runtime.retrieval.assistant_recall import AssistantRecall
from engrain.runtime.retrieval.settings import SearchSettings


class Constant:
    """Every text is the same vector: the dense route tells nothing apart."""

    identity = "constant@1"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.tile(np.array([1.0, 0.0], np.float32), (len(texts), 1))


def talk(asked: str, answered: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two answer sessions of which one shares no word with the question, and two others."""
    item = {
        "question_id": "q1",
        "question_type": "single-session-assistant",
        "question": "Which soup did you recommend?",
        "question_date": "2023/05/20 (Sat) 02:21",
        "answer": "lentil",
        "answer_session_ids": ["soup", "hidden"],
        "haystack_session_ids": ["other", "soup", "hidden", "last"],
        "haystack_dates": ["2023/05/01 (Mon) 10:00"] * 4,
        "haystack_sessions": [
            talk("I walked the dog along the river", "Nice."),
            talk("I would like to cook soup", "Try lentil soup with a little lemon juice."),
            talk("What about dessert", "A cake."),
            talk("Buy a train ticket", "Done."),
        ],
    }
    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps([item]), encoding="utf-8")
    return path


def asked(file: Path, folder: Path, settings: SearchSettings) -> Answered:
    """The only question, asked of its memory."""
    source = LongMemEvalSource(file)
    store(source.items(), Constant(), folder / "items.db")
    [answered] = ask(source.questions(), Constant(), settings, folder / "items.db")
    return answered


def test_answer_sessions_are_counted_among_distinct_sessions(file: Path, tmp_path: Path) -> None:
    answered = asked(file, tmp_path, SearchSettings.bm25_alone())

    assert answered.sessions == ("q1/soup",)
    assert mean_recall([answered], 1) == mean_recall([answered], 5) == 0.5


def test_tokens_of_the_modes(file: Path, tmp_path: Path) -> None:
    answered = asked(file, tmp_path, SearchSettings())

    # The question asks for the assistant's words, so selective attaches what always does.
    assert answered.tokens[AssistantRecall.SELECTIVE] == answered.tokens[AssistantRecall.ALWAYS]
    assert answered.tokens[AssistantRecall.NEVER] < answered.tokens[AssistantRecall.ALWAYS]


def test_the_detector_is_counted() -> None:
    found = detector([(True, "What did you recommend?"), (True, "Who?"), (False, "You said so?"), (False, "Where?")])

    assert (found.found, found.missed, found.false, found.rightly_left) == (1, 1, 1, 1) and found.f1 == 0.5


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"), [(8, 10, 0.490, 0.943), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0)]
)
def test_wilson_intervals(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))


def test_nothing_tried_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
