"""A tiny, randomly initialised Llama over bytes, for the extractors that run a model in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TEMPLATE = (
    "{% for message in messages %}{{ '<s>' + message.role + ': ' + message.content + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant: ' }}{% endif %}"
)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer Llama over bytes, with <pad>, <s> and </s>, as a folder."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("tiny-llama")
    alphabet = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    inner = Tokenizer(models.BPE({symbol: place for place, symbol in enumerate(alphabet)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(5)
    settings = transformers.LlamaConfig(
        vocab_size=len(alphabet),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=96,
        initializer_range=0.4,
        tie_word_embeddings=False,
    )
    transformers.LlamaForCausalLM(settings).save_pretrained(folder)
    return folder


@pytest.fixture
def model(base: Path) -> Any:
    """The tiny Llama, loaded anew."""
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(base).eval()


@pytest.fixture
def tokenizer(base: Path) -> Any:
    """Its tokenizer."""
    import transformers

    return transformers.AutoTokenizer.from_pretrained(base)
