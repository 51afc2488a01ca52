"""A peer library in a process and an environment of its own: a crash or a hang is a failed row, not a failed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import venv
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from engrain.recipes import console
from engrain.recipes.benchmarks.suites.suite import Question
from engrain.recipes.benchmarks.systems.peers import PEERS
from engrain.recipes.benchmarks.systems.system import Found, remembered_turns, shown_time, told
from engrain.runtime.bundle import text_hash
from engrain.runtime.embedding import Embedder
from engrain.runtime.errors import EngrainError, InputError
from engrain.runtime.schema import Session, Turn

ENVIRONMENTS = Path(os.environ.get("ENGRAIN_PEERS", "runs/bench/peers"))
_TURNS = "turns.json"
_SHOWN = 600
_WORKER = resources.files("engrain.recipes.benchmarks.systems") / "peer_worker.py"


class PeerError(EngrainError):
    """A peer crashed, hung or could not be installed."""


class Peer:
    """One peer. Every group is built and asked by a worker of its own, within `timeout_s` seconds each."""

    def __init__(
        self, name: str, peer: str, embedder: Embedder, *, python: Path | None = None, timeout_s: float = 600.0
    ) -> None:
        if peer not in PEERS:
            raise InputError(f"systems.{name}: there is no peer '{peer}'; there are {', '.join(PEERS)}")
        self.name, self.peer, self.timeout_s = name, peer, timeout_s
        self.exercised = PEERS[peer].exercised
        self._embedder, self._python = embedder, python

    def identity(self) -> dict[str, Any]:
        """The peer's pinned package, how it is driven, and the embedder."""
        return {
            "peer": self.peer,
            "requirements": PEERS[self.peer].requirements,
            "worker": text_hash(_WORKER.read_text(encoding="utf-8")),
            "embedder": self._embedder.identity,
        }

    def construct(self, group: str, sessions: Sequence[Session], folder: Path) -> dict[str, int]:
        """Store the user turns as they were said, session by session."""
        rows = [_row(turn, group) for turn in remembered_turns(sessions)]
        (folder / _TURNS).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        self.work(folder, {"do": "add", "rows": rows})
        return {"turns": len(rows), "records": len(rows)}

    def consolidate(self, group: str, folder: Path) -> None:
        """Peers consolidate, if at all, through an LLM while adding."""
        return

    def retrieve(self, group: str, folder: Path, questions: Sequence[Question], depth: int) -> list[list[Found]]:
        """The ranking of every question."""
        rows = json.loads((folder / _TURNS).read_text(encoding="utf-8"))
        asked = [{"text": question.question, "user": group} for question in questions]
        answer = self.work(folder, {"do": "search", "rows": rows, "questions": asked, "depth": depth})
        turns = {row["id"]: row for row in rows}
        rankings = answer["rankings"]
        unknown = sorted({key for ranking in rankings for key, _ in ranking} - turns.keys())
        if unknown or len(rankings) != len(questions):
            found = f"{len(rankings)} rankings for {len(questions)} questions"
            raise PeerError(f"{self.peer} gave {found}; unknown turns in them: {unknown[:3]}")
        return [
            [Found(turns[key]["text"], (key,), turns[key]["at"], float(score)) for key, score in ranking]
            for ranking in rankings
        ]

    def work(self, folder: Path, task: Mapping[str, Any]) -> dict[str, Any]:
        """Run the worker on one task with the vectors of its texts: its rankings, and the seconds of each call.

        Raises `PeerError` with the end of what the worker said.
        """
        texts = [one["text"] for name in ("rows", "questions") for one in task.get(name, ())]
        given = {"peer": self.peer, "folder": str(folder), "vectors": self._vectors(texts)}
        python = self._python or environment(self.peer)
        with tempfile.TemporaryDirectory() as exchange:
            files = [Path(exchange) / name for name in ("task.json", "answer.json", "said.txt")]
            files[0].write_text(json.dumps({**task, **given}), encoding="utf-8")
            code = self._run([str(python), str(_WORKER), *map(str, files[:2])], files[2])
            if code or not files[1].is_file():
                said = files[2].read_text(encoding="utf-8", errors="replace").strip()[-_SHOWN:]
                raise PeerError(f"{self.peer} ended with exit code {code}: {said}")
            return _answer(self.peer, files[1])

    def _run(self, command: list[str], said: Path) -> int:
        """The exit code. A worker that hangs is stopped with whatever it started."""
        with said.open("wb") as output:
            try:
                worker = subprocess.Popen(
                    command, stdout=output, stderr=output, env=_environment_variables(), start_new_session=True
                )
            except OSError as error:
                raise PeerError(f"{self.peer} cannot be started with {command[0]}: {error}") from None
            try:
                return worker.wait(self.timeout_s)
            except subprocess.TimeoutExpired:
                raise PeerError(f"{self.peer} took longer than {self.timeout_s:.0f} s and was stopped") from None
            finally:
                _stop(worker)

    def _vectors(self, texts: Iterable[str]) -> dict[str, list[float]]:
        distinct = sorted(set(texts))
        return dict(zip(distinct, self._embedder.embed(distinct).tolist(), strict=True))


def _row(turn: Turn, user: str) -> dict[str, str]:
    moment = shown_time(turn.timestamp)
    return {"id": turn.id, "text": told(turn), "at": moment, "session": turn.session_id, "user": user}


_failed: dict[str, str] = {}


def environment(peer: str) -> Path:
    """The interpreter of a peer's environment, made and filled when it is not there yet; tried once a process."""
    folder = (ENVIRONMENTS / peer).resolve()
    python = folder / "bin" / "python"
    ready = folder / "installed"
    if ready.is_file() and ready.read_text(encoding="utf-8") == _wanted(peer):
        return python
    if peer in _failed:
        raise PeerError(_failed[peer])
    console.say(f"installing {peer} into an environment of its own ({folder})")
    venv.create(folder, with_pip=True, clear=True)
    for package in PEERS[peer].requirements:
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", package]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            _failed[peer] = f"{peer} does not install: {done.stderr.strip()[-_SHOWN:]}"
            raise PeerError(_failed[peer])
    ready.write_text(_wanted(peer), encoding="utf-8")
    return python


def _wanted(peer: str) -> str:
    return "\n".join(PEERS[peer].requirements)


def _answer(peer: str, file: Path) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PeerError(f"{peer} wrote an answer that is not JSON: {error}") from None
    return answer


def _stop(worker: subprocess.Popen[bytes]) -> None:
    """End the worker's whole process group; after a normal end there is none left."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def _environment_variables() -> dict[str, str]:
    """The worker's environment: no hub, no telemetry, and none of this process' Python paths."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    offline = {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False"}
    return kept | offline | {"TOKENIZERS_PARALLELISM": "false", "PYTHONDONTWRITEBYTECODE": "1"}
