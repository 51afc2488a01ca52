"""`engrain label`, `engrain build gate` and `engrain annotate` against a real server, and what goes wrong in them."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.parquet import read_gate_examples
from engrain.data_builders.teachers.audit import AuditItem
from engrain.data_builders.teachers.records import Annotation, read_rows
from engrain.recipes.cli import run
from engrain.runtime.llm.ledger import Ledger
from engrain.runtime.llm.replay import write_recordings
from engrain.runtime.schema import LabelSource, Split

sys.path.insert(0, str(Path(__file__).parent))

from label_run import TeacherServer, write_chats, write_recipe

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def server() -> Iterator[TeacherServer]:
    with TeacherServer() as running:
        yield running


def say(capsys: Capture, *arguments: str, code: int = 0) -> str:
    """Run a command line; what it wrote to both streams."""
    capsys.readouterr()
    ended = run(list(arguments))
    shown = capsys.readouterr()
    assert ended == code, shown.err
    return shown.out + shown.err


def document(capsys: Capture, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_labels_are_written_with_votes_and_reasons(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    recipe = write_recipe(tmp_path, server.url)
    found = document(capsys, "label", str(recipe))
    assert len(server.service.bodies) == 2 * 50 * 3
    for corpus in ("first", "second"):
        counts = found["corpora"][corpus]
        rows = read_rows(tmp_path / "runs" / "trial" / "labels" / f"{corpus}.jsonl", Annotation)
        assert counts["candidates"] == len(rows) == 50 and counts["user_turns"] == 60
        assert counts["accepted"] == sum(row.verdict.accepted for row in rows)
        assert counts["refused"] == {"disagreement": 50 - counts["accepted"]} and counts["accepted"] < 48
        assert all(len(row.votes) == 3 for row in rows), "votes of refused turns are kept"
        refused = next(row for row in rows if not row.verdict.accepted)
        assert refused.verdict.detail == "a yes, b yes, odd no"
    assert found["rubric"]["language"] == "en" and len(found["rubric"]["hash"]) == 64
    assert found["teachers"]["a"]["valid"] == 100
    assert "300" in say(capsys, "cost", str(tmp_path / "runs" / "ledger.db"))


def test_a_second_run_buys_nothing(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    recipe = write_recipe(tmp_path, server.url)
    first = document(capsys, "label", str(recipe))
    assert document(capsys, "label", str(recipe))["fingerprint"] == first["fingerprint"]
    assert len(server.service.bodies) == 300


def test_dry_run_projects_the_cost_and_asks_nobody(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    recipe = write_recipe(tmp_path, server.url)
    for verb in (["label"], ["build", "gate"]):
        lines = document_list(capsys, *verb, str(recipe), "--dry-run")
        assert [(line["endpoint"], line["calls"], line["to_send"]) for line in lines] == [
            (name, 100, 100) for name in ("a", "b", "odd")
        ]
        assert all(float(line["highest_usd"]) > 0 for line in lines)
    assert not server.service.bodies and not (tmp_path / "runs").exists()


def document_list(capsys: Capture, *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_projection_is_shown_before_the_first_call(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    shown = say(capsys, "label", str(write_recipe(tmp_path, server.url, budget_usd=5)))
    assert "a: 100 calls to send, 0 stored; at most" in shown and "budget_usd is 5" in shown


def test_a_trial_is_part_of_the_whole_run(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    recipe = write_recipe(tmp_path, server.url)
    trial = document(capsys, "label", str(recipe), "--limit", "10")
    assert trial["corpora"]["first"]["candidates"] == 10 and len(server.service.bodies) == 60
    assert (tmp_path / "runs" / "trial-limit-10" / "labels" / "first.jsonl").is_file()
    document(capsys, "label", str(recipe))
    assert len(server.service.bodies) == 300, "what the trial bought is not bought again"


def test_a_hard_budget_stops_cleanly_and_the_run_goes_on_later(
    server: TeacherServer, tmp_path: Path, capsys: Capture
) -> None:
    recipe = write_recipe(tmp_path, server.url)
    shown = say(capsys, "label", str(recipe), "budget_usd=0.1", code=1)
    assert "budget_usd 0.1 is reached" in shown
    bought = len(server.service.bodies)
    assert 0 < bought < 300
    with closing(sqlite3.connect(tmp_path / "runs" / "ledger.db")) as connection:
        [[spent]] = connection.execute("SELECT sum(CAST(cost_usd AS REAL)) FROM answers").fetchall()
    assert 0 < spent <= 0.1
    say(capsys, "label", str(recipe), "budget_usd=9")
    assert len(server.service.bodies) == 300


def test_a_missing_key_names_its_variable_before_anything_is_sent(
    server: TeacherServer, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    keyed = {"name": "b", "model": "b", "base_url": server.url, "api_key_env": "NO_SUCH_KEY"}
    recipe = write_recipe(tmp_path, server.url, teachers=[{"name": "a", "model": "a", "base_url": server.url}, keyed])
    assert "set the environment variable NO_SUCH_KEY" in say(capsys, "label", str(recipe), code=2)
    assert not server.service.bodies


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": {"count": 61}}, "first: 61 candidates were asked for, but 20 sessions hold 60 distinct"),
        ({"candidates": {"count": 15}}, "candidates.count 15 cannot fill rows.count 20"),
        ({"teachers": []}, "corpora are named but no teachers"),
        ({"corpora": [{"name": "jsonll", "root": "x"}]}, "no corpus is called 'jsonll'; did you mean jsonl?"),
        ({"corpora": []}, "there is nothing to label or build from"),
        ({"memora": {"root": "nowhere"}}, "nowhere is not a folder"),
    ],
)
def test_bad_input_is_told_before_any_paid_call(
    server: TeacherServer, tmp_path: Path, capsys: Capture, changes: dict[str, Any], message: str
) -> None:
    recipe = write_recipe(tmp_path, server.url, **changes)
    assert message in say(capsys, "build", "gate", str(recipe), code=2)
    assert not server.service.bodies


def test_every_corpus_that_is_absent_is_named_at_once(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    corpora = [{"name": name, "root": str(tmp_path / f"no-{name}")} for name in ("msc", "chat")]
    said = say(capsys, "label", str(write_recipe(tmp_path, server.url, corpora=corpora)), "--dry-run", code=2)
    assert "no-msc is no folder" in said and "no-chat is no folder" in said and "`root` in a recipe" in said
    assert not server.service.bodies


def memora(root: Path, personas: tuple[str, ...], share: bool) -> dict[str, Any]:
    """A small Memora with a quarterly split; without `share` none of its turns is a positive."""
    for split, people in (("quarterly", personas), ("weekly", ("cook", "writer"))):
        for persona in people:
            folder = root / split / persona / "conversations"
            folder.mkdir(parents=True)
            for number in range(1, 21):
                said = [("ai_agent", "Hello!", False), ("user_agent", f"{persona} bought {split} item {number}", share)]
                said.append(("user_agent", f"{persona}, what is the {split} fact {number}?", False))
                turns = [
                    {"turn": n, "speaker": speaker, "message": text, "share_memory": kept}
                    for n, (speaker, text, kept) in enumerate(said, start=1)
                ]
                session = {"session_id": number, "date": "2025-06-01", "persona": persona, "conversation": turns}
                (folder / f"session_{number:04d}.json").write_text(json.dumps(session))
    return {
        "root": str(root),
        "personas": 2,
        "rows_per_persona": 10,
        "validation_per_persona": 2,
        "allow_missing": ["monthly"],
    }


@pytest.mark.parametrize(
    ("personas", "share", "sampling", "message"),
    [
        (("cook",), True, "stratified", "2 personas are wanted, but 1 are there (cook); missing: writer"),
        (("cook", "writer"), False, "stratified", "4 positive rows were asked for, but only 0"),
        (("cook", "writer"), False, "natural", "hold 0 positives and 16 negatives; both are needed"),
    ],
)
def test_a_missing_persona_or_label_is_told_before_any_paid_call(
    server: TeacherServer,
    tmp_path: Path,
    capsys: Capture,
    personas: tuple[str, ...],
    share: bool,
    sampling: str,
    message: str,
) -> None:
    settings = memora(tmp_path / "memora", personas, share) | {"sampling": sampling}
    recipe = write_recipe(tmp_path, server.url, memora=settings)
    assert message in say(capsys, "build", "gate", str(recipe), code=2)
    assert not server.service.bodies


def test_the_whole_corpus_its_reports_and_the_cache(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    recipe = write_recipe(tmp_path, server.url, memora=memora(tmp_path / "memora", ("cook", "writer"), True))
    built = document(capsys, "build", "gate", str(recipe))
    folder = tmp_path / "runs" / "trial"
    examples = read_gate_examples(folder / "gate.parquet")
    assert {split: part["rows"] for split, part in built["report"]["splits"].items()} == {"train": 48, "validation": 12}
    corpora = Counter(one.corpus for one in examples)
    assert corpora == {"first": 20, "second": 20, "memora-quarterly": 20}
    assert {one.label_source for one in examples} == {LabelSource.TEACHER_CONSENSUS, LabelSource.RELEASED}
    assert {"build.json", "labels.json", "quality.json", "quality.html", "README.md"} <= {
        path.name for path in folder.iterdir()
    }
    quality = json.loads((folder / "quality.json").read_text())
    assert quality["agreement"] is not None, "agreement is over every rated turn"
    assert built["cached"] is False

    before = (folder / "gate.parquet").stat().st_mtime_ns
    assert "unchanged since the last build: read from the cache" in say(capsys, "build", "gate", str(recipe))
    assert document(capsys, "build", "gate", str(recipe))["cached"] is True
    assert (folder / "gate.parquet").stat().st_mtime_ns == before and len(server.service.bodies) == 300

    assert "written" in say(capsys, "build", "gate", str(recipe), "rows.seed=7"), "other settings are another build"
    (folder / "gate.parquet").write_bytes(b"damaged")
    assert "written" in say(capsys, "build", "gate", str(recipe), "rows.seed=7"), "a damaged corpus is built again"
    changed = next((tmp_path / "memora" / "quarterly" / "cook" / "conversations").glob("*.json"))
    changed.write_text(changed.read_text().replace("bought", "sold"))
    assert "written" in say(capsys, "build", "gate", str(recipe), "rows.seed=7"), "other inputs are another build"


def test_a_trial_of_the_build_needs_no_full_pool(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    recipe = write_recipe(tmp_path, server.url)
    built = document(capsys, "build", "gate", str(recipe), "--limit", "25")
    assert sum(part["rows"] for part in built["report"]["splits"].values()) == 20
    assert not (tmp_path / "runs" / "trial").exists()


def test_annotate_is_resumable_undoable_and_disjoint(
    server: TeacherServer, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = str(write_recipe(tmp_path, server.url))
    assert "run `engrain build gate` first" in say(capsys, "annotate", recipe, "--annotator", "eve", code=2)
    say(capsys, "build", "gate", recipe)

    def judge(entries: str, annotator: str = "eve") -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(entries))
        return say(capsys, "annotate", recipe, "--annotator", annotator)

    shown = judge("y\nwhat\nn\ns\nu\n?\nn\nq\n")
    assert shown.count("Worth remembering") == 8 and "[TARGET]\nS1: " in shown and "STEP 1" in shown
    assert "3 of 20 judged, 3 with yes or no; the same command goes on from here" in shown
    assert "yes" not in shown.split("Worth")[0].lower(), "no vote is shown"
    assert "20 of 20 judged" in judge("y\n" * 17)
    assert "20 of 20 judged" in judge("")

    folder = tmp_path / "runs" / "trial"
    items = read_rows(folder / "audit" / "sample.jsonl", AuditItem)
    used = {text for one in read_gate_examples(folder / "gate.parquet") for text in (one.id, one.target.text)}
    assert not used & {text for one in items for text in (one.candidate.id, one.candidate.target.text)}
    assert sorted(one.candidate.corpus for one in items) == ["first"] * 10 + ["second"] * 10
    assert {one.teachers_agree for one in items} == {True, False}

    judge("n\n" * 20, annotator="bob")
    report = document(capsys, "annotate", recipe, "--report")
    assert report["judged"] == {"bob": 20, "eve": 20} and report["positives"] == {"bob": 0, "eve": 18}
    [with_eve] = [one for one in report["with_teachers"] if one["first"] == "eve"]
    agreeing = sum(one.teacher_label for one in items)
    assert abs(with_eve["agreeing"] - agreeing) <= 2 and with_eve["turns"] == 20
    [people] = report["between_people"]
    assert (people["agreeing"], people["turns"]) == (2, 20)
    rows = read_gate_examples(folder / "audit" / "eve.parquet")
    assert {row.split for row in rows} == {Split.TEST} and {row.label_source for row in rows} == {LabelSource.HUMAN}

    say(capsys, "build", "gate", recipe, "rows.seed=5")
    again = {one.id for one in read_gate_examples(folder / "gate.parquet")}
    assert not again & {one.candidate.id for one in items}, "audited turns are kept out of later builds"


def test_one_teacher_on_one_corpus_by_majority(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    write_chats(tmp_path / "mine.jsonl", 40)
    teacher = {"name": "solo", "model": "solo", "base_url": server.url}
    overrides = [
        f"corpora=[{{name: jsonl, root: {tmp_path / 'mine.jsonl'}}}]",
        f"teachers=[{json.dumps(teacher)}]",
        f"output={tmp_path / 'runs'}",
        *("candidates.count=100", "rows.count=60", "rows.validation=10", "quality.label_noise=false"),
    ]
    built = document(capsys, "build", "gate", "label/one-server", *overrides)
    assert built["report"]["parts"]["mine"]["taken"]["rows"] == 60


def test_recorded_answers_replay_without_a_server(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    recipe = str(write_recipe(tmp_path, server.url))
    online = document(capsys, "label", recipe, "--limit", "8")
    with Ledger(tmp_path / "runs" / "ledger.db") as ledger:
        assert write_recordings(ledger, tmp_path / "recorded.jsonl") == 48
    asked = len(server.service.bodies)
    again = ["mode=replay", f"recordings={tmp_path / 'recorded.jsonl'}", f"output={tmp_path / 'elsewhere'}"]
    replayed = document(capsys, "label", recipe, *again, "--limit", "8")
    assert replayed["fingerprint"] == online["fingerprint"] and len(server.service.bodies) == asked


def test_batches_give_what_single_calls_give(server: TeacherServer, tmp_path: Path, capsys: Capture) -> None:
    recipe = str(write_recipe(tmp_path, server.url))
    server.service.bad["a", "tea"] = ["not valid"]
    batched = document(capsys, "label", recipe, "mode=batch", "batch.poll_s=0.05", "--limit", "8")
    assert batched["teachers"]["a"]["corrected"] == 1
    assert not server.service.bodies and len(server.service.batches.batches) >= 3
    online = document(capsys, "label", recipe, f"output={tmp_path / 'online'}", "--limit", "8")
    assert {name: part["positives"] for name, part in online["corpora"].items()} == {
        name: part["positives"] for name, part in batched["corpora"].items()
    }


def test_sessions_that_stand_in_a_benchmark_are_left_out_before_anybody_is_asked(
    server: TeacherServer, tmp_path: Path, capsys: Capture
) -> None:
    write_chats(tmp_path / "first.jsonl", 20)
    lines = (tmp_path / "first.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "bench.jsonl").write_text("\n".join(lines[:3]), encoding="utf-8")
    benchmark = {"name": "jsonl", "root": str(tmp_path / "bench.jsonl")}
    found = document(capsys, "label", str(write_recipe(tmp_path, server.url, benchmarks=[benchmark])))
    leaks = found["corpora"]["first"]["leaks"]
    assert [leak["id"] for leak in leaks["leaks"]] == ["first-000", "first-001", "first-002"]
    assert leaks["sessions"] == 20 and not found["corpora"]["second"]["leaks"]["leaks"]
    rows = read_rows(tmp_path / "runs" / "trial" / "labels" / "first.jsonl", Annotation)
    assert len(rows) == 50 and not [row for row in rows if row.candidate.id.startswith(("first-000", "first-002"))]
    shown = say(capsys, "label", str(tmp_path / "recipe.yaml"))
    assert "3 sessions of first stand in a benchmark and are left out" in shown
