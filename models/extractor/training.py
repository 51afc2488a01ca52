"""Train an extractor: data checks, one deterministic Lightning run, resume, and the tuned adapter as a folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pydantic import Field, ValidationError

from engrain.models.extractor.base import BaseModel, load_model, load_tokenizer, locate_base
from engrain.models.extractor.batches import ExtractorData
from engrain.models.extractor.checkpoints import Evaluation, ExtractorCheckpoints
from engrain.models.extractor.config import ExtractorConfig
from engrain.models.extractor.data import check_splits, encode_examples, limit_empty, spread
from engrain.models.extractor.metrics import Embed
from engrain.models.extractor.module import CHECKPOINT_KEY, ExtractorModule, add_lora, trainable_parameters
from engrain.models.extractor.samples import Sampler
from engrain.models.training.checkpoints import BEST, Progress
from engrain.models.training.fitting import fit
from engrain.models.training.resume import Resume, checkpoint_to_resume, data_fingerprint, take_up
from engrain.models.training.strategies import world
from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.extraction.prompts import PROMPT_HASH
from engrain.runtime.extraction.render import chat_template_hash
from engrain.runtime.schema import Contract, ExtractionExample

ADAPTER, RUN_FILE = "adapter", "run.json"


class ExtractorRun(Contract):
    """What a run produced; also the content of `run.json` in its folder."""

    folder: Path = Field(description="Run folder: best.ckpt, last.ckpt, adapter/ (peft, with tokenizer), run.json.")
    config: ExtractorConfig = Field(description="The settings of the run.")
    history: tuple[Evaluation, ...] = Field(description="Every evaluation, in order.")
    best_step: int = Field(description="Optimiser steps of the checkpoint whose weights are the adapter.")
    steps: int = Field(description="Optimiser steps done.")
    seconds: float = Field(description="Wall time of this call, loading included.")
    trainable_parameters: int = Field(description="Numbers that were trained.")
    train_examples: int = Field(description="Windows that were learned from.")
    validation_examples: int = Field(description="Windows of the validation loss.")
    too_long: tuple[str, ...] = Field(description="Examples left out: longer than max_length. In neither count.")
    empty_left_out: int = Field(description="Windows without records that max_empty_share left out.")
    padding_share: float = Field(description="Share of training positions that were padding.")
    base_hash: str = Field(description="SHA-256 of the base weights.")
    prompt_hash: str = Field(description="Hash of the extraction prompt.")
    template_hash: str = Field(description="Hash of the chat template and how it is applied.")
    data_fingerprint: str = Field(description="Hash of all examples of both splits.")
    seed: int = Field(description="Seed of order, dropout and initialisation.")

    @property
    def adapter(self) -> Path:
        """The peft folder of the best weights."""
        return self.folder / ADAPTER

    @property
    def metrics(self) -> dict[str, float]:
        """Losses of the evaluation that was kept, in nats per target token."""
        best = min(self.history, key=lambda entry: (entry.selected_by, entry.step))
        return {"validation_loss": best.loss, "train_loss": best.train_loss}


def train_extractor(
    config: ExtractorConfig,
    train: Sequence[ExtractionExample],
    validation: Sequence[ExtractionExample],
    out_dir: Path,
    *,
    seed: int,
    resume: Resume = None,
    progress: Progress | None = None,
    embed: Embed | None = None,
) -> ExtractorRun:
    """Tune the base model with LoRA (DimMem section 3.5) and leave the best adapter in `out_dir/adapter`.

    The same seed, data and machine give the same weights, and a resumed run equals an uninterrupted one, bit for bit
    on the CPU. `resume` is a checkpoint, or "auto" for `out_dir/last.ckpt` when it exists. `progress` is called with
    (optimiser steps done, planned); `embed` scores the samples, which `keep: records` chooses by. Raises `InputError`
    before the first step for data or a base that cannot work, and `TrainingError` when training stops; its text says
    how to resume.
    """
    started = time.monotonic()
    # A recipe may carry more than the run depends on; that must not keep it from being resumed.
    config = ExtractorConfig(**{name: getattr(config, name) for name in ExtractorConfig.model_fields})
    if config.training.keep == "records" and embed is None:
        raise InputError("training.keep=records needs an embedder to match records; hand in `embed`")
    check_splits(train, validation)
    train, empty_train = limit_empty(train, config.training.max_empty_share, seed)
    validation, empty_validation = limit_empty(validation, config.training.max_empty_share, seed)
    validation = spread(validation, config.training.max_validation)
    checkpoint = checkpoint_to_resume(out_dir, resume)
    processes = world(config.training.strategy)
    pl.seed_everything(seed, verbose=False)
    base = locate_base(config.model.base)
    tokenizer = load_tokenizer(base)
    data = ExtractorData(
        encode_examples(tokenizer, train, config.model, "training"),
        encode_examples(tokenizer, validation, config.model, "validation"),
        config.training,
        pad_id=tokenizer.pad_token_id,
        seed=seed,
        additive=config.model.attention == "eager",
        world=processes,
    )
    facts = _facts(config, base, tokenizer, data_fingerprint(train, validation), seed)
    module = _module(config, base, tokenizer, data, facts)
    sampler = Sampler(out_dir, tokenizer, validation, config, embed) if config.training.samples else None
    callback = ExtractorCheckpoints(
        out_dir, accumulate=config.training.accumulate, keep=config.training.keep, sampler=sampler, progress=progress
    )
    out_dir.mkdir(parents=True, exist_ok=True)
    if checkpoint is None or not _finished(checkpoint, module, callback):
        fit(
            config.training,
            module,
            data,
            callback,
            steps=data.steps,
            checkpoint=checkpoint,
            strategy=config.training.strategy,
            run=facts["run"],
        )
    run = _result(
        out_dir, config, module, data, callback, facts, seed, empty_train + empty_validation, time.monotonic() - started
    )
    if processes.first:
        # What other ranks share in is not touched: the best weights go onto a model of this process alone.
        alone = module if processes.size == 1 else _module(config, base, tokenizer, data, facts)
        _save_adapter(out_dir, alone, tokenizer)
        write_text(out_dir / RUN_FILE, run.model_dump_json(indent=2))
    return run


def write_text(path: Path, text: str) -> None:
    """Write a file that is whole or absent: a run that is stopped while writing leaves no half of it."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def load_run(folder: Path) -> ExtractorRun:
    """Read `run.json` of a finished run, wherever its folder was moved to."""
    path = folder / RUN_FILE
    try:
        run = ExtractorRun.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} holds no finished extractor run ({RUN_FILE} is missing); train one first") from None
    except (OSError, ValidationError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return run.model_copy(update={"folder": folder})


def _facts(config: ExtractorConfig, base: BaseModel, tokenizer: Any, fingerprint: str, seed: int) -> dict[str, str]:
    facts = {
        "base_hash": base.weights_hash,
        "prompt_hash": PROMPT_HASH[config.model.prompt],
        "template_hash": chat_template_hash(tokenizer, thinking=config.model.thinking),
        "data_fingerprint": fingerprint,
    }
    return {**facts, "run": text_hash(config.model_dump_json(exclude={"decoding"}), str(seed), *facts.values())}


def _module(
    config: ExtractorConfig, base: BaseModel, tokenizer: Any, data: ExtractorData, facts: dict[str, str]
) -> ExtractorModule:
    settings = config.model
    model = load_model(base, tokenizer, dtype=settings.dtype, attention=settings.attention, quantize=settings.quantize)
    if settings.quantize != "none":
        from peft import prepare_model_for_kbit_training

        prepare: Any = prepare_model_for_kbit_training  # peft leaves it untyped
        model = prepare(model, use_gradient_checkpointing=settings.gradient_checkpointing)
    # Where the base is found differs between machines; its name is what the adapter should remember.
    model = add_lora(model, config.lora)
    model.peft_config["default"].base_model_name_or_path = base.name
    return ExtractorModule(
        model, config, steps=data.steps, names=data.planned.names, facts=facts, processes=data.world.size
    )


def _finished(checkpoint: Path, module: ExtractorModule, callback: ExtractorCheckpoints) -> bool:
    return take_up(
        checkpoint,
        callback,
        kind="extractor",
        key=CHECKPOINT_KEY,
        run=module.facts["run"],
        steps=module.steps,
        identity="settings, data, base or seed",
    )


def _save_adapter(out_dir: Path, module: ExtractorModule, tokenizer: Any) -> None:
    """Write the best weights as a peft folder with the tokenizer; it appears whole or not at all."""
    content = torch.load(out_dir / BEST, map_location="cpu", weights_only=True, mmap=True)
    module.on_load_checkpoint(content)
    trained = dict(module.named_parameters())
    with torch.no_grad():
        for name, weight in content["state_dict"].items():
            trained[name].copy_(weight)
    part, target = out_dir / f"{ADAPTER}.part", out_dir / ADAPTER
    shutil.rmtree(part, ignore_errors=True)
    module.model.save_pretrained(part, safe_serialization=True)
    tokenizer.save_pretrained(part)
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)


def _result(
    out_dir: Path,
    config: ExtractorConfig,
    module: ExtractorModule,
    data: ExtractorData,
    callback: ExtractorCheckpoints,
    facts: dict[str, str],
    seed: int,
    empty_left_out: int,
    seconds: float,
) -> ExtractorRun:
    best = callback.best
    if best is None:
        raise TrainingError(f"the run in {out_dir} ended without an evaluation; look at its settings")
    return ExtractorRun(
        folder=out_dir,
        config=config,
        history=tuple(callback.history),
        best_step=best.step,
        steps=callback.history[-1].step,
        seconds=seconds,
        trainable_parameters=trainable_parameters(module),
        train_examples=len(data.train.examples),
        validation_examples=len(data.validation.examples),
        too_long=(*data.train.too_long, *data.validation.too_long),
        empty_left_out=empty_left_out,
        padding_share=data.padding_share(),
        base_hash=facts["base_hash"],
        prompt_hash=facts["prompt_hash"],
        template_hash=facts["template_hash"],
        data_fingerprint=facts["data_fingerprint"],
        seed=seed,
    )
