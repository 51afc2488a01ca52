"""A peer library in a process and an environment of its own: a crash or a hang is a failed row, not a failed run."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import venv
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from engrain.recipes import console
from engrain.recipes.benchmarks.suites.suite import Question
from engrain.recipes.benchmarks.systems.peers import EMBEDDER, PEERS, TORCH
from engrain.recipes.benchmarks.systems.system import Found, remembered_turns, shown_time
from engrain.runtime.errors import EngrainError, InputError
from engrain.runtime.schema import Session

ENVIRONMENTS = Path(os.environ.get("ENGRAIN_PEERS", "runs/bench/peers"))
_SHOWN = 600


class PeerError(EngrainError):
    """A peer crashed, hung or could not be installed."""


class Peer:
    """One peer. Every group is built and asked by a worker of its own, within `timeout_s` seconds each."""

    def __init__(self, name: str, peer: str, *, python: Path | None = None, timeout_s: float = 600.0) -> None:
        if peer not in PEERS:
            raise InputError(f"systems.{name}: there is no peer '{peer}'; there are {', '.join(PEERS)}")
        self.name, self.peer, self.timeout_s = name, peer, timeout_s
        self.exercised = PEERS[peer].exercised
        self._python = python

    def identity(self) -> dict[str, Any]:
        """The peer's pinned package."""
        return {"peer": self.peer, "requirements": PEERS[self.peer].requirements}

    def construct(self, group: str, sessions: Sequence[Session], folder: Path) -> dict[str, int]:
        """Store the user turns as they were said; time is told in the text where the peer has no field for it."""
        rows = [
            {"id": turn.id, "text": turn.text, "at": shown_time(turn.timestamp)} for turn in remembered_turns(sessions)
        ]
        (folder / "turns.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        answer = self._work({"do": "add", "folder": str(folder), "rows": rows, "user": group})
        return {"turns": len(rows), "records": int(answer["stored"])}

    def consolidate(self, group: str, folder: Path) -> None:
        """Peers consolidate, if at all, through an LLM while adding."""
        return

    def retrieve(self, group: str, folder: Path, questions: Sequence[Question], depth: int) -> list[list[Found]]:
        """The ranking of every question."""
        turns = {row["id"]: row for row in json.loads((folder / "turns.json").read_text(encoding="utf-8"))}
        asked = [question.question for question in questions]
        answer = self._work({"do": "search", "folder": str(folder), "questions": asked, "depth": depth, "user": group})
        return [
            [Found(turns[key]["text"], (key,), turns[key]["at"], float(score)) for key, score in ranking]
            for ranking in answer["rankings"]
        ]

    def _work(self, task: dict[str, Any]) -> dict[str, Any]:
        """Run the worker on one task; raises `PeerError` with the end of what it said."""
        python = self._python or environment(self.peer)
        worker = resources.files("engrain.recipes.benchmarks.systems") / "peer_worker.py"
        with tempfile.TemporaryDirectory() as exchange:
            given, taken = Path(exchange) / "task.json", Path(exchange) / "answer.json"
            given.write_text(json.dumps(task | {"peer": self.peer}), encoding="utf-8")
            try:
                done = subprocess.run(
                    [str(python), str(worker), str(given), str(taken)],
                    capture_output=True,
                    text=True,
                    timeout=self.timeout_s,
                    check=False,
                    env=_environment_variables(),
                )
            except subprocess.TimeoutExpired:
                raise PeerError(f"{self.peer} took longer than {self.timeout_s:.0f} s and was stopped") from None
            except OSError as error:
                raise PeerError(f"{self.peer} cannot be started with {python}: {error}") from None
            if done.returncode or not taken.is_file():
                said = (done.stderr or done.stdout).strip()[-_SHOWN:]
                raise PeerError(f"{self.peer} ended with exit code {done.returncode}: {said}")
            answer: dict[str, Any] = json.loads(taken.read_text(encoding="utf-8"))
            return answer


def environment(peer: str) -> Path:
    """The interpreter of a peer's environment, made and filled when it is not there yet."""
    folder = (ENVIRONMENTS / peer).resolve()
    python = folder / "bin" / "python"
    ready = folder / "installed"
    if ready.is_file():
        return python
    console.say(f"installing {peer} into an environment of its own ({folder})")
    venv.create(folder, with_pip=True, clear=True)
    for packages in ((TORCH,), (*PEERS[peer].requirements, EMBEDDER)):
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", *packages], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise PeerError(f"{peer} does not install: {done.stderr.strip()[-_SHOWN:]}")
    ready.touch()
    return python


def _environment_variables() -> dict[str, str]:
    """The worker's environment: no hub, no telemetry, and none of this process' Python paths."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    offline = {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False"}
    return kept | offline | {"TOKENIZERS_PARALLELISM": "false", "PYTHONDONTWRITEBYTECODE": "1"}
