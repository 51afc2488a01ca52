"""The second stage: GRPO with verifiable rewards, or DPO from ranked answers, on trl, from a tuned adapter.

Run under torchrun it spreads over its processes as trl does. It starts from the adapter of a finished run and leaves
another adapter; the first one stays as it is. The paper has no such stage.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from engrain.models.extractor.base import load_model, load_tokenizer, locate_base
from engrain.models.extractor.config import ExtractorConfig, RefineSettings
from engrain.models.extractor.preferences import Preference, rank_answers
from engrain.models.extractor.rewards import REWARDS, Judged
from engrain.models.extractor.training import ADAPTER, ExtractorRun
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.extraction.prompts import extraction_messages
from engrain.runtime.extraction.render import render_prompt
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Contract, ExtractionExample

REFINED = "refined"


class RefinedRun(Contract):
    """What a second stage left in `<run>/refined`; also its `refined.json`."""

    folder: Path = Field(description="Folder with `adapter/`, in the form that the first stage leaves.")
    method: str
    steps: int
    examples: int = Field(description="Windows, or pairs, that were learned from.")
    undecided: int = Field(description="Windows whose answers were too alike for a pair; DPO only.")
    log: tuple[dict[str, float], ...] = Field(description="trl's measures, a row a step.")


def refine(
    run: ExtractorRun,
    examples: Sequence[ExtractionExample],
    settings: RefineSettings,
    *,
    seed: int,
    answers: Sequence[Sequence[str]] | None = None,
) -> RefinedRun:
    """Refine a run's adapter on labelled windows.

    DPO ranks `answers` (several for each example) beside the teacher's records; without any they are sampled from the
    adapter. Raises `InputError` when trl is missing or nothing can be learned, `TrainingError` for a loss that is not
    finite.
    """
    if not examples:
        raise InputError("there is no window to refine on; build an extraction corpus first")
    folder = run.folder / REFINED
    model, tokenizer = trainable_adapter(run.config, run.adapter)
    torch.manual_seed(seed)
    undecided = 0
    if settings.method == "dpo":
        written = answers if answers is not None else sample_answers(model, tokenizer, examples, run.config, settings)
        ranked = rank_answers(examples, written, prompt=run.config.model.prompt, margin=settings.margin)
        trainer = _dpo(model, tokenizer, ranked.pairs, run.config, settings, folder, seed)
        count, undecided = len(ranked.pairs), len(ranked.undecided)
    else:
        trainer = _grpo(model, tokenizer, examples, run.config, settings, folder, seed)
        count = len(examples)
    trainer.train()
    log = _log(trainer)
    if trainer.is_world_process_zero():
        _save(trainer.accelerator.unwrap_model(trainer.model), tokenizer, folder)
    refined = RefinedRun(
        folder=folder,
        method=settings.method,
        steps=int(trainer.state.global_step),
        examples=count,
        undecided=undecided,
        log=log,
    )
    if trainer.is_world_process_zero():
        (folder / "refined.json").write_text(refined.model_dump_json(indent=2), encoding="utf-8")
    return refined


def trainable_adapter(config: ExtractorConfig, adapter: Path) -> tuple[Any, Any]:
    """The base model with the adapter on it, its weights trainable, and the tokenizer."""
    from peft import PeftModel

    base = locate_base(config.model.base)
    tokenizer = load_tokenizer(base)
    model = load_model(base, tokenizer, dtype=config.model.dtype, attention=config.model.attention)
    return PeftModel.from_pretrained(model, adapter, is_trainable=True), tokenizer


def prompt_text(tokenizer: Any, example: ExtractionExample, config: ExtractorConfig) -> str:
    """The prompt of an example, byte for byte as training and runtime render it."""
    window, asking = Window(example.window, example.overlap), config.model
    messages = extraction_messages(window, example.style, asking.prompt, asking.keep_words)
    return render_prompt(tokenizer, messages, thinking=config.model.thinking)


def sample_answers(
    model: Any, tokenizer: Any, examples: Sequence[ExtractionExample], config: ExtractorConfig, settings: RefineSettings
) -> list[list[str]]:
    """`settings.generations` answers of the model to each example, drawn at `settings.temperature`."""
    answers = []
    model.eval()
    for example in examples:
        ids = tokenizer(prompt_text(tokenizer, example, config), return_tensors="pt", add_special_tokens=False)
        with torch.inference_mode():
            output = model.generate(
                **ids.to(model.device),
                do_sample=True,
                temperature=settings.temperature,
                num_return_sequences=settings.generations,
                max_new_tokens=settings.max_new_tokens,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
            )
        width = ids["input_ids"].shape[1]
        answers.append([str(tokenizer.decode(row[width:], skip_special_tokens=True)) for row in output])
    model.train()
    return answers


def reward_functions(examples: Sequence[ExtractionExample]) -> list[Any]:
    """The rewards as trl calls them: lists of completions with the column `row`, the example's number."""

    def named(name: str) -> Any:
        def judge(completions: list[str], row: list[int], **unused: Any) -> list[float]:
            return [
                REWARDS[name](Judged(text, Window(examples[n].window, examples[n].overlap), examples[n].records))
                for text, n in zip(completions, row, strict=True)
            ]

        judge.__name__ = name
        return judge

    return [named(name) for name in REWARDS]


def _grpo(
    model: Any,
    tokenizer: Any,
    examples: Sequence[ExtractionExample],
    config: ExtractorConfig,
    settings: RefineSettings,
    folder: Path,
    seed: int,
) -> Any:
    trl, datasets = _import_trl()
    rows = [{"prompt": prompt_text(tokenizer, one, config), "row": place} for place, one in enumerate(examples)]
    arguments = trl.GRPOConfig(
        **_arguments(config, settings, folder, seed),
        num_generations=settings.generations,
        per_device_train_batch_size=settings.generations,
        max_completion_length=settings.max_new_tokens,
        temperature=settings.temperature,
        beta=settings.beta,
        reward_weights=[settings.weights.get(name, 0.0) for name in REWARDS],
    )
    return trl.GRPOTrainer(
        model=model,
        reward_funcs=reward_functions(examples),
        args=arguments,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
    )


def _dpo(
    model: Any,
    tokenizer: Any,
    pairs: Sequence[Preference],
    config: ExtractorConfig,
    settings: RefineSettings,
    folder: Path,
    seed: int,
) -> Any:
    trl, datasets = _import_trl()
    rows = [
        {
            "prompt": prompt_text(tokenizer, pair.example, config),
            "chosen": pair.chosen + tokenizer.eos_token,
            "rejected": pair.rejected + tokenizer.eos_token,
        }
        for pair in pairs
    ]
    arguments = trl.DPOConfig(
        **_arguments(config, settings, folder, seed),
        per_device_train_batch_size=settings.batch_size,
        max_length=config.model.max_length,
        beta=settings.beta,
    )
    return trl.DPOTrainer(
        model=model, args=arguments, train_dataset=datasets.Dataset.from_list(rows), processing_class=tokenizer
    )


def _arguments(config: ExtractorConfig, settings: RefineSettings, folder: Path, seed: int) -> dict[str, Any]:
    """What both of trl's configs are told."""
    return {
        "output_dir": str(folder / "trl"),
        "max_steps": settings.steps,
        "learning_rate": settings.learning_rate,
        "gradient_accumulation_steps": settings.accumulate,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "seed": seed,
        "disable_tqdm": True,
        "use_cpu": config.training.accelerator == "cpu" or not torch.cuda.is_available(),
        "bf16": config.training.precision == "bf16-mixed",
        "gradient_checkpointing": config.model.gradient_checkpointing,
    }


def _log(trainer: Any) -> tuple[dict[str, float], ...]:
    rows = [row for row in trainer.state.log_history if "loss" in row]
    bad = next((row for row in rows if not math.isfinite(row["loss"])), None)
    if bad is not None:
        raise TrainingError(f"the loss is {bad['loss']} at step {bad.get('step')}; lower refine.learning_rate")
    return tuple({name: float(value) for name, value in row.items() if isinstance(value, int | float)} for row in rows)


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    part, target = folder / f"{ADAPTER}.part", folder / ADAPTER
    shutil.rmtree(part, ignore_errors=True)
    model.save_pretrained(part, safe_serialization=True)
    tokenizer.save_pretrained(part)
    _name_base(part / "adapter_config.json", folder.parent / ADAPTER / "adapter_config.json")
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    shutil.rmtree(folder / "trl", ignore_errors=True)


def _name_base(written: Path, first: Path) -> None:
    """The base's name as the first stage wrote it, not where it lies on this machine."""
    settings = json.loads(written.read_text(encoding="utf-8"))
    before = json.loads(first.read_text(encoding="utf-8"))
    settings["base_model_name_or_path"] = before["base_model_name_or_path"]
    written.write_text(json.dumps(settings, indent=2), encoding="utf-8")


def _import_trl() -> tuple[Any, Any]:
    try:
        import datasets
        import trl
    except ImportError as error:
        raise InputError(f"the second stage needs trl ({error}); run `pip install engrain[train]`") from None
    return trl, datasets
