"""A whole run on tiny files with a scripted reader and judge: every figure is known by hand."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from local_server import LocalServer

from engrain.recipes.bench import run
from engrain.recipes.benchmarks.config import BenchRecipe
from engrain.recipes.benchmarks.pipeline.stages import alone
from engrain.recipes.cli import run as cli
from engrain.recipes.loading import load_recipe
from engrain.runtime.errors import InputError

Endpoint = Callable[[str], dict[str, Any]]


@pytest.fixture
def make_recipe(tmp_path: Path, embedder_bundle: Path) -> Callable[..., Path]:
    """Writes a recipe whose embedder is exported already."""

    def make(**changes: Any) -> Path:
        document = {"recipe": "bench", "name": "tiny", "output": str(tmp_path / "out"), "depth": 10} | changes
        (tmp_path / "out" / "tiny").mkdir(parents=True, exist_ok=True)
        link = tmp_path / "out" / "tiny" / "embedder"
        if not link.exists():
            link.symlink_to(embedder_bundle)
        path = tmp_path / "tiny.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    return make


def load(path: Path) -> BenchRecipe:
    recipe = load_recipe(path)
    assert isinstance(recipe, BenchRecipe)
    return recipe


FULL = {"kind": "baseline", "name": "full", "method": "full-context"}
BM25 = {"kind": "baseline", "name": "BM25", "method": "bm25"}
ENGRAIN = {"kind": "engrain", "name": "Engrain"}


def test_fama_and_costs_come_out_exactly(
    make_recipe: Callable[..., Path], memora: Path, endpoint: Endpoint, model_server: LocalServer
) -> None:
    recipe = load(
        make_recipe(
            data={"benchmark": "memora", "root": str(memora)},
            systems=[FULL],
            reader={"endpoint": endpoint("reader")},
            judges=[endpoint("judge")],
        )
    )
    system = run(recipe)["systems"][0]
    scores = system["answers"][0]["judges"]["judge"]
    # ada: oats yes, saddle no, rhubarb absent; then tulips not absent. bo: 1 of 1; no criteria; 2 of 2, Jaws shown.
    assert scores["fama"] == pytest.approx(100 * ((0.5 + 0.0) / 2 + (1.0 + 0.0 + 0.75) / 3) / 2)
    assert (scores["mpa"], scores["faa"], scores["unread"]) == (pytest.approx(75.0), pytest.approx(50.0), 0)
    assert system["answers"][0]["unanswered"] == 0
    lines = {line["stage"]: line for line in system["cost"]}
    assert (lines["answer"]["answers"], lines["judge"]["answers"]) == (5, 9)
    bodies = model_server.service.bodies
    words = sum(len(message["content"].split()) for body in bodies for message in body["messages"])
    assert lines["answer"]["prompt_tokens"] + lines["judge"]["prompt_tokens"] == words
    total = sum(float(line["cost_usd"]) for line in lines.values())
    written = lines["answer"]["completion_tokens"] + lines["judge"]["completion_tokens"]
    assert total == pytest.approx((words + 2 * written) / 1e6)


def test_retrieval_level_fama_tells_stale_values_from_the_deleting_turn(
    make_recipe: Callable[..., Path], memora: Path
) -> None:
    recipe = load(make_recipe(data={"benchmark": "memora", "root": str(memora)}, systems=[FULL]))
    document = run(recipe)
    scores = document["systems"][0]["retrieval"]
    # Everything is in the context: all five remembered and all four forgotten values; tulips and rhubarb were stated
    # before they were deleted, Jaws and Alien only by the deleting turn.
    assert scores["presence"] == 1.0 and scores["forgotten share"] == 1.0
    assert scores["stale leakage"] == 0.5 and scores["deleting turns"] == 1.0
    ada, bo = (2 / 3 + 0.0) / 2, (1.0 + 0.5) / 2  # the question without values has no ground
    assert scores["retrieval FAMA"] == pytest.approx(100 * (ada + bo) / 2)
    assert document["provenance"]["label"] == "unpinned files, 2 of 10 personas"


def test_accuracy_of_an_abstention_and_of_an_answer(
    make_recipe: Callable[..., Path], longmemeval: Path, endpoint: Endpoint
) -> None:
    recipe = load(
        make_recipe(
            data={"benchmark": "longmemeval", "root": str(longmemeval)},
            systems=[ENGRAIN, BM25],
            reader={"endpoint": endpoint("reader")},
            judges=[endpoint("judge"), endpoint("second")],
            repetitions=2,
        )
    )
    document = run(recipe)
    for system in document["systems"]:
        assert [one["draw"] for one in system["answers"]] == [0, 1]
        for repetition in system["answers"]:
            assert set(repetition["judges"]) == {"judge", "second"}
            assert repetition["agreement"] is None  # both say yes to everything: chance explains it, alpha is undefined
            for scores in repetition["judges"].values():
                assert scores["accuracy"] == 1.0
                assert scores["by_task"] == {"abstention": 1.0, "single-session-user": 1.0}
                assert scores["f1"] == pytest.approx(2 * (1 / 3) / (1 + 1 / 3))  # "It is green." against "green"
        assert system["retrieval"]["sessions@5"] == 1.0
        assert system["retrieval"]["without evidence"] == 1


def test_a_second_run_does_nothing_again(
    make_recipe: Callable[..., Path], memora: Path, endpoint: Endpoint, model_server: LocalServer
) -> None:
    recipe = load(
        make_recipe(
            data={"benchmark": "memora", "root": str(memora)},
            systems=[ENGRAIN],
            reader={"endpoint": endpoint("reader")},
            judges=[endpoint("judge")],
        )
    )
    first = run(recipe)
    sent = len(model_server.service.bodies)
    log = recipe.folder / "systems" / "Engrain" / "retrieve.jsonl"
    kept = log.read_bytes()
    second = run(recipe)
    assert len(model_server.service.bodies) == sent == 14
    assert log.read_bytes() == kept
    assert second["rows"] == first["rows"]


def test_a_line_cut_by_a_crash_is_done_again(make_recipe: Callable[..., Path], memora: Path) -> None:
    recipe = load(make_recipe(data={"benchmark": "memora", "root": str(memora)}, systems=[BM25]))
    first = run(recipe)
    log = recipe.folder / "systems" / "BM25" / "retrieve.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    assert run(recipe)["rows"] == first["rows"]
    assert len(log.read_bytes().splitlines()) == len(whole.splitlines()) == 5


def test_verdicts_that_are_neither_yes_nor_no_are_counted_and_never_scored(
    make_recipe: Callable[..., Path], longmemeval: Path, endpoint: Endpoint, model_server: LocalServer
) -> None:
    script = model_server.service.script  # type: ignore[attr-defined]

    def unsure(body: dict[str, Any]) -> str:
        said = script(body)
        return "perhaps" if "Reference: " in body["messages"][-1]["content"] else said

    model_server.service.script = unsure  # type: ignore[attr-defined]
    recipe = load(
        make_recipe(
            data={"benchmark": "longmemeval", "root": str(longmemeval)},
            systems=[BM25],
            reader={"endpoint": endpoint("reader")},
            judges=[endpoint("judge")],
        )
    )
    scores = run(recipe)["systems"][0]["answers"][0]["judges"]["judge"]
    assert (scores["judged"], scores["unread"], scores["accuracy"]) == (1, 1, 1.0)


def test_an_endpoint_that_goes_away_is_told_and_not_scored(
    make_recipe: Callable[..., Path], longmemeval: Path, endpoint: Endpoint, model_server: LocalServer
) -> None:
    model_server.service.faults.extend([{"kind": "status", "status": 500}] * 50)
    recipe = load(
        make_recipe(
            data={"benchmark": "longmemeval", "root": str(longmemeval)},
            systems=[BM25],
            reader={"endpoint": endpoint("reader")},
            judges=[endpoint("judge")],
        )
    )
    repetition = run(recipe)["systems"][0]["answers"][0]
    assert repetition["unanswered"] == 2
    assert repetition["judges"].get("judge", {}).get("accuracy") is None
    report = (recipe.folder / "report.html").read_text(encoding="utf-8")
    assert "500" in report


def test_a_memora_question_with_an_unread_verdict_is_in_no_score(
    make_recipe: Callable[..., Path], memora: Path, endpoint: Endpoint, model_server: LocalServer
) -> None:
    script = model_server.service.script  # type: ignore[attr-defined]

    def unsure(body: dict[str, Any]) -> str:
        return "yes and no" if "mention oats?" in body["messages"][-1]["content"] else str(script(body))

    model_server.service.script = unsure  # type: ignore[attr-defined]
    recipe = load(
        make_recipe(
            data={"benchmark": "memora", "root": str(memora)},
            systems=[FULL],
            reader={"endpoint": endpoint("reader")},
            judges=[endpoint("judge")],
        )
    )
    scores = run(recipe)["systems"][0]["answers"][0]["judges"]["judge"]
    # ada's first question is left out, whatever its other two verdicts say; her tulips are still there.
    assert (scores["questions"], scores["left_out"], scores["unread"]) == (4, 1, 1)
    assert scores["fama"] == pytest.approx(100 * (0.0 + (1.0 + 0.0 + 0.75) / 3) / 2)
    assert scores["interval"]["mean"] == pytest.approx(scores["fama"])


def test_an_endpoint_that_goes_away_half_way_is_asked_for_the_rest_later(
    make_recipe: Callable[..., Path], memora: Path, endpoint: Endpoint, model_server: LocalServer
) -> None:
    recipe = load(
        make_recipe(
            data={"benchmark": "memora", "root": str(memora)},
            systems=[FULL],
            reader={"endpoint": endpoint("reader") | {"concurrency": 1}},
            judges=[endpoint("judge")],
        )
    )
    model_server.service.faults.extend([{}] * 3 + [{"kind": "drop"}] * 200)
    first = run(recipe)["systems"][0]["answers"][0]
    assert first["unanswered"] == 2
    assert first["judges"].get("judge", {}).get("fama") is None
    model_server.service.faults.clear()
    model_server.service.bodies.clear()
    second = run(recipe)["systems"][0]["answers"][0]
    assert len(model_server.service.bodies) == 2 + 9
    assert second["unanswered"] == 0
    assert second["judges"]["judge"]["fama"] == pytest.approx(100 * ((0.5 + 0.0) / 2 + (1.0 + 0.0 + 0.75) / 3) / 2)


def test_runs_of_one_folder_share_their_vectors(make_recipe: Callable[..., Path], memora: Path, tmp_path: Path) -> None:
    data = {"benchmark": "memora", "root": str(memora)}
    dense = {"kind": "baseline", "name": "dense", "method": "dense"}
    run(load(make_recipe(data=data, systems=[dense])))
    file = tmp_path / "out" / "vectors.db"
    with closing(sqlite3.connect(file)) as connection:
        kept = connection.execute("SELECT count(*) FROM vectors").fetchone()
    run(load(make_recipe(data=data, systems=[dense, ENGRAIN], name="other")))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == kept == (10,)


def test_the_command_prints_tables_and_compare_pairs_the_systems(
    make_recipe: Callable[..., Path], memora: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_recipe(data={"benchmark": "memora", "root": str(memora)}, systems=[BM25, FULL], context_words=8)
    assert cli(["bench", "run", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "evidence in the ranking" in shown and "8 words of context" in shown
    folder = str(load(path).folder)
    assert cli(["bench", "compare", folder, folder, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    presence = next(one for one in found if one["figure"] == "presence" and one["left"] == "BM25")
    rows = json.loads((Path(folder) / "results.json").read_text())["rows"]
    shares = {
        name: [
            row["figures"]["values_present"] / row["figures"]["values_remembered"]
            for row in own
            if row["figures"].get("values_remembered")
        ]
        for name, own in rows.items()
    }
    expected = sum(shares["BM25"]) / len(shares["BM25"]) - sum(shares["full"]) / len(shares["full"])
    assert presence["interval"]["mean"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"benchmark": "memora", "root": "ROOT", "groups": ["eve"]}, "has no eve; it has ada, bo"),
        ({"benchmark": "memora", "root": "ROOT", "part": "development"}, "nothing of memora-weekly is in the part"),
        ({"benchmark": "memora", "root": "ROOT", "split": "monthly"}, "no split 'monthly'"),
        ({"benchmark": "locomo", "root": "ROOT"}, "memora"),
    ],
)
def test_data_that_is_not_there_is_one_error(
    make_recipe: Callable[..., Path],
    memora: Path,
    data: dict[str, Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = {name: str(memora) if value == "ROOT" else value for name, value in data.items()}
    assert cli(["bench", "run", str(make_recipe(data=data, systems=[BM25]))]) == 2
    assert message in capsys.readouterr().err


def test_a_file_cut_in_the_middle_is_refused(
    make_recipe: Callable[..., Path], longmemeval: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longmemeval.write_bytes(longmemeval.read_bytes()[:-200])
    data = {"benchmark": "longmemeval", "root": str(longmemeval)}
    assert cli(["bench", "run", str(make_recipe(data=data, systems=[BM25]))]) == 2
    assert "longmemeval.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "seconds", "message"),
    [
        ("import sys; sys.exit('out of memory')", 60, "exit code 1: out of memory"),
        ("import time; time.sleep(60)", 1, "longer than 1 s"),
        # Stopped with what it started, which would hold its output open.
        ("import subprocess; subprocess.run(['sleep', '60'])", 1, "longer than 1 s"),
        ("import sys; open(sys.argv[-1], 'w').write('[')", 60, "is not JSON"),
        (
            "import json, sys; open(sys.argv[-1], 'w').write(json.dumps({'rankings': [[['x', 1.0]]]}))",
            60,
            "unknown turns in them",
        ),
    ],
)
def test_a_peer_that_crashes_or_hangs_fails_its_row_only(
    make_recipe: Callable[..., Path], memora: Path, tmp_path: Path, program: str, seconds: float, message: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec python3 -c "{program}" "$@"\n')
    python.chmod(0o755)
    peer = {"kind": "peer", "name": "mem0", "peer": "mem0", "python": str(python), "timeout_s": seconds}
    document = run(load(make_recipe(data={"benchmark": "memora", "root": str(memora)}, systems=[BM25, peer])))
    bm25, mem0 = document["systems"]
    assert bm25["questions left out"] == 0 and mem0["questions left out"] == 5
    assert len(mem0["failures"]) == 2 and message in mem0["failures"][0]
    assert message in (Path(load(tmp_path / "tiny.yaml").folder) / "report.html").read_text(encoding="utf-8")


def test_two_runs_in_one_folder_at_once_are_refused(make_recipe: Callable[..., Path], memora: Path) -> None:
    recipe = load(make_recipe(data={"benchmark": "memora", "root": str(memora)}, systems=[BM25]))
    with alone(recipe.folder), pytest.raises(InputError, match="another run is writing"):
        run(recipe)
    assert run(recipe)["systems"][0]["questions left out"] == 0


def test_two_systems_of_one_name_are_refused(make_recipe: Callable[..., Path], memora: Path) -> None:
    path = make_recipe(data={"benchmark": "memora", "root": str(memora)}, systems=[BM25, BM25])
    with pytest.raises(Exception, match="two systems are called BM25"):
        load_recipe(path)
