"""Label noise: planted wrong labels are found, clean ones are mostly left alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from engrain.data_builders.gate_corpus import label_rows
from engrain.data_builders.quality.label_noise import NoiseReport, confident_joint, label_noise
from engrain.data_builders.quality.rows import Row, row_of
from engrain.data_builders.sources.memora import MemoraSource
from engrain.runtime.schema import GateExample, Split

KEEP = ("I moved to {}.", "My sister lives in {}.", "I work in {} now.", "I was born in {}.", "I keep bees in {}.")
DROP = ("How far is {}?", "What is the weather in {}?", "Tell me about {}.", "Is {} nice?", "Thanks, {} it is.")
PLACES = ("Bath", "Graz", "Lyon", "Oslo", "Porto", "Turin", "York", "Ghent", "Kiel", "Bern", "Cork", "Metz")


def rows(example: Callable[..., GateExample], count: int = 240) -> list[Row]:
    """Statements are kept and questions dropped."""
    rng = random.Random(5)
    return [
        row_of(example(n, rng.choice(KEEP if n % 2 else DROP).format(rng.choice(PLACES)), label=bool(n % 2)))
        for n in range(count)
    ]


def flipped(clean: Sequence[Row], share: float, seed: int = 3) -> tuple[list[Row], set[str]]:
    """A share of the labels turned over, and whose."""
    wrong = set(random.Random(seed).sample([row.id for row in clean], round(share * len(clean))))
    return [replace(row, label=row.label != (row.id in wrong)) for row in clean], wrong


def caught(report: NoiseReport, wrong: set[str]) -> tuple[float, float]:
    """Precision and recall of the suspects."""
    suspects = {one.id for one in report.suspects}
    return len(suspects & wrong) / len(suspects), len(suspects & wrong) / len(wrong)


def test_planted_noise_is_found_and_estimated(example: Callable[..., GateExample]) -> None:
    noisy, wrong = flipped(rows(example), 0.1)
    calls: list[tuple[int, int]] = []
    report = label_noise(noisy, progress=lambda done, total: calls.append((done, total)))
    assert report is not None
    precision, recall = caught(report, wrong)
    assert precision >= 0.9 and recall >= 0.75
    assert report.noise == pytest.approx(0.1, abs=0.03)
    assert report.suspected == len(report.suspects)
    assert calls == [(fold, 5) for fold in range(1, 6)]
    assert report == label_noise(noisy)


def test_clean_labels_are_left_alone(example: Callable[..., GateExample]) -> None:
    report = label_noise(rows(example))
    assert report is not None
    assert report.noise <= 0.01 and report.average_precision > 0.99


def test_vectors_of_an_embedder_will_do(example: Callable[..., GateExample]) -> None:
    noisy, wrong = flipped(rows(example), 0.1)

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.array([[text.startswith(("I ", "My ")), len(text) / 50] for text in texts], dtype=np.float32)

    report = label_noise(noisy, embed=embed)
    assert report is not None and report.features == "embedding"
    assert caught(report, wrong) == (1.0, 1.0)


def test_thresholds_are_the_mean_confidence_of_each_class() -> None:
    labels = np.array([True, True, True, False, False, False])
    probability = np.array([0.9, 0.8, 0.1, 0.2, 0.1, 0.9])
    wrong, thresholds = confident_joint(labels, probability)
    assert thresholds == pytest.approx((0.6, 0.6))
    assert wrong.tolist() == [False, False, True, False, False, True]


def test_too_few_rows_or_one_label_give_no_estimate(example: Callable[..., GateExample]) -> None:
    assert label_noise([row_of(example(1, "I keep bees."))]) is None
    assert label_noise([replace(row, label=True) for row in rows(example, 40)]) is None
    assert label_noise([replace(row, group="one") for row in rows(example, 40)]) is None


@pytest.mark.full
def test_noise_planted_in_memora_is_found(real_data: Path) -> None:
    """5% of the labels of one persona of Memora quarterly, whose own labels are taken to be right."""
    source = MemoraSource(real_data / "memora", "quarterly", personas=("software_engineer",))
    examples = label_rows(source.sessions(), corpus="memora", split=Split.TRAIN)
    noisy, wrong = flipped([row_of(example) for example in islice(examples, 6000)], 0.05)
    report = label_noise(noisy, listed=len(noisy))
    assert report is not None
    precision, recall = caught(report, wrong)
    assert precision >= 0.7 and recall >= 0.7
    assert report.noise == pytest.approx(0.05, abs=0.025)
