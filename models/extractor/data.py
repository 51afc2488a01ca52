"""Extraction examples to batches: rendering, labels from the prompt/answer split, verified masks, padding.

The prompt is encoded exactly as the runtime encodes it, the answer is encoded apart and appended with eos. So the
boundary between what is asked and what is learned is known, never searched for, and training text equals runtime text.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engrain.models.extractor.config import ExtractorModelConfig
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.extraction.prompts import extraction_messages, render_records
from engrain.runtime.extraction.render import render_prompt
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractionExample

IGNORED = -100
"""Label of a position that does not count, as torch's cross-entropy has it."""
Batch = dict[str, Tensor]


@dataclass(frozen=True)
class EncodedExample:
    """One example as token ids: the first `prompt_length` are given, the rest (answer and eos) are learned."""

    name: str
    ids: tuple[int, ...]
    prompt_length: int
    teacher: str = ""

    @property
    def target_tokens(self) -> int:
        """Tokens that count in the loss."""
        return len(self.ids) - self.prompt_length


@dataclass(frozen=True)
class EncodedSet:
    """Encoded examples, and the ids of those whose answer did not fit: nothing is cut, nothing is lost silently."""

    examples: tuple[EncodedExample, ...]
    too_long: tuple[str, ...]

    @property
    def lengths(self) -> list[int]:
        """Tokens of each example, prompt and answer."""
        return [len(example.ids) for example in self.examples]

    @property
    def target_tokens(self) -> int:
        """Tokens that count in the loss, over all examples."""
        return sum(example.target_tokens for example in self.examples)


def encode_example(tokenizer: Any, example: ExtractionExample, config: ExtractorModelConfig) -> EncodedExample:
    """Render and encode one example.

    Raises `TrainingError` when the labels do not decode to the answer and eos, byte for byte: then the tokenizer
    changes the text, and a model would learn something that parses differently.
    """
    window = Window(example.window, example.overlap)
    messages = extraction_messages(window, example.style, config.prompt, config.keep_words)
    prompt = render_prompt(tokenizer, messages, thinking=config.thinking)
    answer = render_records(example.records, config.prompt)
    prompt_ids = tokenizer.encode(prompt, add_special_tokens=False)
    answer_ids = [*tokenizer.encode(answer, add_special_tokens=False), tokenizer.eos_token_id]
    encoded = EncodedExample(example.id, (*prompt_ids, *answer_ids), len(prompt_ids), example.teacher)
    _verify_mask(tokenizer, encoded, answer)
    return encoded


def encode_examples(
    tokenizer: Any, examples: Sequence[ExtractionExample], config: ExtractorModelConfig, split: str
) -> EncodedSet:
    """Encode a split; examples longer than `max_length` are left out and named.

    Raises `InputError` when the split is empty, or nothing of it fits.
    """
    if not examples:
        raise InputError(f"the {split} set is empty; build an extraction corpus first")
    encoded = [encode_example(tokenizer, example, config) for example in examples]
    kept = tuple(example for example in encoded if len(example.ids) <= config.max_length)
    if not kept:
        shortest = min(len(example.ids) for example in encoded)
        raise InputError(
            f"no {split} example fits into max_length {config.max_length}, the shortest has {shortest} tokens; "
            "raise model.max_length, or cut smaller windows"
        )
    return EncodedSet(kept, tuple(example.name for example in encoded if len(example.ids) > config.max_length))


def check_splits(train: Sequence[ExtractionExample], validation: Sequence[ExtractionExample]) -> None:
    """Raise `InputError` for an id that occurs twice, or a message that is learned from and validated on."""
    ids = [example.id for example in [*train, *validation]]
    if len(set(ids)) != len(ids):
        raise InputError(f"{len(ids) - len(set(ids))} extraction example ids occur more than once; make them unique")
    shared = _new_turns(train) & _new_turns(validation)
    if shared:
        some = ", ".join(f"{session}/{turn}" for session, turn in sorted(shared)[:3])
        raise InputError(f"{len(shared)} messages are in both training and validation ({some}); split by session")


def limit_empty(examples: Sequence[ExtractionExample], share: float, seed: int) -> tuple[list[ExtractionExample], int]:
    """The examples with at most `share` of them without records, order kept, and how many were left out.

    Where many windows are empty, a model under few steps learns to answer nothing at all. Which ones stay is drawn
    with the seed. Raises `InputError` when no example has a record.
    """
    empty = [place for place, example in enumerate(examples) if not example.records]
    full = len(examples) - len(empty)
    if examples and not full:
        raise InputError(f"none of {len(examples)} windows has a record; there is nothing to learn from")
    most = len(empty) if share >= 1.0 else min(len(empty), math.floor(full * share / (1.0 - share)))
    dropped = set(random.Random(f"empty/{seed}").sample(empty, len(empty) - most))
    return [example for place, example in enumerate(examples) if place not in dropped], len(dropped)


def spread(examples: Sequence[ExtractionExample], most: int | None) -> list[ExtractionExample]:
    """At most `most` examples, evenly spaced, order kept; all of them without a number."""
    if most is None or most >= len(examples):
        return list(examples)
    return [examples[place * len(examples) // most] for place in range(most)]


def collate(examples: Sequence[EncodedExample], pad_id: int, step_targets: int) -> Batch:
    """Right-padded `input_ids`, `attention_mask` and `labels`, each B x T; `step_targets` is a scalar.

    `step_targets` is the number of target tokens of the whole optimiser step that this micro-batch belongs to. The
    attention mask comes from lengths, not from ids, so a padding token inside a text would still be read.
    """
    width = max(len(example.ids) for example in examples)
    ids = torch.full((len(examples), width), pad_id, dtype=torch.long)
    mask = torch.zeros((len(examples), width), dtype=torch.long)
    labels = torch.full((len(examples), width), IGNORED, dtype=torch.long)
    for row, example in enumerate(examples):
        length, tokens = len(example.ids), torch.tensor(example.ids, dtype=torch.long)
        ids[row, :length] = tokens
        mask[row, :length] = 1
        labels[row, example.prompt_length : length] = tokens[example.prompt_length :]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels, "step_targets": torch.tensor(step_targets)}


def _verify_mask(tokenizer: Any, encoded: EncodedExample, answer: str) -> None:
    labels = list(encoded.ids[encoded.prompt_length :])
    if len(labels) < 2:
        raise TrainingError(f"example {encoded.name} has no target token; its answer is empty")
    # Decoded without eos as well: some decoders join special tokens with a space.
    text = tokenizer.decode(labels[:-1], skip_special_tokens=False, clean_up_tokenization_spaces=False)
    if text != answer or labels[-1] != tokenizer.eos_token_id:
        raise TrainingError(
            f"example {encoded.name}: its labels decode to {text[:80]!r}, not to {answer[:80]!r}; the tokenizer does "
            "not keep text as it is, choose another base model"
        )


def _new_turns(examples: Sequence[ExtractionExample]) -> set[tuple[str, str]]:
    return {(turn.session_id, turn.id) for example in examples for turn in example.window[example.overlap :]}
