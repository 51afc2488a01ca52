"""Whole runs on a tiny encoder: files, history, determinism, exact resume, interruptions, bad losses."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from engrain.models.gate.checkpoints import Evaluation
from engrain.models.gate.config import GateConfig
from engrain.models.gate.module import GateModule
from engrain.models.gate.training import GateRun, load_module, score_examples, train_gate
from engrain.models.training.checkpoints import BEST, LAST
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.schema import GateExample

Config = Callable[..., GateConfig]
Rows = Callable[..., list[GateExample]]


@pytest.fixture
def train(tmp_path: Path, tiny_config: Config, make_rows: Rows) -> Callable[..., GateRun]:
    """Train on 48 rows (3 steps a pass) into a folder below the test's own."""

    def run(
        name: str = "run", *, seed: int = 1, resume: object = None, progress: object = None, **set_: object
    ) -> GateRun:
        return train_gate(
            tiny_config(**set_),
            make_rows(48),
            make_rows(18, "validation"),
            tmp_path / name,
            seed=seed,
            resume=resume,  # type: ignore[arg-type]
            progress=progress,  # type: ignore[arg-type]
        )

    return run


def weights(path: Path) -> dict[str, torch.Tensor]:
    state: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["state_dict"]
    return state


def assert_equal_runs(first: GateRun, second: GateRun) -> None:
    assert first.history == second.history
    for name in (BEST, LAST):
        a, b = weights(first.best.parent / name), weights(second.best.parent / name)
        assert all(torch.equal(a[key], b[key]) for key in a.keys() | b.keys())


def test_a_run_learns_evaluates_at_the_end_and_leaves_two_checkpoints(train: Callable[..., GateRun]) -> None:
    seen: list[tuple[int, int]] = []
    run = train(epochs=8, learning_rate=2e-2, progress=lambda done, total: seen.append((done, total)))
    assert sorted(path.name for path in run.best.parent.iterdir()) == [BEST, LAST]
    assert (run.planned_steps, run.steps, run.stopped_early) == (24, 24, False)
    assert [entry.step for entry in run.history] == [4, 8, 12, 16, 20, 24]
    assert seen == [(step, 24) for step in range(1, 25)]
    assert run.w_plus == 2.0
    assert (run.train_examples, run.validation_examples, run.targets_cut) == (48, 18, 0)
    assert run.history[-1].train_objective < run.history[0].train_objective
    assert run.metrics["auprc"] > 0.9
    assert run.metrics["bce"] == min(entry.bce for entry in run.history)


def test_the_last_step_is_evaluated_where_the_interval_does_not_fall(train: Callable[..., GateRun]) -> None:
    assert [entry.step for entry in train(evaluate_every=5).history] == [5, 9]
    assert [entry.step for entry in train("short", evaluate_every=100).history] == [9]


def test_training_objective_is_the_mean_over_examples(
    train: Callable[..., GateRun], tiny_config: Config, make_rows: Rows
) -> None:
    """With a vanishing rate and no dropout nothing moves, so the reported mean is equation 3 on the training set."""
    run = train(learning_rate=1e-12, epochs=1, evaluate_every=3)
    module = load_module(run.best)
    p = score_examples(module, make_rows(48))
    labels = np.array([row.label for row in make_rows(48)])
    expected = -np.mean(2.0 * labels * np.log(p) + (1 - labels) * np.log(1 - p))
    # Dropout is on during training, so the two are close, not equal.
    assert run.history[0].train_objective == pytest.approx(expected, rel=0.1)


def test_the_seed_decides_everything(train: Callable[..., GateRun]) -> None:
    first, second, other = train("a"), train("b"), train("c", seed=2)
    assert_equal_runs(first, second)
    assert first.history != other.history


@pytest.mark.parametrize("stop_at", [5, 8, 9])
def test_a_resumed_run_equals_an_uninterrupted_one(train: Callable[..., GateRun], tmp_path: Path, stop_at: int) -> None:
    whole = train("whole")

    def stop(done: int, _: int) -> None:
        if done == stop_at:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(TrainingError, match="--resume"):
        train("cut", progress=stop)
    assert signal.getsignal(signal.SIGINT) is before
    resumed = train("cut", resume="auto")
    assert_equal_runs(whole, resumed)


def test_an_interruption_before_the_first_checkpoint_says_so(train: Callable[..., GateRun]) -> None:
    def stop(done: int, _: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(TrainingError, match="start the run again"):
        train(progress=stop)
    assert train(resume="auto").steps == 9


def test_a_finished_run_is_taken_up_without_training(train: Callable[..., GateRun]) -> None:
    def fail(done: int, _: int) -> None:
        raise AssertionError("a finished run was trained again")

    first = train()
    assert train(resume="auto", progress=fail) == first
    early = train("early", patience=1, learning_rate=0.5, epochs=20)
    assert early.stopped_early
    assert early.steps < early.planned_steps
    assert train("early", patience=1, learning_rate=0.5, epochs=20, resume="auto", progress=fail) == early


def test_early_stopping_keeps_the_best_checkpoint(train: Callable[..., GateRun], make_rows: Rows) -> None:
    run = train(patience=2, learning_rate=0.3, epochs=20)
    assert run.stopped_early
    assert run.history[-1].step == run.steps
    best = min(run.history, key=lambda entry: entry.bce)
    assert run.best_step == best.step
    rows = make_rows(18, "validation")
    p = score_examples(run.best, rows)
    labels = np.array([row.label for row in rows])
    assert -np.mean(np.log(np.where(labels, p, 1 - p))) == pytest.approx(best.bce, abs=1e-5)


def test_resume_wants_the_same_run(train: Callable[..., GateRun], tmp_path: Path) -> None:
    run = train()
    with pytest.raises(InputError, match="already holds a run"):
        train()
    with pytest.raises(InputError, match="other settings, data or seed"):
        train(resume="auto", seed=2)
    with pytest.raises(InputError, match="other settings, data or seed"):
        train(resume="auto", epochs=4)
    with pytest.raises(InputError, match="does not exist"):
        train("other", resume=tmp_path / "none.ckpt")
    with pytest.raises(InputError, match="not a resumable"):
        train("other", resume=run.best)


def test_a_bad_loss_stops_and_names_the_batch(train: Callable[..., GateRun], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = GateModule.forward

    def broken(self: GateModule, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        logits = whole(self, input_ids, attention_mask)
        return logits * float("nan") if self.training and self.global_step == 5 else logits

    monkeypatch.setattr(GateModule, "forward", broken)
    with pytest.raises(TrainingError, match=r"loss is nan at step 5, batch 20 \(examples train-\d+.*--resume"):
        train()


def test_a_full_disk_leaves_the_last_good_checkpoint(
    train: Callable[..., GateRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file size limit below a checkpoint's size makes the very write calls fail that a full disk would."""
    before: dict[str, bytes] = {}

    def limit(done: int, _: int) -> None:
        if done == 6:
            before.update({path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()})
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(TrainingError, match=r"could not be written .*free disk space.*--resume"):
            train(progress=limit)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    assert train(resume="auto").steps == 9


def test_scores_do_not_depend_on_order_or_batch_size(train: Callable[..., GateRun], make_rows: Rows) -> None:
    run = train()
    rows = make_rows(30, "other")
    scores = score_examples(run.best, rows)
    assert scores.shape == (30,)
    np.testing.assert_allclose(score_examples(load_module(run.best), rows[::-1], batch_size=7)[::-1], scores, atol=1e-6)
    assert score_examples(run.best, []).shape == (0,)


def test_a_foreign_file_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "x.ckpt").write_bytes(b"no")
    with pytest.raises(InputError, match="not a gate checkpoint"):
        load_module(tmp_path / "x.ckpt")


def test_history_entries_are_plain_contracts(train: Callable[..., GateRun]) -> None:
    assert all(Evaluation.model_validate(entry.model_dump()) == entry for entry in train().history)


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import torch
torch.set_num_threads(1)
from conftest import example_rows
from engrain.models.gate.config import GateConfig
from engrain.models.gate.training import train_gate
config = GateConfig.model_validate_json(sys.argv[1])
def report(done, total):
    print(done, flush=True)
train_gate(config, example_rows(48), example_rows(18, "validation"), Path(sys.argv[2]), seed=1, resume="auto",
           progress=report)
"""


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_a_run_killed_at_any_moment_resumes_to_the_same_end(
    train: Callable[..., GateRun], tiny_config: Config, tmp_path: Path, seed: int
) -> None:
    """SIGKILL at random steps, again and again, then the same weights bit for bit."""
    rng = np.random.default_rng(seed)
    code = KILLED.format(tests=str(Path(__file__).parent))
    arguments = [sys.executable, "-c", code, tiny_config(epochs=6).model_dump_json(), str(tmp_path / "killed")]
    for _ in range(6):
        process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
        assert process.stdout is not None
        lines = int(rng.integers(1, 12))
        for _, _line in zip(range(lines), process.stdout, strict=False):
            pass
        process.kill()
        process.wait()
    resumed = train("killed", epochs=6, resume="auto")
    assert_equal_runs(train("whole", epochs=6), resumed)
