"""A tiny, randomly initialised Qwen3 with a tokenizer of its own, and extraction examples to tune it on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from engrain.models.extractor.config import (
    ExtractorConfig,
    ExtractorDecodingConfig,
    ExtractorModelConfig,
    ExtractorTrainingConfig,
    ExtractorWindowConfig,
    LoraSettings,
)
from engrain.runtime.extraction.prompts import PROMPT_HASH, extraction_messages, render_records
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import (
    Dimensions,
    ExtractedRecord,
    ExtractionExample,
    MemoryType,
    Role,
    Split,
    Turn,
    WindowStyle,
)

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
FACTS = (
    ("I keep three goats.", "The user keeps three goats.", "goats"),
    ("My sister Ana lives in Évora.", "The user's sister Ana lives in Évora.", "Ana"),
    ("我不吃花生。", "用户不吃花生。", "花生"),
    ("I sold the blue van 🙂", "The user sold the blue van.", "van"),
)
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
    "{% endif %}"
)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """The models here are too small to share between cores."""
    torch.set_num_threads(1)


def build_example(index: int, messages: int = 2) -> ExtractionExample:
    """A window of `messages` messages; the last one states something."""
    said, content, keyword = FACTS[index % len(FACTS)]
    texts = [f"Small talk number {index}." for _ in range(messages - 1)] + [f"{said} ({index})"]
    turns = tuple(
        Turn(
            id=f"s{index}-t{place}",
            session_id=f"s{index}",
            role=Role.USER,
            speaker="Mara",
            text=text,
            timestamp=START + timedelta(days=index, seconds=place),
        )
        for place, text in enumerate(texts)
    )
    record = ExtractedRecord(
        source_id=messages,
        content=content,
        dimension=Dimensions(memory_type=MemoryType.FACT, keywords=(keyword,)),
    )
    return ExtractionExample(
        id=f"example-{index}",
        split=Split.TRAIN,
        style=WindowStyle.LONGMEMEVAL,
        window=turns,
        overlap=0,
        records=(record,),
        teacher="authored",
        prompt_hash=PROMPT_HASH["compact"],
    )


@pytest.fixture
def example() -> Callable[..., ExtractionExample]:
    """Builds an example from its number."""
    return build_example


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE with 700 tokens, Qwen's special tokens and a template that knows thinking."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    window = Window(build_example(0).window)
    prompt = [message["content"] for message in extraction_messages(window, WindowStyle.LONGMEMEVAL, "compact")]
    answers = [render_records(build_example(index).records, "compact") for index in range(4)]
    tokenizer.train_from_iterator([*prompt, *answers] * 4, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = CHAT_TEMPLATE
    return fast


@pytest.fixture(scope="session")
def tiny_causal_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer Qwen3 with 16-dimensional states, saved as a base model would be."""
    folder = tmp_path_factory.mktemp("tiny-qwen3")
    tokenizer = build_tokenizer()
    torch.manual_seed(0)
    settings = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen3ForCausalLM(settings).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def config(tiny_causal_base: Path) -> ExtractorConfig:
    """Six steps of two micro-batches over the tiny base, dropout on, evaluated every two steps."""
    return ExtractorConfig(
        model=ExtractorModelConfig(base=str(tiny_causal_base), prompt="compact", max_length=1024),
        window=ExtractorWindowConfig(size=2, overlap=0),
        lora=LoraSettings(rank=4, alpha=8, dropout=0.1),
        training=ExtractorTrainingConfig(
            learning_rate=1e-2, batch_size=2, accumulate=2, epochs=3, evaluate_every=2, accelerator="cpu"
        ),
        decoding=ExtractorDecodingConfig(max_new_tokens=8, batch_size=2, constrain=False),
    )
