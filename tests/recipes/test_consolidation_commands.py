"""`engrain memory consolidate`, `log`, `undo` with the real embedder, and with a model over real HTTP."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from engrain.recipes.cli import run

sys.path.insert(0, str(Path(__file__).parents[1] / "runtime" / "llm"))

from local_server import LocalServer

SAID = {
    "2026-03-01T09:00:00+00:00": "User lives in Rotterdam.",
    "2026-03-02T09:00:00+00:00": "User has a Labrador and works at the post office.",
    "2026-04-01T09:00:00+00:00": "User moved to Breda.",
    "2026-04-02T09:00:00+00:00": "User left the post office.",
}


@pytest.fixture
def cli(
    tmp_path: Path, embedder_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENGRAIN_BUNDLES", str(embedder_bundle.parent))

    def call(*arguments: str, code: int = 0) -> Any:
        assert run(["memory", *arguments, "--json"]) == code
        shown = capsys.readouterr()
        return json.loads(shown.out) if code == 0 else shown.err

    for moment, text in SAID.items():
        call("add", "--text", text, "--time", moment, "--no-gate")
    return call


def texts(cli: Any) -> list[str]:
    return [record["content"] for record in cli("list")]


def test_consolidate_log_and_undo_one(cli: Any) -> None:
    report = cli("consolidate")
    assert report["counts"] | {"pairs": 0, "skipped_changed": 0} == {
        "in_part": 1, "pairs": 0, "skipped_changed": 0, "supersede": 2,
    }  # fmt: skip
    assert "User lives in Rotterdam." not in texts(cli)
    assert cli("consolidate")["changes"] == []

    log = cli("log")
    assert [change["id"] for change in log] == [change["id"] for change in report["changes"]]
    moved = next(change for change in log if change["part"] is None)
    assert "rotterdam" in moved["evidence"]
    assert [change["id"] for change in cli("undo", moved["id"])] == [moved["id"]]
    assert "User lives in Rotterdam." in texts(cli)
    assert [change["id"] for change in cli("log", "--undone")] == [moved["id"]]


def test_undo_since_takes_everything_back(cli: Any) -> None:
    before = cli("list")
    cli("consolidate")
    assert len(cli("undo", "--since", "2026-01-01")) == 2
    assert cli("list") == before and cli("log") == []


def test_usage_errors_name_the_way_out(cli: Any) -> None:
    assert "either a change's id or --since" in cli("undo", code=2)
    assert "engrain memory log" in cli("undo", "nothing", code=2)
    assert "go together" in cli("consolidate", "--model", "m", code=2)
    assert "--endpoint and --model" in cli("consolidate", "--update", code=2)


def test_a_model_decides_over_http(cli: Any) -> None:
    cli(
        "add",
        "--text",
        "User's standing order for charity each month is 20 euros.",
        "--time",
        "2026-05-01T09:00:00+00:00",
        "--no-gate",
    )
    cli(
        "add",
        "--text",
        "User's standing order for charity each month is 35 euros.",
        "--time",
        "2026-05-02T09:00:00+00:00",
        "--no-gate",
    )
    with LocalServer() as server:
        claim = {
            "id": "c1",
            "action": "supersede",
            "basis": "state_change",
            "scope": "user charity",
            "anchor": "35 euros",
        }
        server.service.reply = json.dumps({"decisions": [claim]})
        report = cli("consolidate", "--endpoint", server.url, "--model", "judge")
        asked = len(server.service.bodies)
        assert cli("consolidate", "--endpoint", server.url, "--model", "judge")["changes"] == []
        assert len(server.service.bodies) == asked

    by_model = [change for change in report["changes"] if change["decided_by"] == "judge"]
    assert [change["anchor"] for change in by_model] == ["35 euros"]
    assert not any("20 euros" in text for text in texts(cli))
    # Every other target's claim was wrong, refused and counted.
    assert report["counts"]["answers"] == asked and report["counts"]["refused_anchor_missing"] == asked - 1
