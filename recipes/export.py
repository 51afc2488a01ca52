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
from engrain.runtime.bundle import MANIFEST, read_manifest
from engrain.runtime.errors import InputError

# Of an evaluation, what a bundle's manifest keeps.
MEASURES = ("valid_json", "precision", "recall", "f1")


def command(kind: str, source: str, out: str, overwrite: bool, as_json: bool) -> None:
    """`engrain export`: write a bundle and print its manifest."""
    if kind not in KINDS:
        raise InputError(f"KIND {kind} is unknown; allowed: {', '.join(KINDS)}")
    folder = Path(out)
    clear(folder, overwrite=overwrite)
    KINDS[kind](source, folder)
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
        threshold=recipe.threshold,
        metrics=run["evaluation"],
        recipe=run["recipe"],
        licence=recipe.licence,
    )


def export_extractor_run(source: str, out: Path) -> None:
    """Export a tuned extractor, merged; its evaluation goes into the manifest when there is one."""
    from engrain.models.export.extractor import export_extractor
    from engrain.models.extractor.training import load_run

    folder = Path(source)
    evaluation = folder / EVALUATION_FILE
    document = json.loads(evaluation.read_text(encoding="utf-8")) if evaluation.is_file() else None
    metrics = {name: float(document["scores"]["tuned"][name]) for name in MEASURES} if document else {}
    licence = ExtractorRecipe.model_validate(document["recipe"]).licence if document else ""
    export_extractor(load_run(folder), out, metrics=metrics, licence=licence)


def export_embedder_source(source: str, out: Path) -> None:
    """Export a sentence embedder."""
    from engrain.models.export.embedder import export_embedder

    export_embedder(source, out)


KINDS: dict[str, Callable[[str, Path], None]] = {
    "gate": export_gate_run,
    "extractor": export_extractor_run,
    "embedder": export_embedder_source,
}


def _read_run(folder: Path) -> dict[str, Any]:
    path = folder / RUN_FILE
    if not path.is_file():
        seeds = sorted(entry.name for entry in folder.glob("seed-*")) if folder.is_dir() else []
        hint = f"; it has {', '.join(seeds)}" if seeds else ""
        raise InputError(f"{folder} is not the folder of one gate run: {RUN_FILE} is missing{hint}")
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "evaluation" not in document:
        seeds = sorted(entry.name for entry in folder.glob("seed-*"))
        raise InputError(f"{folder} holds several runs: export one of {', '.join(seeds)}")
    return document
