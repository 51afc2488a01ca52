"""The true Qwen3 chat template: what is learned from is, byte for byte, what the runtime asks and Qwen3 would write."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from engrain.models.extractor.config import ExtractorModelConfig
from engrain.models.extractor.data import IGNORED, collate, encode_example
from engrain.runtime.extraction.local import LocalGenerator
from engrain.runtime.extraction.prompts import extraction_messages, render_records
from engrain.runtime.extraction.render import render_prompt
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractionExample

Build = Callable[..., ExtractionExample]
_TRL = importlib.util.find_spec("trl")
TEMPLATE = Path(str(_TRL.origin)).parent / "chat_templates" / "qwen3.jinja" if _TRL else Path("absent")
pytestmark = pytest.mark.skipif(not TEMPLATE.is_file(), reason="trl's qwen3.jinja is not installed")
NO_THOUGHT = "<think>\n\n</think>\n\n"


@pytest.fixture
def tokenizer(tiny_causal_base: Path) -> Any:
    """The tiny tokenizer with Qwen3's own template."""
    loaded = AutoTokenizer.from_pretrained(tiny_causal_base)
    loaded.chat_template = TEMPLATE.read_text("utf-8")
    return loaded


def messages_of(example: ExtractionExample, prompt: str) -> list[dict[str, str]]:
    return extraction_messages(Window(example.window, example.overlap), example.style, prompt)


@pytest.mark.parametrize("prompt", ["full", "compact"])
def test_training_text_is_the_templates_own(tokenizer: Any, example: Build, prompt: str) -> None:
    """Prompt and answer, joined, are the conversation as Qwen3's template writes it with an answer in it."""
    for index in range(4):
        one = example(index, messages=1 + index)
        encoded = encode_example(tokenizer, one, ExtractorModelConfig(prompt=prompt))
        answer = render_records(one.records, prompt)
        messages = messages_of(one, prompt)
        whole = tokenizer.apply_chat_template([*messages, {"role": "assistant", "content": answer}], tokenize=False)
        given = tokenizer.decode(encoded.ids[: encoded.prompt_length])
        learned = tokenizer.decode(encoded.ids[encoded.prompt_length :])
        assert given + learned + "\n" == whole
        assert given.endswith(f"<|im_start|>assistant\n{NO_THOUGHT}"), "the empty thought is asked, never learned"
        assert learned == f"{answer}<|im_end|>"


def test_the_runtime_asks_with_the_same_tokens(tokenizer: Any, example: Build) -> None:
    one = example(2, messages=3)
    encoded = encode_example(tokenizer, one, ExtractorModelConfig(prompt="compact"))
    generator = LocalGenerator(object(), tokenizer, max_new_tokens=8)
    assert generator._encode(messages_of(one, "compact")) == list(encoded.ids[: encoded.prompt_length])


def test_thinking_is_left_to_the_model_when_it_is_on(tokenizer: Any, example: Build) -> None:
    messages = messages_of(example(0), "compact")
    assert render_prompt(tokenizer, messages, thinking=True).endswith("<|im_start|>assistant\n")
    assert render_prompt(tokenizer, messages, thinking=False).endswith(NO_THOUGHT)


def test_every_mask_decodes_to_its_answer(tokenizer: Any, example: Build) -> None:
    examples = [example(index, messages=1 + index % 3) for index in range(8)]
    encoded = [encode_example(tokenizer, one, ExtractorModelConfig(prompt="compact")) for one in examples]
    batch = collate(encoded, tokenizer.pad_token_id, 1)
    for labels, one in zip(batch["labels"], examples, strict=True):
        learned = [int(label) for label in labels if label != IGNORED]
        assert tokenizer.decode(learned) == f"{render_records(one.records, 'compact')}<|im_end|>"
