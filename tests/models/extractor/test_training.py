"""A whole run on the tiny base: what it leaves, that it learns, and that stopping and resuming changes nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from safetensors.torch import load_file

from engrain.models.extractor.config import ExtractorConfig
from engrain.models.extractor.training import ExtractorRun, load_run, train_extractor
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.schema import ExtractionExample

Build = Callable[..., ExtractionExample]
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture
def splits(example: Build) -> dict[str, list[ExtractionExample]]:
    return {"train": [example(i, messages=1 + i % 3) for i in range(8)], "validation": [example(i) for i in (8, 9)]}


def adapter_weights(run: ExtractorRun) -> dict[str, torch.Tensor]:
    return load_file(run.adapter / "adapter_model.safetensors")


def test_a_run_learns_and_leaves_an_adapter(
    config: ExtractorConfig, splits: dict[str, list[ExtractionExample]], tmp_path: Path
) -> None:
    steps: list[tuple[int, int]] = []
    run = train_extractor(
        config, **splits, out_dir=tmp_path / "run", seed=3, progress=lambda done, all_: steps.append((done, all_))
    )
    assert steps == [(step, 6) for step in range(1, 7)]
    assert [entry.step for entry in run.history] == [2, 4, 6]
    assert run.history[-1].loss < run.history[0].loss
    assert run.history[-1].train_loss < run.history[0].train_loss
    assert (run.steps, run.best_step) == (6, 6)
    assert run.metrics["validation_loss"] == min(entry.loss for entry in run.history)
    names = {path.relative_to(run.folder).as_posix() for path in run.folder.rglob("*") if path.is_file()}
    assert {"best.ckpt", "last.ckpt", "run.json", "adapter/adapter_config.json", "adapter/tokenizer.json"} <= names
    assert not [name for name in names if name.endswith(".part")]
    best = torch.load(run.folder / "best.ckpt", weights_only=True)["state_dict"]
    assert all("lora_" in name for name in best)
    saved = adapter_weights(run)
    for name, weight in best.items():
        key = name.removeprefix("model.").replace(".default", "")
        assert torch.equal(saved[key], weight), name
    assert load_run(run.folder) == run


def test_the_last_weights_are_kept_where_the_recipe_says_so(
    config: ExtractorConfig, splits: dict[str, list[ExtractionExample]], tmp_path: Path
) -> None:
    spoilt = {"learning_rate": 0.5, "warmup_ratio": 0.0, "max_steps": 4, "evaluate_every": 1, "gradient_clip": 0.0}
    kept = {}
    for keep in ("best", "last"):
        training = config.training.model_copy(update={**spoilt, "keep": keep})
        kept[keep] = train_extractor(
            config.model_copy(update={"training": training}), **splits, out_dir=tmp_path / keep, seed=3
        )
    losses = [entry.loss for entry in kept["best"].history]
    assert min(losses) < losses[-1], "this rate makes it worse, or the test shows nothing"
    assert (kept["best"].best_step, kept["last"].best_step) == (losses.index(min(losses)) + 1, 4)
    assert kept["last"].metrics["validation_loss"] == losses[-1]
    last = torch.load(kept["last"].folder / "best.ckpt", weights_only=True)["state_dict"]
    state = torch.load(kept["last"].folder / "last.ckpt", weights_only=True)["state_dict"]
    assert all(torch.equal(state[name], weight) for name, weight in last.items())


def test_examples_too_long_are_counted(
    config: ExtractorConfig, splits: dict[str, list[ExtractionExample]], example: Build, tmp_path: Path
) -> None:
    splits["train"].append(example(20, messages=30))
    model = config.model.model_copy(update={"max_length": 500})
    run = train_extractor(config.model_copy(update={"model": model}), **splits, out_dir=tmp_path / "run", seed=3)
    assert (run.train_examples, run.validation_examples, run.too_long) == (8, 2, ("example-20",))


def test_an_interrupted_run_resumes_bit_for_bit(
    config: ExtractorConfig, splits: dict[str, list[ExtractionExample]], tmp_path: Path
) -> None:
    whole = train_extractor(config, **splits, out_dir=tmp_path / "whole", seed=3)

    def interrupt(done: int, planned: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    folder, before = tmp_path / "stopped", signal.getsignal(signal.SIGINT)
    with pytest.raises(TrainingError, match=r"interrupted at step 5\. .*last\.ckpt \(step 4\).*resume"):
        train_extractor(config, **splits, out_dir=folder, seed=3, progress=interrupt)
    assert signal.getsignal(signal.SIGINT) is before, "Ctrl-C works again after the run"
    assert torch.load(folder / "last.ckpt", weights_only=True)["global_step"] == 4
    with pytest.raises(InputError, match="already holds a run; --resume continues it"):
        train_extractor(config, **splits, out_dir=folder, seed=3)
    resumed = train_extractor(config, **splits, out_dir=folder, seed=3, resume="auto")
    assert resumed.history == whole.history
    for name, weight in adapter_weights(whole).items():
        assert torch.equal(weight, adapter_weights(resumed)[name]), name
    again = train_extractor(config, **splits, out_dir=folder, seed=3, resume="auto")
    assert again.history == whole.history, "a finished run is not trained further"


def test_the_same_seed_gives_the_same_weights_and_another_does_not(
    config: ExtractorConfig, splits: dict[str, list[ExtractionExample]], tmp_path: Path
) -> None:
    short = config.model_copy(update={"training": config.training.model_copy(update={"max_steps": 2})})
    runs = [train_extractor(short, **splits, out_dir=tmp_path / str(n), seed=seed) for n, seed in enumerate((3, 3, 4))]
    first, same, other = (adapter_weights(run) for run in runs)
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_resume_refuses_another_run(
    config: ExtractorConfig, splits: dict[str, list[ExtractionExample]], tmp_path: Path
) -> None:
    short = config.model_copy(update={"training": config.training.model_copy(update={"max_steps": 2})})
    folder = tmp_path / "run"
    train_extractor(short, **splits, out_dir=folder, seed=3)
    with pytest.raises(InputError, match="belongs to other settings, data, base or seed"):
        train_extractor(short, **splits, out_dir=folder, seed=4, resume="auto")
    with pytest.raises(InputError, match="does not exist"):
        train_extractor(short, **splits, out_dir=folder, seed=3, resume=tmp_path / "none.ckpt")
    (folder / "last.ckpt").write_bytes(b"cut")
    with pytest.raises(InputError, match="not a resumable extractor checkpoint"):
        train_extractor(short, **splits, out_dir=folder, seed=3, resume="auto")


def test_a_full_disk_leaves_the_checkpoint_before(
    config: ExtractorConfig,
    splits: dict[str, list[ExtractionExample]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, save, calls = tmp_path / "run", pl.Trainer.save_checkpoint, []

    def fill(self: pl.Trainer, path: Path, **options: Any) -> None:
        calls.append(path)
        if len(calls) > 1:  # The one of the first evaluation fits.
            Path(path).write_bytes(b"half")
            raise OSError(28, "No space left on device")
        save(self, path, **options)

    monkeypatch.setattr(pl.Trainer, "save_checkpoint", fill)
    with pytest.raises(TrainingError, match=r"No space left on device.*\(step 2\)"):
        train_extractor(config, **splits, out_dir=folder, seed=3)
    assert torch.load(folder / "last.ckpt", weights_only=True)["global_step"] == 2
    assert not list(folder.glob("*.part"))


def test_load_run_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no finished extractor run"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        load_run(tmp_path)
