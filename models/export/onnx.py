"""ONNX export of an encoder, verified against torch on real inputs before anyone may use it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from engrain.runtime.encoder import INPUT_NAMES, EncoderSession, length_batches, pad
from engrain.runtime.errors import TrainingError

LARGEST_DIFFERENCE = 1e-3
# Opset 17 has LayerNormalization as one operator and is read by every ONNX Runtime that Engrain admits.
_OPSET = 17


def export_onnx(network: nn.Module, path: Path, output: str, *, samples: Sequence[Sequence[int]], pad_id: int) -> float:
    """Write `network(input_ids, attention_mask)` as float32 ONNX with free batch and sequence sizes, then verify it.

    `samples` are real token id rows of different lengths, at least two. Returns the largest absolute difference
    between torch and ONNX Runtime over them; above `LARGEST_DIFFERENCE` the file is removed and `TrainingError` says
    so.
    """
    network = network.eval().float().cpu()
    ids, mask = (torch.from_numpy(array) for array in pad(list(samples[:2]), pad_id))
    dynamic = {0: "batch", 1: "sequence"}
    with warnings.catch_warnings(), _quiet_exporter():
        # The tracing exporter is deprecated, but it needs no further package and takes a sixth of the time; the
        # comparison below decides whether its result can be used.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (ids, mask),
            str(path),
            dynamo=False,
            opset_version=_OPSET,
            input_names=list(INPUT_NAMES),
            output_names=[output],
            dynamic_axes={**dict.fromkeys(INPUT_NAMES, dynamic), output: {0: "batch"}},
        )
    difference = largest_difference(network, path, samples, pad_id)
    if not difference <= LARGEST_DIFFERENCE:
        path.unlink(missing_ok=True)
        raise TrainingError(
            f"the ONNX export differs from torch by {difference:.2e} (at most {LARGEST_DIFFERENCE:.0e} is accepted); "
            "try model.attention=eager, or another torch version"
        )
    return difference


def export_int8(
    source: Path, path: Path, network: nn.Module, *, samples: Sequence[Sequence[int]], pad_id: int
) -> float:
    """Write `source` with its matrix products in int8 (weights once, activations as they come); returns the largest
    difference from torch over `samples`.

    Weights use 7 of 8 bits: on processors without VNNI the products of 8-bit pairs would overflow. No bound is set:
    what such a model is worth is its ranking, and `recipes/benchmarks/gate_speed.py` measures that.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logger = logging.getLogger()
    level = logger.level
    logger.setLevel(logging.ERROR)  # It advises a preparation that transformer encoders do not need.
    try:
        quantize_dynamic(str(source), str(path), weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    finally:
        logger.setLevel(level)
    difference = largest_difference(network, path, samples, pad_id)
    if not np.isfinite(difference):
        path.unlink(missing_ok=True)
        raise TrainingError("the int8 export gives logits that are not finite; export with int8=False")
    return difference


def largest_difference(network: nn.Module, path: Path, samples: Sequence[Sequence[int]], pad_id: int) -> float:
    """Largest absolute difference between torch's and ONNX Runtime's outputs over all samples."""
    theirs = EncoderSession(path, pad_id=pad_id, threads=torch.get_num_threads()).run(samples)
    ours = np.empty_like(theirs)
    with torch.inference_mode():
        for places in length_batches([len(row) for row in samples]):
            ids, mask = pad([samples[place] for place in places], pad_id)
            ours[places] = network(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
    return float(np.abs(ours - theirs).max())


class _quiet_exporter:  # noqa: N801 - reads as a context manager
    """Keep the exporter's notices about optional packages out of the user's terminal."""

    def __enter__(self) -> None:
        self._logger = logging.getLogger("torch.onnx")
        self._level = self._logger.level
        self._logger.setLevel(logging.ERROR)

    def __exit__(self, *_: object) -> None:
        self._logger.setLevel(self._level)
