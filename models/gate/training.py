"""Train a gate: data checks, one deterministic Lightning run, resume, and what came out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytorch_lightning as pl
from tokenizers import Tokenizer

from engrain.models.gate.checkpoints import Evaluation, GateCheckpoints
from engrain.models.gate.config import GateConfig
from engrain.models.gate.data import GateData, PackedExamples, check_splits, check_weights, pack_examples
from engrain.models.gate.encoder import GateNetwork, load_tokenizer, pad_id, pretrained_network
from engrain.models.gate.metrics import positive_weight
from engrain.models.gate.module import CHECKPOINT_KEY, GateModule
from engrain.models.gate.scoring import load_module, score_examples
from engrain.models.gate.tuning import prepare_tuning
from engrain.models.training.checkpoints import BEST, LAST, Progress
from engrain.models.training.fitting import fit
from engrain.models.training.resume import Resume, checkpoint_to_resume, data_fingerprint, take_up
from engrain.models.training.strategies import world
from engrain.models.weights import weights_hash
from engrain.runtime.bundle import file_hash, text_hash
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.gate_input import TEMPLATE_HASH, prepare_tokenizer
from engrain.runtime.schema import GateExample

__all__ = ["GateRun", "load_module", "score_examples", "train_gate"]

# Validation inputs kept in the checkpoint for the export's comparison.
SAMPLES = 64


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
    # What was active, as "zero2 on 4 processes"; empty for a run that was taken up finished.
    strategy: str = field(default="", compare=False)
    # Whether this process is the one that writes what a run writes once.
    first: bool = True


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
    check_weights(train, config.training.corpus_weights)
    checkpoint = checkpoint_to_resume(out_dir, resume)
    pl.seed_everything(seed, verbose=False)
    module, data = _prepare(config, train, validation, seed)
    callback = GateCheckpoints(
        out_dir, patience=config.training.patience, accumulate=config.training.accumulate, progress=progress
    )
    out_dir.mkdir(parents=True, exist_ok=True)
    active = ""
    if checkpoint is None or not _finished(checkpoint, module, callback):
        active = fit(
            config.training,
            module,
            data,
            callback,
            steps=data.steps,
            checkpoint=checkpoint,
            strategy=config.training.strategy,
            run=module.facts["run"],
        )
    return _result(out_dir, module, data, callback, seed, active)


def _prepare(
    config: GateConfig, train: Sequence[GateExample], validation: Sequence[GateExample], seed: int
) -> tuple[GateModule, GateData]:
    processes = world(config.training.strategy)
    tokenizer, network, base_hash = _start(config)
    prepare_tuning(network, config.training)
    packed: list[PackedExamples] = [pack_examples(tokenizer, split, config) for split in (train, validation)]
    data = GateData(packed[0], packed[1], config, pad_id=pad_id(network), seed=seed, world=processes)
    fingerprint = data_fingerprint(train, validation)
    module = GateModule(
        network,
        config,
        tokenizer_json=tokenizer.to_str(),
        w_plus=positive_weight(packed[0].labels, config.training.max_positive_weight),
        steps=data.steps,
        processes=processes.size,
        names=packed[0].names,
        facts={
            "seed": seed,
            "data_fingerprint": fingerprint,
            "base_hash": base_hash,
            "template_hash": TEMPLATE_HASH,
            # Real inputs on which an export is compared with this network.
            "samples": packed[1].ids[:SAMPLES],
            "run": text_hash(config.model_dump_json(), str(seed), fingerprint, TEMPLATE_HASH),
        },
    )
    return module, data


def _start(config: GateConfig) -> tuple[Tokenizer, GateNetwork, str]:
    """Tokenizer, network and base's hash: from the base model, or as another gate's training left them."""
    if config.model.start is None:
        tokenizer = load_tokenizer(config.model.base)
        return tokenizer, pretrained_network(config.model, tokenizer), weights_hash(config.model.base)
    earlier = load_module(config.model.start)
    if earlier.config.model.base != config.model.base or earlier.config.model.pooling != config.model.pooling:
        raise InputError(f"{config.model.start} was trained from another base or with another pooling; use the same")
    tokenizer = prepare_tokenizer(Tokenizer.from_str(earlier.tokenizer_json))
    return tokenizer, earlier.network.train(), file_hash(config.model.start)


def _finished(checkpoint: Path, module: GateModule, callback: GateCheckpoints) -> bool:
    return take_up(
        checkpoint,
        callback,
        kind="gate",
        key=CHECKPOINT_KEY,
        run=module.facts["run"],
        steps=module.steps,
        identity="settings, data or seed",
    )


def _result(
    out_dir: Path, module: GateModule, data: GateData, callback: GateCheckpoints, seed: int, active: str
) -> GateRun:
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
        strategy=active,
        first=data.world.first,
    )
