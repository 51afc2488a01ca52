"""The manifest: every file's hash, the manifest's own digest, format and kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engrain.runtime.bundle import MANIFEST, BundleManifest, ThresholdChoice, hash_files, load_bundle, write_manifest
from engrain.runtime.errors import BundleError


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "gate"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"weights")
    manifest = BundleManifest(
        kind="gate",
        name="g",
        base_model="b",
        base_hash="0",
        files=hash_files(folder),
        tokenizer_hash="1",
        template_hash="2",
        max_length=8,
        threshold=ThresholdChoice(value=0.2, chosen_by="a test — ü"),
    )
    write_manifest(folder, manifest)
    return folder


def test_a_whole_bundle_loads(bundle: Path) -> None:
    folder, manifest = load_bundle(bundle, "gate")
    assert (folder, manifest.threshold) == (bundle, ThresholdChoice(value=0.2, chosen_by="a test — ü"))


@pytest.mark.parametrize("name", ["model.onnx", MANIFEST])
def test_one_changed_byte_anywhere_is_refused_naming_the_file(bundle: Path, name: str) -> None:
    path = bundle / name
    content = path.read_bytes()
    changed = content.replace(b"weights", b"weightS") if name != MANIFEST else content.replace(b"0.2", b"0.9")
    assert changed != content
    path.write_bytes(changed)
    with pytest.raises(BundleError, match=rf"{name} was changed"):
        load_bundle(bundle, "gate")


@pytest.mark.parametrize("name", ["extra.txt", f"below/{MANIFEST}"])
def test_a_file_that_is_not_listed_is_refused(bundle: Path, name: str) -> None:
    (bundle / name).parent.mkdir(exist_ok=True)
    (bundle / name).write_text("x")
    with pytest.raises(BundleError, match="is not listed"):
        load_bundle(bundle, "gate")


def test_missing_files_other_kinds_and_newer_formats_are_refused(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="kind 'gate', not 'extractor'"):
        load_bundle(bundle, "extractor")
    with pytest.raises(BundleError, match=r"bundle\.json is missing"):
        load_bundle(tmp_path / "none", "gate")
    (bundle / "model.onnx").unlink()
    with pytest.raises(BundleError, match=r"model\.onnx is missing"):
        load_bundle(bundle, "gate")
    document = json.loads((bundle / MANIFEST).read_text(encoding="utf-8"))
    (bundle / MANIFEST).write_text(json.dumps(document | {"format_version": 99}), encoding="utf-8")
    with pytest.raises(BundleError, match="format version 99"):
        load_bundle(bundle, "gate")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"[" * 100_000, b"[]"])
def test_a_manifest_that_is_no_json_object_is_one_clear_error(bundle: Path, content: bytes) -> None:
    (bundle / MANIFEST).write_bytes(content)
    with pytest.raises(BundleError, match=MANIFEST):
        load_bundle(bundle, "gate")
