"""Every command and code block of the README is run, in the order in which it stands there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from engrain.recipes.cli import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [
    line.split("   #")[0].strip() for kind, body in BLOCKS if kind == "bash" for line in body.splitlines() if line
]
MAKE = [command for command in COMMANDS if command.startswith("make ")]
# Commands on public data, and those that need what these make.
AFTER_DATA = ("engrain export gate", "engrain bench compare")
NEEDS_DATA = [command for command in COMMANDS if "PATH/TO/" in command or command.startswith(AFTER_DATA)]
OFFLINE = [command for command in COMMANDS if command.startswith("engrain") and command not in NEEDS_DATA]
PLACES = {"PATH/TO/memora": ".", "PATH/TO/locomo.json": "locomo/locomo5.json"}
# What makes the README's long commands small enough for a test.
TWO = ("{kind: engrain, name: a}", "{kind: engrain, name: b}")
SMALL = {
    "train": ["seeds=[20260726]", "data.rows_per_persona=6", "data.validation_per_persona=2", "training.epochs=1"],
    "run": [
        "data.groups=[conv-26]",
        "data.questions=3",
        "systems=[{kind: engrain, name: a}, {kind: engrain, name: b}]",
    ],
}


@pytest.fixture
def with_bundles(tmp_path: Path, embedder_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the quickstart's embedder is where the README says."""
    place = tmp_path / "runs" / "quickstart" / "bundles"
    place.mkdir(parents=True)
    (place / "embedder").symlink_to(embedder_bundle)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_blocks_are_bash_or_python_and_none_is_left_out() -> None:
    assert {kind for kind, _ in BLOCKS} == {"bash", "python"}
    assert set(MAKE) | set(NEEDS_DATA) | set(OFFLINE) == set(COMMANDS)


def test_make_commands_are_targets_that_ci_knows() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [f"\n{command.removeprefix('make ')}:" in makefile for command in MAKE] == [True, True]
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_python_blocks_run_and_find_the_city(with_bundles: Path) -> None:
    code = "\n".join(body for kind, body in BLOCKS if kind == "python")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Rotterdam" in done.stdout.splitlines()[0]


def test_commands_that_need_no_data_run(with_bundles: Path) -> None:
    assert OFFLINE
    for command in OFFLINE:
        assert run(shlex.split(command)[1:]) == 0, command


@pytest.mark.full
def test_commands_on_public_data_run(with_bundles: Path) -> None:
    data = Path(os.environ.get("ENGRAIN_DATA", "absent"))
    if not (data / "memora").is_dir() or not (data / "locomo").is_dir():
        pytest.skip("ENGRAIN_DATA has no Memora or no LoCoMo")
    assert NEEDS_DATA
    for command in NEEDS_DATA:
        for written, place in PLACES.items():
            command = command.replace(written, str(data / place))
        arguments = shlex.split(command)[1:]
        small = SMALL.get(arguments[0], SMALL.get(arguments[1], []))
        assert run([*arguments, *small]) == 0, command


@pytest.mark.full
def test_the_quickstart_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["quickstart"]) == 0
    report = (tmp_path / "runs" / "quickstart" / "report.html").read_text(encoding="utf-8")
    assert report.count("<svg") == 4
    assert "http" not in re.sub(
        r"http://www\.w3\.org|http://purl\.org|http://creativecommons\.org|https://matplotlib\.org", "", report
    )
