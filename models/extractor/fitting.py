"""Running Lightning's trainer: one deterministic epoch over the whole plan, quiet, and interruptible."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytorch_lightning as pl

from engrain.models.extractor.batches import ExtractorData
from engrain.models.extractor.checkpointing import LAST, RunCheckpoints
from engrain.models.extractor.config import ExtractorConfig, ExtractorTrainingConfig
from engrain.models.extractor.module import ExtractorModule
from engrain.runtime.errors import TrainingError


def fit(
    config: ExtractorConfig,
    module: ExtractorModule,
    data: ExtractorData,
    callback: RunCheckpoints,
    checkpoint: Path | None,
) -> None:
    """Run the trainer to its end. Raises `TrainingError`, saying how to resume, when it stops before."""
    with _without_advice(), _interruptible():
        trainer = _trainer(config.training, data, callback)
        try:
            trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True if checkpoint else None)
        except (KeyboardInterrupt, SystemExit) as stop:
            text = f"training was interrupted at step {trainer.global_step}. {_way_on(callback)}"
            raise TrainingError(text) from stop
        except (TrainingError, OSError) as error:
            raise TrainingError(f"{error}. {_way_on(callback)}") from error


def _trainer(training: ExtractorTrainingConfig, data: ExtractorData, callback: RunCheckpoints) -> pl.Trainer:
    return pl.Trainer(
        accelerator=training.accelerator,
        devices=1,
        precision=training.precision,
        # The plan holds every pass, so that one position describes how far a run is.
        max_epochs=1,
        accumulate_grad_batches=training.accumulate,
        gradient_clip_val=training.gradient_clip or None,
        val_check_interval=min(training.evaluate_every, data.steps) * training.accumulate,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        callbacks=[callback],
        deterministic=True,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


@contextmanager
def _without_advice() -> Iterator[None]:
    """Lightning's notes on devices, loggers and worker processes stay out of the terminal; warnings do not."""
    logger = logging.getLogger("pytorch_lightning.utilities.rank_zero")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            # It advises worker processes; the batches are in memory already.
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            yield
    finally:
        logger.setLevel(level)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lightning ignores Ctrl-C for good once it saw one; the caller's handling is put back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGINT, before)


def _way_on(callback: RunCheckpoints) -> str:
    last = callback.folder / LAST
    if not last.is_file():
        return "No checkpoint was written yet; start the run again"
    return f"The last good checkpoint is {last} (step {callback.saved_step}); continue with --resume"
