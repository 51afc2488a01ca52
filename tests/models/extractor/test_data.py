"""Examples as token ids: what is learned is the answer and eos, and what comes before is the runtime's own prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import normalizers
from transformers import AutoTokenizer

from engrain.models.extractor.config import ExtractorModelConfig
from engrain.models.extractor.data import (
    IGNORED,
    check_splits,
    collate,
    encode_example,
    encode_examples,
    limit_empty,
    spread,
)
from engrain.models.training.resume import data_fingerprint
from engrain.runtime.errors import InputError, TrainingError
from engrain.runtime.extraction.extractor import DimensionalExtractor
from engrain.runtime.extraction.local import LocalGenerator
from engrain.runtime.extraction.prompts import render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractionExample, WindowStyle

Build = Callable[..., ExtractionExample]
COMPACT = ExtractorModelConfig(prompt="compact")


@pytest.fixture
def tokenizer(tiny_causal_base: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_causal_base)


def runtime_prompt(tokenizer: Any, example: ExtractionExample, keep: float = 1.0) -> list[int]:
    """The ids that the runtime's generator hands to the model for this window."""
    seen: list[list[int]] = []

    class Listening(LocalGenerator):
        def _answer(self, prompts: list[list[int]], limit: int) -> list[Any]:
            seen.extend(prompts)
            return super()._answer(prompts, limit)

    model = SimpleNamespace(config=SimpleNamespace(max_position_embeddings=None))
    generator = Listening(model, tokenizer, max_new_tokens=1)
    with pytest.raises(AttributeError):  # The stand-in model cannot answer; the prompt is what is looked at.
        extractor = DimensionalExtractor(generator, WindowStyle.LONGMEMEVAL, "compact", "test", keep=keep)
        extractor.extract([Window(example.window, example.overlap)])
    return seen[0]


@pytest.mark.parametrize("index", range(4))
def test_training_text_is_the_runtime_text_and_the_answer(tokenizer: Any, example: Build, index: int) -> None:
    window = example(index)
    encoded = encode_example(tokenizer, window, COMPACT)
    assert list(encoded.ids[: encoded.prompt_length]) == runtime_prompt(tokenizer, window)
    prompt = tokenizer.decode(encoded.ids[: encoded.prompt_length])
    assert prompt.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    answer = render_records(window.records, "compact")
    assert tokenizer.decode(encoded.ids) == prompt + answer + "<|im_end|>"


def test_compressed_training_text_is_the_runtime_text_too(tokenizer: Any, example: Build) -> None:
    window = example(1)
    told = window.window[-1].model_copy(
        update={"text": f"Well, actually, {window.window[-1].text} you know, I just say."}
    )
    window = window.model_copy(update={"window": (*window.window[:-1], told)})
    config = COMPACT.model_copy(update={"keep_words": 0.6})
    encoded = encode_example(tokenizer, window, config)
    assert list(encoded.ids[: encoded.prompt_length]) == runtime_prompt(tokenizer, window, 0.6)
    assert encoded.prompt_length < encode_example(tokenizer, window, COMPACT).prompt_length
    assert "actually" not in tokenizer.decode(encoded.ids)


def test_labels_are_the_answer_and_eos_only(tokenizer: Any, example: Build) -> None:
    encoded = [encode_example(tokenizer, example(index), COMPACT) for index in (0, 2)]
    batch = collate(encoded, tokenizer.pad_token_id, step_targets=99)
    assert batch["input_ids"].shape == batch["labels"].shape == batch["attention_mask"].shape
    for row, source in enumerate((example(0), example(2))):
        labels = batch["labels"][row]
        learned = labels[labels != IGNORED].tolist()
        assert tokenizer.decode(learned) == render_records(source.records, "compact") + "<|im_end|>"
        assert batch["attention_mask"][row].sum() == len(encoded[row].ids)
    assert int(batch["step_targets"]) == 99


def test_real_qwen3_template_puts_the_empty_thought_into_the_prompt(tokenizer: Any, example: Build) -> None:
    trl = pytest.importorskip("trl", reason="trl carries the Qwen3 chat template")
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    if not template.is_file():
        pytest.skip("this trl has no chat_templates/qwen3.jinja")
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    encoded = encode_example(tokenizer, example(1), COMPACT)
    prompt = tokenizer.decode(encoded.ids[: encoded.prompt_length])
    assert prompt.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert list(encoded.ids[: encoded.prompt_length]) == runtime_prompt(tokenizer, example(1))


def test_an_example_that_does_not_fit_is_left_out_and_named(tokenizer: Any, example: Build) -> None:
    long, short = example(0, messages=9), example(1)
    room = len(encode_example(tokenizer, short, COMPACT).ids)
    settings = COMPACT.model_copy(update={"max_length": room})
    kept = encode_examples(tokenizer, [long, short], settings, "training")
    assert [encoded.name for encoded in kept.examples] == ["example-1"]
    assert kept.too_long == ("example-0",)
    assert kept.lengths == [room]
    with pytest.raises(InputError, match=r"no training example fits .* raise model.max_length"):
        encode_examples(tokenizer, [long], settings, "training")
    with pytest.raises(InputError, match="the validation set is empty"):
        encode_examples(tokenizer, [], settings, "validation")


def test_a_tokenizer_that_changes_text_is_refused(tokenizer: Any, example: Build) -> None:
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(TrainingError, match="example-1: its labels decode to"):
        encode_example(tokenizer, example(1), COMPACT)


def test_a_tokenizer_without_chat_template_is_refused(tokenizer: Any, example: Build) -> None:
    tokenizer.chat_template = None
    with pytest.raises(InputError, match="no chat template"):
        encode_example(tokenizer, example(1), COMPACT)


def test_a_message_is_not_learned_and_validated(example: Build) -> None:
    check_splits([example(0)], [example(1)])
    with pytest.raises(InputError, match="ids occur more than once"):
        check_splits([example(0)], [example(0)])
    renamed = example(0).model_copy(update={"id": "other"})
    with pytest.raises(InputError, match="2 messages are in both training and validation"):
        check_splits([example(0)], [renamed])
    # As context of another window it gives no record, so it leaks none.
    context = renamed.model_copy(update={"window": (*renamed.window, *example(5).window), "overlap": 2, "records": ()})
    check_splits([example(0)], [context])


def test_windows_without_records_are_limited_and_counted(example: Build) -> None:
    full = [example(index) for index in range(6)]
    empty = [example(index).model_copy(update={"records": ()}) for index in range(6, 10)]
    kept, left_out = limit_empty([*empty, *full], 0.25, seed=1)
    assert (len(kept), left_out) == (8, 2)
    assert kept[2:] == full
    assert limit_empty([*empty, *full], 1.0, seed=1) == ([*empty, *full], 0)
    assert limit_empty([*empty, *full], 0.0, seed=1) == (full, 4)
    with pytest.raises(InputError, match="none of 4 windows has a record"):
        limit_empty(empty, 0.5, seed=1)


def test_validation_windows_are_spread_evenly(example: Build) -> None:
    examples = [example(index) for index in range(10)]
    assert [entry.id for entry in spread(examples, 3)] == ["example-0", "example-3", "example-6"]
    assert spread(examples, None) == spread(examples, 10) == examples


def test_the_fingerprint_tells_splits_apart(example: Build) -> None:
    assert data_fingerprint([example(0)], [example(1)]) == data_fingerprint([example(0)], [example(1)])
    assert data_fingerprint([example(0)], [example(1)]) != data_fingerprint([example(1)], [example(0)])
