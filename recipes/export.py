"""`engrain export`: a trained run, or an embedder, to a bundle."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engrain.recipes import console
from engrain.recipes.config import ExtractorRecipe, GateRecipe
from engrain.recipes.train_extractor import EVALUATION_FILE
from engrain.recipes.train_gate import RUN_FILE
from engrain.runtime.bundle import MANIFEST, ThresholdChoice, read_manifest
from engrain.runtime.errors import InputError
from engrain.runtime.gate_calibration import Calibration

# Of an evaluation, what a bundle's manifest keeps.
MEASURES = ("valid_json", "precision", "recall", "f1")


def command(kind: str, source: str, out: str, overwrite: bool, as_json: bool, to: str = "bundle") -> None:
    """`engrain export`: write a bundle and print its manifest; an extractor also in other forms (`to`)."""
    if kind not in KINDS:
        raise InputError(f"KIND {kind} is unknown; allowed: {', '.join(KINDS)}")
    forms = EXTRACTOR_FORMS if kind == "extractor" else {"bundle": KINDS[kind]}
    if to not in forms:
        raise InputError(f"--to {to} is unknown for {kind}; allowed: {', '.join(forms)}")
    folder = Path(out)
    if to in FILES:
        forms[to](source, folder)
        console.show_json({"written": out}) if as_json else console.say(f"{out} is written and checked")
        return
    clear(folder, overwrite=overwrite)
    forms[to](source, folder)
    manifest = read_manifest(folder).model_dump(mode="json")
    if as_json:
        console.show_json(manifest)
    else:
        shown = ("kind", "name", "base_model", "max_length", "threshold", "metrics")
        console.show_fields(str(folder), {name: manifest[name] for name in shown if manifest[name]})


def clear(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is there, or remove it when it is a bundle and `overwrite` is given."""
    if not folder.exists():
        return
    if not overwrite:
        raise InputError(f"{folder} exists already; --overwrite replaces a bundle, or name another folder")
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} is not a bundle, so --overwrite leaves it alone; name another folder")
    shutil.rmtree(folder)


def export_gate_run(source: str, out: Path) -> None:
    """Export the best checkpoint of one seed's folder."""
    from engrain.models.export.gate import export_gate

    run = _read_run(Path(source))
    recipe = GateRecipe.model_validate(run["recipe"])
    export_gate(
        Path(source),
        out,
        threshold=ThresholdChoice.model_validate(run["threshold"]) if "threshold" in run else recipe.threshold,
        calibration=Calibration.model_validate(run["calibration"]) if "calibration" in run else None,
        metrics=run["evaluation"],
        recipe=run["recipe"],
        licence=recipe.licence,
    )


def export_extractor_run(source: str, out: Path, *, merged: bool = True) -> None:
    """Export a tuned extractor as a bundle; its evaluation goes into the manifest when there is one."""
    from engrain.models.export.extractor import export_extractor

    folder = Path(source)
    run, document = read_extractor_run(folder), read_document(folder / EVALUATION_FILE)
    metrics, licence = _measures(document, folder / EVALUATION_FILE) if document else ({}, "")
    export_extractor(run, out, merged=merged, metrics=metrics, licence=licence)


def read_extractor_run(folder: Path) -> Any:
    """The finished run in a folder."""
    from engrain.models.extractor.training import load_run

    return load_run(folder)


def _measures(document: dict[str, Any], path: Path) -> tuple[dict[str, float], str]:
    try:
        metrics = {name: float(document["scores"]["tuned"][name]) for name in MEASURES}
        return metrics, ExtractorRecipe.model_validate(document["recipe"]).licence
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} holds no evaluation of this version ({error}); evaluate the run again") from None


def read_document(path: Path) -> dict[str, Any] | None:
    """A JSON file's object, None when there is no such file; `InputError` for one that was cut or is no object."""
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); was its run stopped while writing? resume it") from None
    if not isinstance(document, dict):
        raise InputError(f"{path} holds no JSON object; was its run stopped while writing? resume it")
    return document


def export_adapter_run(source: str, out: Path) -> None:
    """Export a tuned extractor as a small bundle that needs its base model."""
    export_extractor_run(source, out, merged=False)


def export_merged_run(source: str, out: Path) -> None:
    """Export a tuned extractor as a plain model folder."""
    from engrain.models.export.extractor import export_merged

    export_merged(read_extractor_run(Path(source)), out)


def export_gguf_run(source: str, out: Path) -> None:
    """Export a tuned extractor as one GGUF file."""
    from engrain.models.export.gguf import export_gguf

    export_gguf(read_extractor_run(Path(source)), out)


def export_embedder_source(source: str, out: Path) -> None:
    """Export a sentence embedder."""
    from engrain.models.export.embedder import export_embedder

    export_embedder(source, out)


KINDS: dict[str, Callable[[str, Path], None]] = {
    "gate": export_gate_run,
    "extractor": export_extractor_run,
    "embedder": export_embedder_source,
}


EXTRACTOR_FORMS: dict[str, Callable[[str, Path], None]] = {
    "bundle": export_extractor_run,
    "adapter": export_adapter_run,
    "merged": export_merged_run,
    "gguf": export_gguf_run,
}
FILES = ("merged", "gguf")
"""Forms without a manifest: a model folder for any server, a file for llama.cpp."""


def _read_run(folder: Path) -> dict[str, Any]:
    path = folder / RUN_FILE
    if not path.is_file():
        seeds = sorted(entry.name for entry in folder.glob("seed-*")) if folder.is_dir() else []
        hint = f"; it has {', '.join(seeds)}" if seeds else ""
        raise InputError(f"{folder} is not the folder of one gate run: {RUN_FILE} is missing{hint}")
    document = read_document(path) or {}
    if "evaluation" not in document:
        seeds = sorted(entry.name for entry in folder.glob("seed-*"))
        raise InputError(f"{folder} holds several runs: export one of {', '.join(seeds)}")
    return document
