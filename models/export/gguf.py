"""GGUF for llama.cpp and its kin, from a merged Llama- or Qwen3-shaped model; read back and compared before it counts.

The file is written with the package gguf: matrices in the asked type, norms in float32, the tokenizer and its chat
template inside. Only byte-level BPE tokenizers are written (Llama 3, SmolLM2, Qwen): a SentencePiece vocabulary has
scores that a fast tokenizer does not keep.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from engrain.models.export.extractor import check_base
from engrain.models.export.logits import probe_logits, require_close
from engrain.models.extractor.generation import merge_adapter
from engrain.models.extractor.training import ExtractorRun
from engrain.runtime.errors import BundleError, InputError
from engrain.runtime.extraction.local import quiet_loading

GGUFType = Literal["f32", "f16", "q8_0"]
LOGIT_BOUNDS: dict[GGUFType, float] = {"f32": 1e-4, "f16": 5e-3, "q8_0": 1e-1}
"""Largest logit difference of the file read back, as a share of the largest logit (at least 1)."""
_ARCHITECTURES = {"llama": "llama", "qwen3": "qwen3"}
_PRE_TOKENIZERS = {"llama": "smollm", "qwen3": "qwen2"}
"""llama.cpp's names of the splitting rules: SmolLM2's for Llama-shaped models, Qwen2's for Qwen3."""
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4


def export_gguf(run: ExtractorRun, out: Path, *, dtype: GGUFType = "f16") -> Path:
    """Merge a run's adapter in float32 and write `out`, a .gguf file; it appears whole and checked, or not at all.

    Raises `InputError` for a model of another shape or tokenizer, and `BundleError` when the file read back through
    transformers differs from the merged model by more than the type's bound.
    """
    if out.exists():
        raise InputError(f"{out} exists already; name another file, or remove it")
    check_base(run)
    model, tokenizer = merge_adapter(run.config, run.adapter)
    write_gguf(model.eval(), tokenizer, out, dtype=dtype)
    return out


def write_gguf(model: Any, tokenizer: Any, out: Path, *, dtype: GGUFType = "f16") -> None:
    """Write a float32 causal LM and its tokenizer; see `export_gguf`."""
    kind = str(model.config.model_type)
    if kind not in _ARCHITECTURES:
        known = " and ".join(_ARCHITECTURES)
        raise InputError(f"a {kind} model is not written as GGUF, only {known}-shaped ones; export a bundle instead")
    expected = probe_logits(model, tokenizer)
    folder = out.parent / f".{out.name}.part"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        part = folder / "model.gguf"
        _write(model, tokenizer, part, kind, dtype)
        require_close(_read_back(part), expected, LOGIT_BOUNDS[dtype], f"the GGUF file ({dtype})")
        part.replace(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(model: Any, tokenizer: Any, path: Path, kind: str, dtype: GGUFType) -> None:
    gguf = _import_gguf()
    writer = gguf.GGUFWriter(path, _ARCHITECTURES[kind])
    _add_settings(writer, gguf, model.config, dtype)
    _add_tokenizer(writer, tokenizer, kind, model.get_input_embeddings().weight.shape[0])
    architecture = gguf.MODEL_ARCH[_ARCHITECTURES[kind].upper()]
    names = gguf.get_tensor_name_map(architecture, model.config.num_hidden_layers)
    store = _storage(gguf, dtype)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        target = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if target is None:
            raise InputError(f"the weight {name} has no place in a {kind} GGUF file; export a bundle instead")
        values = weight.detach().to(torch.float32).numpy()
        if kind == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
            heads = "num_attention_heads" if "q_proj" in name else "num_key_value_heads"
            values = _interleaved(values, int(getattr(model.config, heads)))
        data, stored = store(values)
        writer.add_tensor(target, data, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_settings(writer: Any, gguf: Any, config: Any, dtype: GGUFType) -> None:
    head = int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)
    rope = getattr(config, "rope_parameters", None) or {}
    theta: Any = rope.get("rope_theta") or getattr(config, "rope_theta", 10_000.0)
    if str(rope.get("rope_type", "default")) != "default":
        raise InputError(f"rope scaling of type {rope['rope_type']} is not written as GGUF; export a bundle instead")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(float(theta))
    writer.add_layer_norm_rms_eps(float(config.rms_norm_eps))
    writer.add_vocab_size(config.vocab_size)
    kinds = {"f32": "ALL_F32", "f16": "MOSTLY_F16", "q8_0": "MOSTLY_Q8_0"}
    writer.add_file_type(gguf.LlamaFileType[kinds[dtype]])


def _add_tokenizer(writer: Any, tokenizer: Any, kind: str, rows: int) -> None:
    """Tokens, their types, merges, roles and the chat template. Rows of the embedding without a token get a name."""
    inner = json.loads(tokenizer.backend_tokenizer.to_str())
    if inner["model"]["type"] != "BPE" or "ByteLevel" not in json.dumps(inner["decoder"]):
        raise InputError("only byte-level BPE tokenizers are written as GGUF; export a bundle instead")
    texts = [str(text) for text in tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))]
    added = tokenizer.added_tokens_decoder
    types = [_NORMAL] * len(texts)
    for place, token in added.items():
        types[place] = _CONTROL if token.special else _USER_DEFINED
    texts += [f"[PAD{place}]" for place in range(len(texts), rows)]
    types += [_CONTROL] * (rows - len(types))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in inner["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(_PRE_TOKENIZERS[kind])
    writer.add_token_list(texts)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    if tokenizer.bos_token_id is not None:
        writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_add_bos_token(False)
    writer.add_chat_template(str(tokenizer.chat_template))


def _storage(gguf: Any, dtype: GGUFType) -> Callable[[NDArray[np.float32]], tuple[NDArray[Any], Any]]:
    """How a weight is stored: vectors in float32, matrices in the asked type where their rows allow it."""
    types = gguf.GGMLQuantizationType

    def store(values: NDArray[np.float32]) -> tuple[NDArray[Any], Any]:
        if values.ndim == 1 or dtype == "f32":
            return values, types.F32
        if dtype == "q8_0" and values.shape[-1] % 32 == 0:
            return gguf.quants.quantize(values, types.Q8_0), types.Q8_0
        return values.astype(np.float16), types.F16

    return store


def _interleaved(weights: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Llama's query and key rows in llama.cpp's order: the two halves of each head's rotation alternate."""
    out, width = weights.shape
    return weights.reshape(heads, 2, out // heads // 2, width).swapaxes(1, 2).reshape(out, width)


def _read_back(path: Path) -> list[torch.Tensor]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        with quiet_loading():
            model: Any = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    except (ValueError, RuntimeError, KeyError) as error:
        raise BundleError(f"the GGUF file cannot be read back: {error}") from error
    return probe_logits(model.eval(), tokenizer)


def _import_gguf() -> Any:
    try:
        import gguf
    except ImportError:
        raise InputError("GGUF needs the package gguf; run `pip install engrain[train]`") from None
    return gguf
