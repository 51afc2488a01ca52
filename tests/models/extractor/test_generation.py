"""Scoring an extractor on labelled windows goes through the runtime's own path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engrain.models.extractor.config import ExtractorConfig, ExtractorWindowConfig
from engrain.models.extractor.evaluation import evaluate_copying, evaluate_extractor
from engrain.models.extractor.generation import (
    tuned_extractor,
    untuned_extractor,
)
from engrain.models.extractor.training import train_extractor
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.extractor import Completion, DimensionalExtractor
from engrain.runtime.extraction.prompts import render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractionExample, WindowStyle

Build = Callable[..., ExtractionExample]
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def words(texts: Sequence[str]) -> NDArray[np.float32]:
    """Bags of words over the given texts, as unit vectors."""
    vocabulary = sorted({word for text in texts for word in text.split()})
    counts = np.array([[text.split().count(word) for word in vocabulary] for text in texts], dtype=np.float32)
    scaled: NDArray[np.float32] = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return scaled


class Reciting:
    """Answers with prepared texts, in order."""

    def __init__(self, answers: list[str]) -> None:
        self.answers = answers

    def generate(self, conversations: Sequence[list[dict[str, str]]]) -> list[Completion]:
        return [Completion(self.answers[place], "stop") for place in range(len(conversations))]


def test_gold_answers_score_one_and_no_answer_scores_zero(example: Build) -> None:
    examples = [example(0), example(1)]
    gold = Reciting([render_records(entry.records, "compact") for entry in examples])
    extractor = DimensionalExtractor(gold, WindowStyle.LONGMEMEVAL, "compact", "gold")
    scores = evaluate_extractor(extractor, examples, words).whole
    assert (scores.f1, scores.valid_json, scores.matched) == (1.0, 1.0, 2)
    mute = DimensionalExtractor(Reciting(["no", "no"]), WindowStyle.LONGMEMEVAL, "compact", "mute")
    assert evaluate_extractor(mute, examples, words).whole.f1 == 0.0
    assert evaluate_copying(examples, words).whole.f1 < 0.5


def test_another_style_is_refused(example: Build) -> None:
    extractor = DimensionalExtractor(Reciting([""]), WindowStyle.LOCOMO, "compact", "x")
    with pytest.raises(InputError, match=r"1 examples \(example-0\) are not of the extractor's style locomo"):
        evaluate_extractor(extractor, [example(0)], words)


def test_untuned_and_tuned_answer_alike_until_tuned(config: ExtractorConfig, example: Build, tmp_path: Path) -> None:
    windows = [Window(example(index).window) for index in range(3)]
    untuned = untuned_extractor(config)
    assert (untuned.size, untuned.overlap, untuned.prompt) == (2, 0, "compact")
    before = untuned.extract(windows)
    assert len(before) == 3
    run = train_extractor(config, [example(i) for i in range(4)], [example(5)], tmp_path / "run", seed=1)
    tuned = tuned_extractor(config, run.adapter)
    assert tuned.identity.endswith("tuned") and tuned.identity != untuned.identity
    assert len(tuned.extract(windows)) == 3
    with pytest.raises(InputError, match="holds no adapter"):
        tuned_extractor(config, tmp_path)


def test_window_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="overlap 3 must be below size 3"):
        ExtractorWindowConfig(size=3, overlap=3)
