"""A wheel built from a fresh clone: every module imports from it, and the base install remembers without torch."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

IMPORT_ALL = """
import importlib, pkgutil, sys
from pathlib import Path
wheel = Path(sys.argv[1])
# The editable install of the project must not answer instead of the wheel.
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
sys.path_hooks[:] = [hook for hook in sys.path_hooks if "editable" not in repr(hook)]
sys.path[:] = [str(wheel), *(entry for entry in sys.path if "__editable__" not in entry)]
import engrain
names = [module.name for module in pkgutil.walk_packages(engrain.__path__, "engrain.")]
for name in names:
    if name.endswith("__main__"):
        continue
    module = importlib.import_module(name)
    assert Path(module.__file__).is_relative_to(wheel), module.__file__
from engrain.data_builders.shipped import load_shipped
from engrain.recipes.loading import shipped_recipes
print(len(names), len(load_shipped().sessions), len(shipped_recipes()))
"""

REMEMBER = """
import sys
from datetime import datetime, timezone
from engrain.runtime.memory import Memory
assert not any(name.split(".")[0] in ("torch", "transformers") for name in sys.modules)
try:
    import torch
except ModuleNotFoundError:
    pass
else:
    raise SystemExit("torch is installed, so this shows nothing")
with Memory.open("memory.db", embedder=sys.argv[1]) as memory:
    memory.add("I moved from Lisbon to Rotterdam in March.", user_id="ana", timestamp=datetime.now(timezone.utc))
    memory.add("My cat is called Biscuit.", user_id="ana", timestamp=datetime.now(timezone.utc))
    print(memory.search("In which city do I live?", user_id="ana", top_k=1).results[0].record.content)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of what is committed, built from a clone."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder / "clone")], check=True)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(folder / "clone")]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return next(folder.glob("*.whl"))


def test_every_module_imports_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, str(unpacked)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    modules, sessions, recipes = map(int, done.stdout.split())
    assert modules > 50
    assert sessions >= 40
    assert recipes >= 4


def test_the_wheel_holds_packages_of_the_namespace_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"engrain"}


@pytest.mark.full
def test_the_base_install_adds_and_searches_without_torch(wheel: Path, embedder_bundle: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    interpreter = tmp_path / "venv" / "bin" / "python"
    install = [str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True)
    done = subprocess.run(
        [str(interpreter), "-c", REMEMBER, str(embedder_bundle)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "I moved from Lisbon to Rotterdam in March."
