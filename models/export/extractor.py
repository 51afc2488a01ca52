"""From an extractor run to a bundle: merged weights that any server loads, the adapter beside them, a model card.

The merge is done in float32 and compared with the adapter on the base: a bundle is refused when their logits differ
by more than a bound, before casting. What was written is then read back strictly and compared again.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engrain.models.export.folder import whole_folder
from engrain.models.export.logits import probe_logits, require_close
from engrain.models.extractor.base import locate_base, refuse_quantised
from engrain.models.extractor.config import DType, ExtractorConfig
from engrain.models.extractor.generation import load_adapter
from engrain.models.extractor.training import ExtractorRun
from engrain.models.weights import model_name
from engrain.runtime.bundle import BundleManifest, file_hash, hash_files, write_manifest
from engrain.runtime.errors import BundleError, InputError
from engrain.runtime.extraction.local import ADAPTER_FOLDER, quiet_loading

LOGIT_BOUND = 1e-4
"""Largest logit difference between adapter and merged model, as a share of the largest logit (at least 1).

Float32 rounding alone gives 3e-6 for SmolLM2-135M, where logits reach 39; a merge in bfloat16 gives 1e-3 and more."""


def export_extractor(
    run: ExtractorRun,
    out: Path,
    *,
    name: str | None = None,
    merged: bool = True,
    dtype: DType = "float32",
    bound: float = LOGIT_BOUND,
    metrics: Mapping[str, float] | None = None,
    recipe: Mapping[str, Any] | None = None,
    licence: str = "",
) -> Path:
    """Write the bundle folder `out` and return it; it appears whole or not at all, in place of an earlier bundle.

    `merged` False leaves out the merged weights: a small bundle that needs its base model. `dtype` is what merged
    weights are cast to, last. `metrics` are added to the run's losses, `recipe` to the settings that the runtime
    needs. Raises `BundleError` when the merged model differs from the adapter model by more than `bound` (a share of
    the largest logit) or does not read back as written, and `InputError` when `out` holds something else or the base
    is no longer the one that was tuned.
    """
    config = run.config
    check_base(run)
    with whole_folder(out) as part:
        tokenizer = _write_weights(config, run.adapter, part, merged=merged, dtype=dtype, bound=bound)
        tokenizer.save_pretrained(part)
        shutil.copytree(run.adapter, part / ADAPTER_FOLDER, ignore=shutil.ignore_patterns("*token*", "*.jinja", "*.md"))
        identity = name or f"{model_name(config.model.base)}-extractor-{run.data_fingerprint[:8]}-{run.seed}"
        manifest = _manifest(run, identity, dtype, metrics or {}, recipe or {}, licence)
        (part / "README.md").write_text(_card(manifest, run, merged=merged), encoding="utf-8")
        tokenizer_hash = file_hash(part / "tokenizer.json")
        manifest = manifest.model_copy(update={"files": hash_files(part), "tokenizer_hash": tokenizer_hash})
        write_manifest(part, manifest)
    return out


def export_merged(run: ExtractorRun, out: Path, *, dtype: DType = "float32", bound: float = LOGIT_BOUND) -> Path:
    """Write the merged model as a plain transformers folder, the layout that vLLM reads; errors as `export_extractor`.

    `out` must not exist, or be empty.
    """
    check_base(run)
    with whole_folder(out) as part:
        tokenizer = _write_weights(run.config, run.adapter, part, merged=True, dtype=dtype, bound=bound)
        tokenizer.save_pretrained(part)
    return out


def check_base(run: ExtractorRun) -> None:
    """Raise `InputError` when the base cannot be merged into, or is not the one that the run tuned."""
    base = run.config.model.base
    refuse_quantised(base)
    if locate_base(base).weights_hash != run.base_hash:
        raise InputError(f"{base} has other weights than when {run.folder} was trained; restore them or retrain")


def _write_weights(
    config: ExtractorConfig, adapter: Path, folder: Path, *, merged: bool, dtype: DType, bound: float
) -> Any:
    """Merge, compare, cast, save, read back, compare; returns the tokenizer."""
    tuned, tokenizer = load_adapter(config, adapter)
    expected = probe_logits(tuned, tokenizer)
    model = tuned.merge_and_unload(safe_merge=True).eval()
    require_close(probe_logits(model, tokenizer), expected, bound, "the merged model")
    if merged:
        exact = {key: value.to(getattr(torch, dtype)) for key, value in model.state_dict().items()}
        with quiet_loading():
            model.to(getattr(torch, dtype)).save_pretrained(folder)
            _read_back(folder, exact)
    return tokenizer


def _read_back(folder: Path, expected: Mapping[str, Tensor]) -> None:
    """Load what was written, strictly: no key missing, none unexpected, every weight as it was."""
    from transformers import AutoModelForCausalLM

    load: Any = AutoModelForCausalLM.from_pretrained
    model, report = load(folder, dtype="auto", use_safetensors=True, output_loading_info=True)
    problems = {kind: keys for kind, keys in report.items() if keys}
    if problems:
        raise BundleError(f"the exported weights do not load strictly: {problems}")
    found = model.state_dict()
    changed = [key for key, value in expected.items() if key not in found or not torch.equal(found[key], value)]
    if changed:
        raise BundleError(f"{len(changed)} exported weights read back differently, first {changed[0]}")


def _manifest(
    run: ExtractorRun,
    name: str,
    dtype: DType,
    metrics: Mapping[str, float],
    recipe: Mapping[str, Any],
    licence: str,
) -> BundleManifest:
    config = run.config
    needed = {
        "prompt": config.model.prompt,
        "prompt_hash": run.prompt_hash,
        "thinking": config.model.thinking,
        "style": config.window.style.value,
        "window_size": config.window.size,
        "window_overlap": config.window.overlap,
        "keep_words": config.model.keep_words,
        "max_new_tokens": config.decoding.max_new_tokens,
        "batch_size": config.decoding.batch_size,
        "constrain": config.decoding.constrain and not config.model.thinking,
        "dtype": dtype,
    }
    return BundleManifest(
        kind="extractor",
        name=name,
        base_model=config.model.base,
        base_hash=run.base_hash,
        files={},
        tokenizer_hash="",
        template_hash=run.template_hash,
        max_length=config.model.max_length,
        metrics={**run.metrics, **metrics},
        data_fingerprint=run.data_fingerprint,
        recipe={**recipe, "training": config.model_dump(mode="json"), "seed": run.seed, **needed},
        licence=licence,
    )


def _card(manifest: BundleManifest, run: ExtractorRun, *, merged: bool) -> str:
    """The model card, in Markdown."""
    config, best = run.config, run.best_step
    rows = "\n".join(f"| {name} | {value:.4g} |" for name, value in sorted(manifest.metrics.items()))
    weights = "merged float weights, and the adapter in `adapter/`" if merged else "the adapter in `adapter/` only"
    licence = f"license: {manifest.licence.lower()}\n" if manifest.licence else ""
    return f"""---
{licence}base_model: {manifest.base_model}
pipeline_tag: text-generation
---
# {manifest.name}
Writes dimensional memory records (DimMem section 3.1) from a window of dialogue, as JSON. Holds {weights}.

- Base: {manifest.base_model}, weights {manifest.base_hash[:16]}
- Windows: {config.window.style.value}, {config.window.size} messages, {config.window.overlap} of them context only
- Prompt: `{config.model.prompt}`, {run.prompt_hash[:16]}; thinking {"on" if config.model.thinking else "off"}
- Tuning: LoRA rank {config.lora.rank}, alpha {config.lora.alpha}; {run.train_examples} windows, best of {run.steps} \
steps at step {best}; {len(run.too_long)} examples were too long and left out; seed {run.seed}

| measure | value |
|---|---|
{rows}

Load it with `engrain.runtime.extraction.local.load_extractor(folder)`, or serve the folder with any server that reads
safetensors and send it the prompts of `engrain.runtime.extraction.prompts`. Records are what a model wrote: they can
be wrong, and every one names the message it came from.
"""
