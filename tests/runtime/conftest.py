"""Hand-made encoder bundles: real ONNX graphs and tokenizers, no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from engrain.runtime.bundle import BundleManifest, Kind, ThresholdChoice, hash_files, write_manifest
from engrain.runtime.gate_input import MARKERS, TEMPLATE_HASH, prepare_tokenizer

LETTERS = "abcdefghij"
DIMENSION = 4


def make_tokenizer() -> Tokenizer:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "S1", "S2", ":", *LETTERS]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def save_graph(path: Path, table: np.ndarray, output: str) -> None:
    """Sum of the table's rows over the tokens that the mask keeps; normalised when a row is a vector."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["rows", "wide"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "first"], ["sums"], keepdims=0),
    ]
    if output == "logit":
        nodes.append(helper.make_node("Squeeze", ["sums", "first"], [output]))
    else:
        nodes.append(helper.make_node("LpNormalization", ["sums"], [output], axis=-1, p=2))
    constants = {"table": table, "last": np.array([2]), "first": np.array([1])}
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in ("input_ids", "attention_mask")
    ]
    shape = ["b"] if output == "logit" else ["b", table.shape[1]]
    result = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "sum", ids, [result], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))


class MakeBundle(Protocol):
    """Write a bundle of a kind below the test's folder; `changes` replace manifest fields."""

    def __call__(self, name: str, kind: Kind, **changes: object) -> Path: ...


@pytest.fixture
def make_bundle(tmp_path: Path) -> MakeBundle:
    def make(name: str, kind: Kind, **changes: object) -> Path:
        return write_bundle(tmp_path / name, kind, **changes)

    return make


def write_bundle(folder: Path, kind: Kind, **changes: object) -> Path:
    folder.mkdir()
    tokenizer = make_tokenizer() if kind == "embedder" else prepare_tokenizer(make_tokenizer())
    tokenizer.save(str(folder / "tokenizer.json"))
    width = 1 if kind == "gate" else DIMENSION
    table = np.random.default_rng(0).normal(size=(32, width)).astype(np.float32)
    save_graph(folder / "model.onnx", table, "logit" if kind == "gate" else "embedding")
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    values: dict[str, object] = {
        "kind": kind,
        "name": f"tiny-{kind}@0",
        "base_model": "tiny",
        "base_hash": "0",
        "files": hash_files(folder),
        "tokenizer_hash": "0",
        "template_hash": TEMPLATE_HASH,
        "max_length": 24,
    }
    if kind == "gate":
        values |= {"k": 1, "markers": MARKERS, "threshold": ThresholdChoice(value=0.2, chosen_by="test")}
    else:
        values |= {"dimension": DIMENSION}
    write_manifest(folder, BundleManifest.model_validate(values | changes))
    return folder
