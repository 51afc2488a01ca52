"""Train a gate: data checks, one deterministic Lightning run, resume, and what came out of it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytorch_lightning as pl
import torch

from engrain.models.gate.checkpointing import BEST, LAST, Evaluation, Progress, RunCheckpoints
from engrain.models.gate.config import GateConfig, GateTrainingConfig
from engrain.models.gate.data import GateData, PackedExamples, check_splits, data_fingerprint, pack_examples
from engrain.models.gate.encoder import load_tokenizer, pad_id, pretrained_network
from engrain.models.gate.metrics import positive_weight
from engrain.models.gate.module import CHECKPOINT_KEY, GateModule
from engrain.models.gate.scoring import load_module, score_examples
from engrain.models.weights import weights_hash
from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.gate_input import TEMPLATE_HASH
from engrain.runtime.schema import GateExample

__all__ = ["GateRun", "load_module", "score_examples", "train_gate"]

# Validation inputs kept in the checkpoint for the export's comparison.
SAMPLES = 64
Resume = Path | Literal["auto"] | None


@dataclass(frozen=True)
class GateRun:
    """What a run produced. `metrics` are the best evaluation's `bce`, `objective` and `auprc`."""

    best: Path
    last: Path
    history: tuple[Evaluation, ...]
    metrics: dict[str, float]
    # Optimiser steps: of the best evaluation, done, and planned.
    best_step: int
    steps: int
    planned_steps: int
    stopped_early: bool
    w_plus: float
    train_examples: int
    validation_examples: int
    # What did not fit into max_length, over both splits.
    context_tokens_cut: int
    targets_cut: int
    padding_share: float
    data_fingerprint: str
    seed: int


def train_gate(
    config: GateConfig,
    train: Sequence[GateExample],
    validation: Sequence[GateExample],
    out_dir: Path,
    *,
    seed: int,
    resume: Resume = None,
    progress: Progress | None = None,
) -> GateRun:
    """Train a gate with SLICE-Mem's objective and keep `best.ckpt` and `last.ckpt` in `out_dir`.

    The same seed, data and machine give the same weights, and a resumed run equals an uninterrupted one, bit for bit
    on the CPU. `resume` is a checkpoint, or "auto" for `out_dir/last.ckpt` when it exists. `progress` is called with
    (optimiser steps done, planned). Raises `InputError` before the first step for data or an encoder that cannot
    work, and `TrainingError` when training stops; its text says how to resume.
    """
    # A recipe may be a larger object that is also a GateConfig; the checkpoint keeps the gate's part only.
    config = GateConfig(model=config.model, training=config.training)
    check_splits(train, validation)
    checkpoint = _checkpoint_to_resume(out_dir, resume)
    pl.seed_everything(seed, verbose=False)
    module, data = _prepare(config, train, validation, seed)
    callback = RunCheckpoints(
        out_dir, patience=config.training.patience, accumulate=config.training.accumulate, progress=progress
    )
    out_dir.mkdir(parents=True, exist_ok=True)
    if checkpoint is not None and _take_up(checkpoint, module, callback):
        return _result(out_dir, module, data, callback, seed)
    _fit(config, module, data, callback, checkpoint)
    return _result(out_dir, module, data, callback, seed)


def _prepare(
    config: GateConfig, train: Sequence[GateExample], validation: Sequence[GateExample], seed: int
) -> tuple[GateModule, GateData]:
    tokenizer = load_tokenizer(config.model.base)
    network = pretrained_network(config.model, tokenizer)
    packed: list[PackedExamples] = [pack_examples(tokenizer, split, config) for split in (train, validation)]
    data = GateData(packed[0], packed[1], config, pad_id=pad_id(network), seed=seed)
    fingerprint = data_fingerprint(train, validation)
    module = GateModule(
        network,
        config,
        tokenizer_json=tokenizer.to_str(),
        w_plus=positive_weight(packed[0].labels, config.training.max_positive_weight),
        steps=data.steps,
        names=packed[0].names,
        facts={
            "seed": seed,
            "data_fingerprint": fingerprint,
            "base_hash": weights_hash(config.model.base),
            "template_hash": TEMPLATE_HASH,
            # Real inputs on which an export is compared with this network.
            "samples": packed[1].ids[:SAMPLES],
            "run": text_hash(config.model_dump_json(), str(seed), fingerprint, TEMPLATE_HASH),
        },
    )
    return module, data


def _fit(
    config: GateConfig, module: GateModule, data: GateData, callback: RunCheckpoints, checkpoint: Path | None
) -> None:
    with _without_advice():
        trainer = _trainer(config.training, data.steps, callback)
        try:
            trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True if checkpoint else None)
        except (KeyboardInterrupt, SystemExit) as stop:
            raise TrainingError(
                f"training was interrupted at step {trainer.global_step}. {_way_on(callback)}"
            ) from stop
        except (TrainingError, OSError) as error:
            raise TrainingError(f"{error}. {_way_on(callback)}") from error


def _trainer(training: GateTrainingConfig, steps: int, callback: RunCheckpoints) -> pl.Trainer:
    return pl.Trainer(
        accelerator=training.accelerator,
        devices=1,
        precision=training.precision,
        # The plan holds every pass, so that one position describes how far a run is.
        max_epochs=1,
        accumulate_grad_batches=training.accumulate,
        gradient_clip_val=training.gradient_clip or None,
        val_check_interval=min(training.evaluate_every, steps) * training.accumulate,
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


def _way_on(callback: RunCheckpoints) -> str:
    last = callback.folder / LAST
    if not last.is_file():
        return "No checkpoint was written yet; start the run again"
    step = callback.history[-1].step if callback.history else 0
    return f"The last good checkpoint is {last} (evaluated up to step {step}); continue with --resume"


def _checkpoint_to_resume(out_dir: Path, resume: Resume) -> Path | None:
    last = out_dir / LAST
    if resume is None:
        if last.exists():
            raise InputError(f"{out_dir} already holds a run; --resume continues it; or name another folder")
        return None
    if resume == "auto":
        return last if last.is_file() else None
    if not resume.is_file():
        raise InputError(f"the checkpoint {resume} does not exist; resume auto takes the last one of the run folder")
    return resume


def _take_up(checkpoint: Path, module: GateModule, callback: RunCheckpoints) -> bool:
    """Check that the checkpoint belongs to this very run; true when that run is finished already."""
    try:
        content = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
        saved = content[CHECKPOINT_KEY]["facts"]["run"]
        state = content["callbacks"][callback.state_key]
    except Exception as error:
        raise InputError(f"{checkpoint} is not a resumable gate checkpoint ({error}); use {LAST}") from error
    if saved != module.facts["run"]:
        raise InputError(f"{checkpoint} belongs to other settings, data or seed; resume needs all three unchanged")
    if not _finished(state["history"], state["waited"], callback.patience, module.steps):
        return False
    callback.load_state_dict(state)
    return True


def _finished(history: list[dict[str, float]], waited: int, patience: int, steps: int) -> bool:
    return waited >= patience or (bool(history) and history[-1]["step"] >= steps)


def _result(out_dir: Path, module: GateModule, data: GateData, callback: RunCheckpoints, seed: int) -> GateRun:
    best = callback.best
    if best is None:
        raise TrainingError(f"the run in {out_dir} ended without an evaluation; look at its settings")
    return GateRun(
        best=out_dir / BEST,
        last=out_dir / LAST,
        history=tuple(callback.history),
        metrics={"bce": best.bce, "objective": best.objective, "auprc": best.auprc},
        best_step=best.step,
        steps=callback.history[-1].step,
        planned_steps=module.steps,
        stopped_early=callback.exhausted and callback.history[-1].step < module.steps,
        w_plus=module.w_plus,
        train_examples=len(data.train.ids),
        validation_examples=len(data.validation.ids),
        context_tokens_cut=data.train.context_tokens_cut + data.validation.context_tokens_cut,
        targets_cut=data.train.targets_cut + data.validation.targets_cut,
        padding_share=data.padding_share(),
        data_fingerprint=module.facts["data_fingerprint"],
        seed=seed,
    )
