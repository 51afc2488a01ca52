"""The ledger itself: append-only, durable, exact sums, and refusals."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from local_server import LocalServer

from engrain.recipes import cost as verb
from engrain.runtime.errors import InputError, StoreError
from engrain.runtime.llm import claims
from engrain.runtime.llm.accounts import cost
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, ChatAnswer, Stage
from engrain.runtime.llm.claims import Account
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Attempt, Ledger
from engrain.runtime.llm.online import OnlineClient
from engrain.runtime.llm.projection import project
from engrain.runtime.llm.replay import ReplayClient, write_recordings

Settings = Callable[..., EndpointSettings]
MakeCall = Callable[..., Call]
ACCOUNT = Account("http://h/v1", "teacher", "label", "teacher", "r")
ANSWER = ChatAnswer("text", "stop", 10, 3, "m", 0.5)


@pytest.mark.parametrize("change", ["UPDATE answers SET text = ''", "DELETE FROM answers", "DELETE FROM attempts"])
def test_what_was_bought_cannot_be_changed(ledger: Ledger, change: str) -> None:
    ledger.store("a", ACCOUNT, ANSWER, Decimal("0.1"), "online").result()
    ledger.fail("b", ACCOUNT, Attempt("timeout", "")).result()
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        ledger.read(change).result()
    assert ledger.find(["a", "b"], ACCOUNT.endpoint).result() == {"a": ANSWER}


def test_an_answer_is_on_the_disk_when_its_future_resolves(ledger: Ledger) -> None:
    ledger.store("a", ACCOUNT, ANSWER, None, "online").result()
    assert ledger.path is not None
    with closing(sqlite3.connect(ledger.path)) as other:
        assert other.execute("SELECT text FROM answers").fetchall() == [("text",)]


def test_a_second_copy_is_booked_but_not_stored(ledger: Ledger) -> None:
    assert ledger.store("a", ACCOUNT, ANSWER, Decimal("0.1"), "online").result()
    other = ChatAnswer("other", "stop", 10, 3, "m", 0.5)
    assert not ledger.store("a", ACCOUNT, other, Decimal("0.2"), "online").result()
    assert ledger.find(["a"], ACCOUNT.endpoint).result()["a"].text == "text"
    assert ledger.spent("r").result()[0] == Decimal("0.3")


def test_sums_are_exact_by_stage_teacher_and_run(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    for index in range(30):
        stage, teacher = ("label", "a") if index % 3 else ("judge", "b")
        account = Account("http://h/v1", teacher, stage, teacher, f"run-{index % 2}")
        ledger.store(f"{index}", account, ANSWER, Decimal("0.1"), "online").result()
    ledger.fail("x", ACCOUNT, Attempt("timeout", "")).result()
    ledger.store("free", ACCOUNT, ChatAnswer("t", "length", 1, 1, "m", 0.1), None, "online").result()
    assert ledger.path is not None
    lines = cost(ledger.path)
    assert [(one.stage, one.teacher, one.run, one.answers, one.cost_usd) for one in lines] == [
        ("judge", "b", "run-0", 5, Decimal("0.5")),
        ("judge", "b", "run-1", 5, Decimal("0.5")),
        ("label", "a", "run-0", 10, Decimal("1.0")),
        ("label", "a", "run-1", 10, Decimal("1.0")),
        ("label", "teacher", "r", 1, Decimal("0")),
    ]
    assert (lines[-1].failed, lines[-1].truncated, lines[-1].unpriced) == (1, 1, 1)
    assert [one.run for one in cost(ledger.path, "run-0")] == ["run-0", "run-0"]
    verb.command(str(ledger.path), None, True)
    document = json.loads(capsys.readouterr().out)
    assert document["total"]["cost_usd"] == "3.0"
    assert document["total"]["prompt_tokens"] == 301
    verb.command(str(ledger.path), "run-1", False)
    shown = capsys.readouterr().out
    assert "judge" in shown
    assert "run-0" not in shown


def test_no_ledger_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ledger there"):
        cost(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_other_files_are_refused(tmp_path: Path) -> None:
    text, database, later = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "later.db"
    text.write_text("not a database, but long enough to be read as one " * 20)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE t (a)")
    Ledger(later).close()
    with closing(sqlite3.connect(later)) as connection:
        connection.execute("PRAGMA user_version = 99")
    for path, message in ((text, "cannot be opened"), (database, "not a ledger"), (later, "format 99")):
        with pytest.raises(StoreError, match=message):
            Ledger(path)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (0,)


def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    ledger.close()
    ledger.close()
    with pytest.raises(StoreError, match="closed"):
        ledger.find(["a"], "e")


def test_a_claim_is_exclusive_until_its_owner_is_gone(tmp_path: Path) -> None:
    first, second = Ledger(tmp_path / "l.db"), Ledger(tmp_path / "l.db")
    ask = {"lease_s": 60.0, "price": Decimal("0.4"), "budget": Decimal(1)}
    assert first.claim("a", ACCOUNT, **ask).result().state == "granted"
    held = second.claim("a", ACCOUNT, **ask).result()
    assert (held.state, held.holder.startswith(f"process {os.getpid()}")) == ("held", True)
    assert second.claim("b", ACCOUNT, **ask).result().state == "granted"
    over = second.claim("c", ACCOUNT, **ask).result()
    assert (over.state, over.reserved) == ("over_budget", Decimal("0.8"))
    first.close()
    assert second.claim("a", ACCOUNT, **ask | {"budget": None}).result().state == "granted"
    assert second.read("SELECT request_hash, outcome FROM attempts").result() == [("a", "lost")]
    second.store("a", ACCOUNT, ANSWER, Decimal("0.1"), "online").result()
    assert second.claim("a", ACCOUNT, **ask).result().answer == ANSWER
    assert second.spent("r").result() == (Decimal("0.1"), Decimal("0.4"))
    second.close()


def test_a_lease_runs_out(ledger: Ledger) -> None:
    ask = {"price": Decimal(0), "budget": None}
    assert ledger.claim("a", ACCOUNT, lease_s=0.05, **ask).result().state == "granted"
    assert ledger.claim("a", ACCOUNT, lease_s=60, **ask).result().state == "held"
    time.sleep(0.06)
    assert ledger.claim("a", ACCOUNT, lease_s=60, **ask).result().state == "granted"


def test_liveness_of_an_owner() -> None:
    owner = claims.Owner.new()
    assert claims.is_alive(owner.token, owner.host, owner.pid)
    assert not claims.is_alive("a token of the process that had this pid before", owner.host, owner.pid)
    assert claims.is_alive("x", "another host", 1)
    owner.retire()
    assert not claims.is_alive(owner.token, owner.host, owner.pid)


def test_threads_write_together(ledger: Ledger) -> None:
    def work(name: int) -> None:
        for index in range(50):
            ledger.store(f"{name} {index}", ACCOUNT, ANSWER, Decimal("0.001"), "online").result()

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent("r").result()[0] == Decimal("0.2")


def test_one_bad_write_leaves_its_neighbours_alone(ledger: Ledger) -> None:
    broken = ChatAnswer(None, "stop", 1, 1, "m", 0.1)  # type: ignore[arg-type]
    futures = [
        ledger.store(f"{index}", ACCOUNT, broken if index == 5 else ANSWER, None, "online") for index in range(10)
    ]
    assert [future.exception() is None for future in futures] == [index != 5 for index in range(10)]
    assert ledger.read("SELECT count(*) FROM answers").result() == [(9,)]


def test_projection_counts_stored_and_prices_the_rest(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall
) -> None:
    endpoint = settings(usd_per_million_input="1000", usd_per_million_output="2000", requests_per_minute=600)
    calls = [make_call(f"q{i}") for i in range(10)]
    empty = project(endpoint, ledger, calls)
    assert (empty.stored, empty.to_send, empty.expected_usd, empty.shortest_s) == (0, 10, None, 1.0)
    answer_all(OnlineClient(endpoint, ledger, run="r"), calls[:4])
    after = project(endpoint, ledger, [*calls, calls[9]])
    assert (after.calls, after.stored, after.to_send) == (11, 4, 6)
    assert after.expected_usd == 6 * (3 * Decimal("0.001") + 2 * Decimal("0.002"))
    assert after.highest_usd is not None
    assert after.highest_usd > after.expected_usd
    assert project(settings(), ledger, calls).highest_usd is None


def test_replay_answers_from_recordings_and_names_what_is_missing(
    server: LocalServer, settings: Settings, ledger: Ledger, make_call: MakeCall, tmp_path: Path
) -> None:
    calls = [make_call(f"q{i}") for i in range(5)]
    online = answer_all(OnlineClient(settings(), ledger, run="r"), calls)
    path = tmp_path / "recordings.jsonl"
    assert write_recordings(ledger, path, "r") == 5
    with Ledger(None) as empty:
        offline = settings(api_key_env="A_KEY_THAT_IS_NOT_SET")
        client = open_client(offline, ledger=empty, run="r", mode="replay", recordings=path)
        assert isinstance(client, ReplayClient)
        assert [one.answer for one in answer_all(client, calls)] == [one.answer for one in online]
        with pytest.raises(InputError, match=r"request [0-9a-f]{64} \(stage judge"):
            answer_all(client, [make_call("never recorded", stage=Stage.JUDGE)])
        with pytest.raises(InputError, match="replay needs"):
            open_client(offline, ledger=empty, run="r", mode="replay")
    path.write_text(path.read_text() + "{}\n")
    with Ledger(None) as empty, pytest.raises(InputError, match=r"recordings\.jsonl:6"):
        open_client(settings(), ledger=empty, run="r", mode="replay", recordings=path)
    assert len(server.markers()) == 5
