"""The command line: exit codes, one readable message, JSON for machines, a traceback only with --debug."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engrain.recipes.cli import run

VERBS = [
    ["quickstart"],
    ["label"],
    ["agree"],
    ["annotate"],
    ["build", "gate"],
    ["train", "gate"],
    ["train", "extractor"],
    ["eval", "gate"],
    ["eval", "extractor"],
    ["eval", "dependency"],
    ["extract"],
    ["cost"],
    ["export"],
    ["plan"],
    ["doctor"],
    *(["memory", verb] for verb in ("add", "search", "list", "show", "delete", "consolidate")),
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Usage: engrain " + " ".join(verb) in " ".join(shown.split())
    if verb != ["export"]:
        assert "--json" in shown


def test_help_needs_no_torch() -> None:
    code = (
        "import sys; from engrain.recipes.cli import run; run(['--help']); run(['memory', 'search', '--help']);"
        "print('LOADED', [m for m in ('torch', 'transformers', 'datasets', 'openai') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "LOADED []" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["plan", "nothing/there"], 2, "no recipe nothing/there"),
        (["plan", "gate/modernbert-paper", "training.epochs=0"], 2, "training.epochs: 0"),
        (["train", "gate", "extractor/qwen3-4b"], 2, "wants kind 'gate'"),
        (["train", "extractor", "gate/modernbert-paper"], 2, "wants kind 'extractor'"),
        (["quickstart", "--recipe", "gate/modernbert-paper"], 2, "wants kind 'quickstart'"),
        (["export", "oracle", "a", "b"], 2, "KIND oracle is unknown"),
        (["memory", "add"], 2, "either a SOURCE or --text"),
        (["memory", "search", "q", "--store", "absent.db"], 2, "no memory file absent.db"),
        (["memory", "delete", "--store", "absent.db"], 2, "either a record's id or --all"),
        (["frobnicate"], 2, "No such command"),
        (["plan"], 2, "Missing argument"),
    ],
)
def test_bad_usage_is_one_message(
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == code
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err


def test_debug_shows_the_traceback_and_keeps_the_exit_code() -> None:
    command = [sys.executable, "-m", "engrain.recipes", "plan", "nothing/there", "--debug"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_plan_as_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "extractor/qwen3-4b", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["runs"][0]["parameters"] == {"base": 4_022_468_096, "trained": 33_030_144}


def test_doctor_reports_every_extra(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["extra runtime"]["ok"] is True
    assert {"python", "sqlite", "extra llm", "extra train", "disk"} <= set(checks)


def test_doctor_shows_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--store", "postgresql://ann:hidden@127.0.0.1:1/x", "--json"]) == 1
    shown = capsys.readouterr()
    assert "store postgresql://ann:***@127.0.0.1:1/x" in shown.out
    assert "hidden" not in shown.out + shown.err


def test_ctrl_c_is_told_and_is_a_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("engrain.recipes.plan.command", interrupt)
    assert run(["plan", "gate/modernbert-paper"]) == 1
    assert "interrupted; what was finished before is kept" in capsys.readouterr().err


def test_export_leaves_what_is_not_a_bundle_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep = tmp_path / "photos"
    keep.mkdir()
    (keep / "cat.txt").write_text("miaow")
    assert run(["export", "embedder", "x", str(keep)]) == 2
    assert run(["export", "embedder", "x", str(keep), "--overwrite"]) == 2
    assert (keep / "cat.txt").read_text() == "miaow"
    assert "is not a bundle" in capsys.readouterr().err
