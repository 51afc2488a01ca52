"""The base model: found, converted from GGUF where needed, loaded with a padding token of its own.

Transformers reads GGUF slowly (30 s for 135M parameters) and will not save what it read, so a GGUF base is converted
to a safetensors folder once and kept in the cache: `$ENGRAIN_CACHE`, else `~/.cache/engrain`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from engrain.models.extractor.config import DType
from engrain.models.weights import resolve, weights_hash
from engrain.runtime.bundle import file_hash
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.local import quiet_loading

_CONVERSION = "1"
_PAD_LIKE = re.compile(r"pad|reserved|unused|extra", re.IGNORECASE)
_ADDED_PAD = "<|pad|>"


@dataclass(frozen=True)
class BaseModel:
    """A base model at its place. `weights_hash` is that of the safetensors that are loaded."""

    name: str
    source: Path | str
    weights_hash: str


def locate_base(name: str) -> BaseModel:
    """Find the weights behind `name`, converting GGUF to safetensors in the cache when there is nothing else.

    Raises `InputError` when there are no weights in a form that is read (safetensors or GGUF).
    """
    source = resolve(name)
    if isinstance(source, Path) and not any(source.glob("*.safetensors")):
        source = _converted(_only_gguf(source))
    return BaseModel(name, source, weights_hash(str(source)))


def load_tokenizer(base: BaseModel) -> Any:
    """The base model's tokenizer, with a padding token that is not the end-of-text token."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base.source)
    if tokenizer.eos_token_id is None:
        raise InputError(f"the tokenizer of {base.name} has no eos token, so no answer could end; set one there")
    give_pad_token(tokenizer)
    return tokenizer


def load_model(
    base: BaseModel,
    tokenizer: Any,
    *,
    dtype: DType = "float32",
    attention: str = "sdpa",
    quantize: Literal["none", "nf4", "int8"] = "none",
) -> Any:
    """The causal LM in `dtype`, its config and generation config agreeing with the tokenizer on eos and pad.

    `quantize` rounds the frozen weights while an adapter is trained on them (QLoRA); raises `InputError` where
    bitsandbytes is not usable.
    """
    from transformers import AutoModelForCausalLM

    options: dict[str, Any] = {} if quantize == "none" else {"quantization_config": _quantization(quantize, dtype)}
    with quiet_loading():
        model = AutoModelForCausalLM.from_pretrained(
            base.source, dtype=getattr(torch, dtype), attn_implementation=attention, use_safetensors=True, **options
        )
    fit_to_tokenizer(model, tokenizer)
    return model


def _quantization(quantize: str, dtype: DType) -> Any:
    if importlib.util.find_spec("bitsandbytes") is None or not torch.cuda.is_available():
        raise InputError(
            f"model.quantize={quantize} needs a CUDA device and the package bitsandbytes (`pip install bitsandbytes`); "
            "set model.quantize=none"
        )
    from transformers import BitsAndBytesConfig

    make: Any = BitsAndBytesConfig
    if quantize == "int8":
        return make(load_in_8bit=True)
    # QLoRA (Dettmers et al. 2023): 4-bit normal floats, constants quantised again, products in the given type.
    return make(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=getattr(torch, dtype),
    )


def refuse_quantised(name: str) -> None:
    """Raise `InputError` when the weights behind `name` are quantised: a merge into them would be rounded away."""
    from transformers import AutoConfig

    source = resolve(name)
    if isinstance(source, Path) and not (source / "config.json").is_file():
        return  # GGUF, which `locate_base` turns into float32.
    settings = getattr(AutoConfig.from_pretrained(source), "quantization_config", None)
    if settings is not None:
        method = settings.get("quant_method", "unknown") if isinstance(settings, dict) else settings.quant_method
        raise InputError(
            f"{name} is quantised ({method}), and an adapter is never merged into rounded weights; name the same model "
            "in full precision as model.base, or export the adapter alone"
        )


def give_pad_token(tokenizer: Any) -> None:
    """Make sure that pad differs from eos: a model that learns to see eos as padding never stops.

    Taken, in this order: the tokenizer's own, a special token meant for padding or reserved, a special token that has
    no role and no place in the chat template, a new token.
    """
    if tokenizer.pad_token_id is not None and tokenizer.pad_token_id != tokenizer.eos_token_id:
        return
    roles = {tokenizer.eos_token, tokenizer.bos_token, tokenizer.unk_token}
    template = str(tokenizer.chat_template or "")
    added = sorted(tokenizer.added_tokens_decoder.items())
    free = [str(token.content) for _, token in added if token.special]
    free = [text for text in free if text not in roles and text not in template]
    meant = [text for text in free if _PAD_LIKE.search(text)]
    tokenizer.add_special_tokens({"pad_token": next(iter(meant), free[-1] if free else _ADDED_PAD)})


def fit_to_tokenizer(model: Any, tokenizer: Any) -> None:
    """Give the model the tokenizer's eos and pad, and an embedding row for every token."""
    rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        # The new row is padding, always masked: its value has no effect, so an adapter need not carry it.
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    for settings in (model.config, model.generation_config):
        settings.pad_token_id = tokenizer.pad_token_id
        settings.eos_token_id = tokenizer.eos_token_id


def cache_folder() -> Path:
    """Where converted models are kept: `$ENGRAIN_CACHE`, else `~/.cache/engrain`."""
    return Path(os.environ.get("ENGRAIN_CACHE") or Path.home() / ".cache" / "engrain")


def _only_gguf(folder: Path) -> Path:
    found = sorted(folder.glob("*.gguf"))
    if len(found) != 1:
        raise InputError(f"{folder} holds {len(found)} GGUF files and no safetensors; expected one model")
    return found[0]


def _converted(gguf: Path) -> Path:
    """The safetensors folder of a GGUF file, made when missing. It appears whole or not at all."""
    target = cache_folder() / "bases" / f"{gguf.stem}-{file_hash(gguf)[:16]}-{_CONVERSION}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=target.parent))
    try:
        with quiet_loading():
            _convert(gguf, part)
        part.chmod(0o755)  # mkdtemp keeps others out.
        try:
            part.rename(target)
        except OSError:
            if not target.is_dir():  # Otherwise another process was first, with the same result.
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _convert(gguf: Path, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        read = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    except ImportError as error:
        raise InputError(f"{gguf.name} needs the package gguf to be read ({error}); run `pip install gguf`") from error
    # What was read remembers that it was quantised, and refuses to be saved: rebuild it from a clean config.
    settings = read.config.to_dict()
    settings.pop("quantization_config", None)
    clean: Any = type(read)(type(read.config)(**settings))
    clean.load_state_dict(read.state_dict(), strict=True)
    give_pad_token(tokenizer)
    fit_to_tokenizer(clean, tokenizer)
    clean.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
