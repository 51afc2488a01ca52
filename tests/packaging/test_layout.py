"""The namespace: bare names are refused, imports point one way, the runtime loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("recipes", "data_builders", "models", "runtime")
HEAVY = ("torch", "transformers", "pytorch_lightning", "datasets", "openai", "sklearn", "spacy", "hanlp")


def python(code: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("room", ROOMS)
def test_a_bare_import_is_refused_and_names_the_right_one(room: str) -> None:
    done = python(f"import {room}")
    assert done.returncode != 0
    assert f"ImportError: this folder is installed as engrain.{room}" in done.stderr


@pytest.mark.parametrize("room", ROOMS)
def test_typing_links_are_relative_and_lead_to_the_room(room: str) -> None:
    link = ROOT / ".typing" / "engrain" / room
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == (ROOT / room).resolve()


def test_every_runtime_module_imports_without_anything_heavy() -> None:
    code = f"""
import importlib, pkgutil, sys, engrain.runtime
for module in pkgutil.walk_packages(engrain.runtime.__path__, "engrain.runtime."):
    importlib.import_module(module.name)
print("HEAVY", [name for name in {HEAVY!r} if name in sys.modules])
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert "HEAVY []" in done.stdout


def test_only_the_agreed_folders_are_at_the_top() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    top = {line.split("/")[0] for line in tracked.splitlines() if "/" in line}
    assert top <= {*ROOMS, "tests", "notebooks", "docs", ".ci", ".typing"}
