"""Sample answers during training: written for every evaluation, without effect on the run, and a way to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from engrain.models.extractor.base import load_tokenizer, locate_base
from engrain.models.extractor.config import ExtractorConfig, ExtractorTrainingConfig
from engrain.models.extractor.samples import SAMPLES_FILE, Sampler, read_samples
from engrain.models.extractor.training import ExtractorRun, train_extractor
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.extractor import Completion
from engrain.runtime.extraction.local import LocalGenerator
from engrain.runtime.extraction.prompts import render_records
from engrain.runtime.schema import ExtractionExample

Build = Callable[..., ExtractionExample]
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def letters(texts: Sequence[str]) -> NDArray[np.float32]:
    """Counts of letters, of length 1: enough to tell answers apart."""
    counts = np.array(
        [[text.lower().count(letter) + 1e-3 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
    )
    return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


def trained(config: ExtractorConfig, example: Build, folder: Path, **training: object) -> ExtractorRun:
    settings = ExtractorTrainingConfig.model_validate({**config.training.model_dump(), **training})
    return train_extractor(
        config.model_copy(update={"training": settings}),
        [example(i, messages=1 + i % 3) for i in range(8)],
        [example(i) for i in (8, 9, 10)],
        folder,
        seed=3,
        embed=letters,
    )


def test_samples_are_written_at_every_evaluation_and_change_nothing(
    config: ExtractorConfig, example: Build, tmp_path: Path
) -> None:
    without = trained(config, example, tmp_path / "without")
    run = trained(config, example, tmp_path / "with", samples=2, sample_tokens=6)
    rows = read_samples(run.folder / SAMPLES_FILE)
    assert [row["step"] for row in rows] == [2, 2, 4, 4, 6, 6]
    assert [row["example"] for row in rows] == ["example-8", "example-9"] * 3
    assert rows[0]["gold"] == render_records(example(8).records, "compact")
    assert {row["finish"] for row in rows} <= {"stop", "length"}
    assert all(entry.records is not None for entry in run.history)
    plain, sampled = (load_file(one.adapter / "adapter_model.safetensors") for one in (without, run))
    assert all(torch.equal(sampled[name], weight) for name, weight in plain.items())


def test_rows_beyond_the_step_of_a_stopped_run_are_replaced(
    config: ExtractorConfig, example: Build, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / SAMPLES_FILE).write_text('{"step": 1, "answer": "kept"}\n{"step": 2, "answer": "stale"}\n', "utf-8")
    run = trained(config, example, folder, samples=1, sample_tokens=2, max_steps=2)
    rows = read_samples(run.folder / SAMPLES_FILE)
    assert [row["step"] for row in rows] == [1, 2] and rows[1]["example"] == "example-8"


def test_the_best_record_f1_chooses_the_weights(
    config: ExtractorConfig, example: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tiny model answers nothing that could be scored, so the scores are given: the middle one is the best."""
    given = iter([0.2, 0.6, 0.4])
    monkeypatch.setattr(Sampler, "__call__", lambda self, model, step: next(given))
    run = trained(config, example, tmp_path / "run", keep="records", samples=1)
    assert [entry.records for entry in run.history] == [0.2, 0.6, 0.4]
    losses = [entry.loss for entry in run.history]
    assert losses[2] < losses[1], "by loss it would be another one"
    assert (run.best_step, run.metrics["validation_loss"]) == (4, losses[1])


def test_answers_are_scored_against_their_windows(
    config: ExtractorConfig, example: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = config.training.model_copy(update={"samples": 2})
    examples = [example(8), example(9)]
    tokenizer = load_tokenizer(locate_base(config.model.base))
    sampler = Sampler(tmp_path, tokenizer, examples, config.model_copy(update={"training": training}), letters)
    answers = [Completion(render_records(one.records, "compact"), "stop") for one in examples]
    monkeypatch.setattr(LocalGenerator, "generate", lambda self, asked: answers)
    assert sampler(None, 2) == 1.0
    assert [row["answer"] for row in read_samples(tmp_path / SAMPLES_FILE)] == [one.text for one in answers]
    answers[1] = Completion(answers[1].text[:20], "length")
    assert sampler(None, 4) == pytest.approx(2 / 3), "one of two records, nothing else"


def test_records_cannot_choose_without_samples_or_an_embedder(
    config: ExtractorConfig, example: Build, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="set samples"):
        ExtractorTrainingConfig(keep="records")
    training = config.training.model_copy(update={"keep": "records", "samples": 1})
    with pytest.raises(InputError, match="hand in `embed`"):
        train_extractor(
            config.model_copy(update={"training": training}), [example(0)], [example(1)], tmp_path / "run", seed=1
        )
