"""An exported encoder on ONNX Runtime, behind the gate and the embedder: its files, its batches, a result a row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from engrain.runtime.errors import BundleError

MODEL_FILE = "model.onnx"
INT8_FILE = "model.int8.onnx"
WEIGHTS_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "config.json"
CARD_FILE = "README.md"
INPUT_NAMES = ("input_ids", "attention_mask")
# Padded tokens of one batch: enough to keep a few cores busy, small enough to stay in their caches.
TOKENS_PER_BATCH = 2048


class EncoderSession:
    """`input_ids` and `attention_mask` (B x T, int64) to one output row each."""

    def __init__(self, model: Path, *, pad_id: int, threads: int | None) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        if threads is not None:
            options.intra_op_num_threads = threads
            options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise BundleError(f"{model} cannot be loaded by ONNX Runtime ({error}); export the bundle again") from error
        self._pad_id = pad_id

    @classmethod
    def open(cls, folder: Path, threads: int | None, model: str = MODEL_FILE) -> EncoderSession:
        """The encoder of a bundle whose hashes have been verified. `threads` empty takes all cores."""
        pad_id = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")).get("pad_token_id")
        if not isinstance(pad_id, int):
            raise BundleError(f"{folder / CONFIG_FILE} has no pad_token_id; export the bundle again")
        return cls(folder / model, pad_id=pad_id, threads=threads)

    def run(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The outputs of all rows (at least one), N x ..., in the order of the rows, whatever the batching."""
        outputs: NDArray[np.float32] | None = None
        for places in length_batches([len(row) for row in rows]):
            batch = pad([rows[place] for place in places], self._pad_id)
            result = self._session.run(None, dict(zip(INPUT_NAMES, batch, strict=True)))[0]
            if outputs is None:
                outputs = np.empty((len(rows), *result.shape[1:]), dtype=np.float32)
            outputs[places] = result
        if outputs is None:
            raise ValueError("there is no row to run")
        return outputs


def length_batches(lengths: Sequence[int], budget: int = TOKENS_PER_BATCH) -> Iterator[list[int]]:
    """Row numbers in batches of similar length, longest first, each of at most `budget` padded tokens (or one row)."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    start = 0
    while start < len(order):
        size = max(1, budget // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and mask, B x T, padded on the right to the longest row."""
    width = max(len(row) for row in rows)
    ids = np.full((len(rows), width), pad_id, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return ids, mask
