"""The bundle: one folder that carries a model from training to the runtime.

A bundle holds `bundle.json`, weights (safetensors, ONNX), a tokenizer and a model card. `bundle.json` lists the
SHA-256 of every other file; `load_bundle` verifies all of them before anything is read, and nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from engrain.runtime.errors import BundleError
from engrain.runtime.gate_calibration import Calibration
from engrain.runtime.schema import Contract

FORMAT_VERSION = 1
MANIFEST = "bundle.json"
DIGEST = "manifest_hash"
"""Key in the manifest of the SHA-256 over all its other content."""
Kind = Literal["gate", "extractor", "embedder"]


class ThresholdChoice(Contract):
    """The admission threshold and how it was chosen (SLICE-Mem C.3)."""

    value: float = Field(ge=0.0, le=1.0)
    chosen_by: str
    sweep: tuple[tuple[float, float], ...] = Field(default=(), description="Every (threshold, score) that was tried.")


class BundleManifest(Contract):
    """The content of `bundle.json`."""

    format_version: int = FORMAT_VERSION
    kind: Kind
    name: str = Field(description="Identity of this model; stored beside every vector and record it makes.")
    base_model: str
    base_hash: str = Field(description="SHA-256 of the base weights, or of the base folder's weight file.")
    files: dict[str, str] = Field(description="File name to SHA-256, every file but this one.")
    tokenizer_hash: str
    template_hash: str = Field(description="Hash of the render function's version and constants.")
    k: int | None = Field(default=None, description="Gate: preceding messages in the input.")
    markers: tuple[str, ...] = ()
    max_length: int = Field(description="Tokens.")
    pooling: str | None = None
    dimension: int | None = Field(default=None, description="Embedder: vector length.")
    threshold: ThresholdChoice | None = None
    calibration: Calibration | None = Field(default=None, description="Gate: how raw probabilities are read.")
    metrics: dict[str, float] = Field(default_factory=dict)
    data_fingerprint: str = ""
    recipe: dict[str, Any] = Field(default_factory=dict)
    licence: str = ""


def file_hash(path: Path) -> str:
    """SHA-256 of a file, as hex, read in blocks of 1 MiB."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def text_hash(*parts: str) -> str:
    """SHA-256 of the parts, with a separator that no part's content can imitate."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def hash_files(folder: Path) -> dict[str, str]:
    """Every file below `folder` but the manifest, by its POSIX path, with its hash."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    return {path.relative_to(folder).as_posix(): file_hash(path) for path in paths}


def write_manifest(folder: Path, manifest: BundleManifest) -> None:
    """Write `bundle.json` last, so that a folder without it is visibly unfinished."""
    content = manifest.model_dump(mode="json")
    content[DIGEST] = _digest(content)
    text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def load_bundle(folder: str | Path, kind: Kind) -> tuple[Path, BundleManifest]:
    """Read and verify a bundle.

    Raises `BundleError` when the folder or `bundle.json` is missing, the format is newer, the kind is another, a
    listed file is missing, an unlisted file is present, or a hash differs; the message names the file.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest.kind != kind:
        raise BundleError(f"{folder} is a bundle of kind '{manifest.kind}', not '{kind}'")
    _verify_files(folder, manifest.files)
    return folder, manifest


def read_manifest(folder: Path) -> BundleManifest:
    """Parse `bundle.json` and check its format version, without looking at the other files."""
    path = folder / MANIFEST
    if not path.is_file():
        raise BundleError(f"{folder} is not a bundle: {MANIFEST} is missing; make one with `engrain export`")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path} is not valid JSON: {error}; export the bundle again") from None
    version = raw.get("format_version") if isinstance(raw, dict) else None
    if version != FORMAT_VERSION:
        raise BundleError(f"{path} has format version {version!r}; this Engrain reads {FORMAT_VERSION}")
    if raw.pop(DIGEST, None) != _digest(raw):
        raise BundleError(f"{path} was changed: its content does not match its own {DIGEST}; export the bundle again")
    try:
        return BundleManifest.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BundleError(f"{path}: {place}: {first['msg']}; export the bundle again") from None


def _digest(content: dict[str, Any]) -> str:
    return text_hash(json.dumps(content, ensure_ascii=True, sort_keys=True))


def _verify_files(folder: Path, expected: dict[str, str]) -> None:
    found = hash_files(folder)
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise BundleError(f"{folder / name} is missing; copy or export the bundle again")
        if name not in expected:
            raise BundleError(f"{folder / name} is not listed in {MANIFEST}; remove it or export the bundle again")
        if found[name] != expected[name]:
            raise BundleError(f"{folder / name} was changed: its SHA-256 differs from {MANIFEST}; export it again")
