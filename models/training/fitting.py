"""Running Lightning's trainer: one deterministic epoch over the whole plan, quiet, and interruptible."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import pytorch_lightning as pl

from engrain.models.training.checkpoints import LAST, RunCheckpoints
from engrain.models.training.settings import Strategy
from engrain.models.training.strategies import ActiveStrategy, World, lightning_strategy, world
from engrain.runtime.errors import TrainingError


class TrainerSettings(Protocol):
    """The part of a training config that the trainer reads."""

    @property
    def accelerator(self) -> str: ...
    @property
    def precision(self) -> Literal["32-true", "bf16-mixed"]: ...
    @property
    def accumulate(self) -> int: ...
    @property
    def gradient_clip(self) -> float: ...
    @property
    def evaluate_every(self) -> int: ...


def fit(
    settings: TrainerSettings,
    module: pl.LightningModule,
    data: pl.LightningDataModule,
    callback: RunCheckpoints[Any],
    *,
    steps: int,
    checkpoint: Path | None,
    strategy: Strategy = "single",
    run: str = "",
) -> str:
    """Run the trainer to the end of its `steps` optimiser steps; returns the strategy that was active, in words.

    `run` identifies data, settings and seed: ranks on which it differs are refused before the first step. Raises
    `TrainingError`, saying how to resume, when training stops before its end.
    """
    processes = world(strategy)
    active = ActiveStrategy(strategy, processes.size, run)
    with _without_advice(), _interruptible():
        trainer = _trainer(settings, steps, callback, active, processes)
        try:
            trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True if checkpoint else None)
        except (KeyboardInterrupt, SystemExit) as stop:
            text = f"training was interrupted at step {trainer.global_step}. {_way_on(callback)}"
            raise TrainingError(text) from stop
        except (TrainingError, OSError) as error:
            raise TrainingError(f"{error}. {_way_on(callback)}") from error
    return f"{active.found or strategy} on {processes.size} process{'es' if processes.size > 1 else ''}"


def _trainer(
    settings: TrainerSettings, steps: int, callback: RunCheckpoints[Any], active: ActiveStrategy, processes: World
) -> pl.Trainer:
    return pl.Trainer(
        accelerator=settings.accelerator,
        devices=processes.local_size,
        num_nodes=processes.nodes,
        strategy=lightning_strategy(active.wanted, processes.size),
        precision=settings.precision,
        # The plan holds every pass, so that one position describes how far a run is.
        max_epochs=1,
        accumulate_grad_batches=settings.accumulate,
        gradient_clip_val=settings.gradient_clip or None,
        val_check_interval=min(settings.evaluate_every, steps) * settings.accumulate,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        callbacks=[active, callback],
        deterministic=True,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


@contextmanager
def _without_advice() -> Iterator[None]:
    """Keep Lightning's banners (devices, tips, worker processes) out of the user's terminal; warnings stay."""
    names = ("pytorch_lightning", "lightning_fabric", "pytorch_lightning.utilities.rank_zero")
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.WARNING)
        with warnings.catch_warnings():
            # The batches are in memory already, so worker processes would only cost.
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lightning ignores Ctrl-C for good once it saw one; the caller's handling is put back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGINT, before)


def _way_on(callback: RunCheckpoints[Any]) -> str:
    last = callback.folder / LAST
    if not last.is_file():
        return "No checkpoint was written yet; start the run again"
    return f"The last good checkpoint is {last} (step {callback.saved_step}); continue with --resume"
