"""Export a trained gate to a bundle: safetensors, tokenizer with markers, verified ONNX, model card, manifest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from tokenizers import Tokenizer

from engrain.models.export.card import model_card
from engrain.models.export.folder import whole_folder
from engrain.models.export.onnx import export_int8, export_onnx
from engrain.models.gate.encoder import encoder_settings, pad_id
from engrain.models.gate.module import GateModule
from engrain.models.gate.scoring import load_module
from engrain.models.training.checkpoints import BEST
from engrain.models.weights import model_name
from engrain.runtime.bundle import BundleManifest, ThresholdChoice, file_hash, hash_files, write_manifest
from engrain.runtime.encoder import CARD_FILE, CONFIG_FILE, INT8_FILE, MODEL_FILE, TOKENIZER_FILE, WEIGHTS_FILE
from engrain.runtime.gate_calibration import Calibration
from engrain.runtime.gate_cascade import FIRST_STAGE_FILE
from engrain.runtime.gate_input import MARKERS, TEMPLATE_HASH, prepare_tokenizer


def export_gate(
    source: Path,
    out: Path,
    *,
    threshold: ThresholdChoice,
    metrics: Mapping[str, float],
    calibration: Calibration | None = None,
    int8: bool = True,
    data_fingerprint: str = "",
    recipe: Mapping[str, Any] | None = None,
    licence: str = "",
    notes: str = "",
) -> Path:
    """Write the gate bundle `out` from a run folder (its best checkpoint) or a checkpoint; return `out`.

    ONNX is compared with torch on the validation inputs that the checkpoint holds; the largest logit difference is
    added to the metrics as `onnx_max_logit_difference`, and above 1e-3 the export is refused; that of the int8 weights
    is `int8_max_logit_difference`. `data_fingerprint` is the training run's own unless given. The folder appears whole
    or not at all.
    """
    module = load_module(source / BEST if source.is_dir() else source)
    tokenizer = prepare_tokenizer(Tokenizer.from_str(module.tokenizer_json))
    with whole_folder(out) as folder:
        tokenizer.save(str(folder / TOKENIZER_FILE))
        tensors = {name: tensor.detach().contiguous() for name, tensor in module.network.state_dict().items()}
        save_file(tensors, folder / WEIGHTS_FILE, metadata={"format": "pt"})
        settings = json.dumps(encoder_settings(module.network), indent=2, sort_keys=True)
        (folder / CONFIG_FILE).write_text(settings + "\n", encoding="utf-8")
        difference = export_onnx(
            module.network,
            folder / MODEL_FILE,
            "logit",
            samples=module.facts["samples"],
            pad_id=pad_id(module.network),
        )
        measured = {**metrics, "onnx_max_logit_difference": difference}
        if int8:
            measured["int8_max_logit_difference"] = export_int8(
                folder / MODEL_FILE,
                folder / INT8_FILE,
                module.network,
                samples=module.facts["samples"],
                pad_id=pad_id(module.network),
            )
        first_stage = source / FIRST_STAGE_FILE
        if first_stage.is_file():
            shutil.copyfile(first_stage, folder / FIRST_STAGE_FILE)
        manifest = _manifest(module, folder, threshold, measured)
        given: dict[str, Any] = {"recipe": dict(recipe or {}), "licence": licence, "calibration": calibration}
        if data_fingerprint:
            given["data_fingerprint"] = data_fingerprint
        manifest = manifest.model_copy(update=given)
        (folder / CARD_FILE).write_text(model_card(manifest, notes), encoding="utf-8")
        write_manifest(folder, manifest.model_copy(update={"files": hash_files(folder)}))
    return out


def _manifest(
    module: GateModule, folder: Path, threshold: ThresholdChoice, metrics: Mapping[str, float]
) -> BundleManifest:
    model = module.config.model
    return BundleManifest(
        kind="gate",
        name=f"gate-{model_name(model.base)}@{file_hash(folder / WEIGHTS_FILE)[:12]}",
        base_model=model.base,
        base_hash=module.facts["base_hash"],
        files={},
        tokenizer_hash=file_hash(folder / TOKENIZER_FILE),
        template_hash=TEMPLATE_HASH,
        k=model.k,
        markers=MARKERS,
        max_length=model.max_length,
        pooling=model.pooling,
        threshold=threshold,
        metrics=dict(metrics),
        data_fingerprint=module.facts["data_fingerprint"],
    )
