"""`engrain memory copy|export|import|reembed|update|history`, with the real embedder and a real PostgreSQL."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engrain.recipes.cli import run

# importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parent))

from memory_cli import Cli


@pytest.fixture
def cli(
    tmp_path: Path, embedder_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENGRAIN_BUNDLES", str(embedder_bundle.parent))
    cli = Cli(capsys)
    for text in ("I moved to Rotterdam.", "My cat is Biscuit."):
        cli("add", "--text", text, "--no-gate")
    return cli


@pytest.fixture
def postgres() -> Iterator[str]:
    pytest.importorskip("psycopg")
    pgserver = pytest.importorskip("pgserver")
    folder = tempfile.mkdtemp(prefix="engrain-postgres-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def found(cli: Cli, *options: str) -> list[str]:
    results = cli("search", "Where do I live?", *options)["results"]
    return [hit["record"]["content"] for hit in results]


def test_a_store_goes_to_postgresql_and_lines_and_answers_the_same(cli: Cli, postgres: str, tmp_path: Path) -> None:
    expected = found(cli)

    assert cli("copy", postgres)["records"] == 2
    assert found(cli, "--store", postgres) == expected
    assert run(["doctor", "--store", postgres, "--json"]) == 0
    cli.capsys.readouterr()
    assert cli("export", "all.jsonl", "--store", postgres)["lines"] > 6
    assert cli("import", "all.jsonl", "--store", "again.db")["vectors"] == 2
    assert found(cli, "--store", "again.db") == expected
    assert cli("add", "--text", "I moved to Delft.", "--no-gate", "--store", "again.db")["records"] == 1

    assert "holds memories already" in cli("copy", "again.db", code=1)
    assert "is there already" in cli("export", "all.jsonl", code=2)
    (tmp_path / "cut.jsonl").write_text((tmp_path / "all.jsonl").read_text()[:-40])
    assert "cut.jsonl, line" in cli("import", "cut.jsonl", "--store", "third.db", code=2)
    assert "no memory file" in cli("copy", "x.db", "--store", "none.db", code=1)
    assert not (tmp_path / "none.db").exists()


def test_a_text_is_updated_and_its_history_told(cli: Cli) -> None:
    [record] = [record for record in cli("list") if "Rotterdam" in record["content"]]

    assert cli("update", record["id"], "I moved to Utrecht.")["content"] == "I moved to Utrecht."
    events = cli("history", record["id"])

    assert [(event["action"], event["before"], event["after"]) for event in events] == [
        ("added", "", "I moved to Rotterdam."),
        ("updated", "I moved to Rotterdam.", "I moved to Utrecht."),
    ]
    assert "no record nothing" in cli("update", "nothing", "x", code=2)
    assert "no record nothing" in cli("history", "nothing", code=2)


def test_vectors_are_made_again_in_place(cli: Cli, embedder_bundle: Path) -> None:
    before = found(cli)

    report = cli("reembed", str(embedder_bundle))

    assert report["records"] == 2 and report["now"] == report["before"]
    assert found(cli) == before
