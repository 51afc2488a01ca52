"""GGUF: what is read back through transformers is the model that was merged, tokenizer and template too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Regex, normalizers, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from engrain.models.export import gguf as gguf_module
from engrain.models.export.gguf import export_gguf, write_gguf
from engrain.models.export.logits import probe_logits
from engrain.models.extractor.config import ExtractorConfig
from engrain.models.extractor.training import train_extractor
from engrain.runtime.errors import BundleError, InputError
from engrain.runtime.schema import ExtractionExample

pytest.importorskip("gguf")
SHAPE = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "max_position_embeddings": 512}


@pytest.fixture
def tokenizer(tiny_causal_base: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_causal_base)


QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def split_as(kind: str, tokenizer: Any) -> Any:
    """The tokenizer with the splitting rules that a model of this kind has."""
    if kind == "qwen3":
        words = pre_tokenizers.Split(Regex(QWEN_SPLIT), behavior="isolated")
        inner = tokenizer.backend_tokenizer
        inner.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(False, use_regex=False)])
        inner.normalizer = normalizers.NFC()
    return tokenizer


def build(kind: str, tokenizer: Any, *, tied: bool) -> Any:
    torch.manual_seed(2)
    common = {"vocab_size": len(tokenizer) + 3, "tie_word_embeddings": tied, "initializer_range": 0.2, **SHAPE}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    if kind == "llama":
        return LlamaForCausalLM(LlamaConfig(**common, **heads, rope_theta=50_000.0)).eval()
    return Qwen3ForCausalLM(Qwen3Config(**common, **heads, head_dim=128, rope_theta=1e6)).eval()


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
@pytest.mark.parametrize(("tied", "dtype"), [(True, "f32"), (False, "f16"), (True, "q8_0")])
def test_what_is_read_back_is_the_model(kind: str, tied: bool, dtype: Any, tokenizer: Any, tmp_path: Path) -> None:
    model, tokenizer = build(kind, tokenizer, tied=tied), split_as(kind, tokenizer)
    write_gguf(model, tokenizer, tmp_path / "tiny.gguf", dtype=dtype)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.gguf"]
    read = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="tiny.gguf", dtype=torch.float32).eval()
    words = AutoTokenizer.from_pretrained(tmp_path, gguf_file="tiny.gguf")
    assert (words.eos_token_id, words.pad_token_id) == (tokenizer.eos_token_id, tokenizer.pad_token_id)
    assert words.chat_template == tokenizer.chat_template
    assert read.config.tie_word_embeddings == tied
    largest = max(float(part.abs().max()) for part in probe_logits(model, tokenizer))
    differences = zip(probe_logits(read, words), probe_logits(model, tokenizer), strict=True)
    difference = max(float((left - right).abs().max()) for left, right in differences)
    assert difference <= {"f32": 1e-5, "f16": 5e-3, "q8_0": 0.1}[dtype] * max(1.0, largest)


def test_a_run_is_exported(config: ExtractorConfig, example: Callable[..., ExtractionExample], tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(config.model.base)
    build("llama", tokenizer, tied=True).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    model = config.model.model_copy(update={"base": str(tmp_path / "base")})
    config = config.model_copy(update={"model": model})
    run = train_extractor(config, [example(i) for i in range(4)], [example(5)], tmp_path / "run", seed=1)
    assert export_gguf(run, tmp_path / "model.gguf", dtype="f32").stat().st_size > 10_000
    with pytest.raises(InputError, match="exists already"):
        export_gguf(run, tmp_path / "model.gguf")


def test_a_file_that_differs_is_refused(tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without llama.cpp's order of rows the rotations would be wrong: the check has to see it."""
    monkeypatch.setattr(gguf_module, "_interleaved", lambda weights, heads: weights)
    with pytest.raises(BundleError, match=r"GGUF file \(f32\) differs"):
        write_gguf(build("llama", tokenizer, tied=True), tokenizer, tmp_path / "tiny.gguf", dtype="f32")
    assert not list(tmp_path.iterdir())


def test_other_splitting_rules_are_refused(tokenizer: Any, tmp_path: Path) -> None:
    """A file carries the name of its rules only: a Qwen3 whose tokenizer splits otherwise would read other tokens."""
    with pytest.raises(BundleError, match="reads the same text as other tokens"):
        write_gguf(build("qwen3", tokenizer, tied=True), tokenizer, tmp_path / "tiny.gguf", dtype="f32")


def test_other_shapes_are_refused(tokenizer: Any, tmp_path: Path) -> None:
    other = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2))
    with pytest.raises(InputError, match="a gpt2 model is not written as GGUF, only llama and qwen3"):
        write_gguf(other, tokenizer, tmp_path / "tiny.gguf")
