"""The stages that need no reader: construct, consolidate, retrieve. Each unit is done once and kept."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engrain.recipes.benchmarks.pipeline.stage_log import StageLog, spending, unit_key
from engrain.recipes.benchmarks.suites.suite import Question, Suite
from engrain.recipes.benchmarks.systems.system import Found, System
from engrain.runtime.errors import EngrainError, InputError

Progress = Callable[[int, int], None]
STAGES = ("construct", "consolidate", "retrieve")
LOCK = "running.lock"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a run's folder: two runs at once would build the same memories over each other. A killed run holds nothing.

    Raises `InputError` when another process runs in it.
    """
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is writing {folder}; wait for it, or give this one a name of its own"
            ) from None
        yield


@dataclass
class Built:
    """What one system made of a suite: rankings by question, counts and seconds by stage, and what failed."""

    system: System
    rankings: dict[str, list[Found]] = field(default_factory=dict)
    counts: dict[str, dict[str, float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    reused: int = 0

    def add(self, stage: str, row: dict[str, Any]) -> None:
        """Add one unit's counts and seconds to its stage."""
        totals = self.counts.setdefault(stage, {})
        for name, value in {**row.get("counts", {}), **row["spent"]}.items():
            totals[name] = totals.get(name, 0) + value


class Stages:
    """Runs a system over a suite, group by group, in a folder of its own.

    A group that fails (a peer that crashes or hangs, a service that goes away) is told in `failures` and has no
    ranking: its questions are left out of this system's figures, and counted.
    """

    def __init__(self, suite: Suite, system: System, folder: Path, depth: int) -> None:
        self.suite, self.system, self.depth = suite, system, depth
        self.folder = folder / system.name
        self._base = (suite.name, suite.provenance.files, system.identity())
        self._logs = {name: StageLog(self.folder / f"{name}.jsonl") for name in STAGES}

    def run(self, progress: Progress | None = None) -> Built:
        """Every group through the three stages."""
        built = Built(self.system)
        for done, group in enumerate(self.suite.groups, start=1):
            questions = [question for question in self.suite.questions if question.group == group]
            try:
                self._group(built, group, questions)
            except EngrainError as error:
                built.failures.append(f"{group}: {error}")
            if progress is not None:
                progress(done, len(self.suite.groups))
        return built

    def _group(self, built: Built, group: str, questions: Sequence[Question]) -> None:
        store, key = self.folder / "groups" / group.replace("/", "_"), unit_key(self._base, group)
        self._construct(built, group, store, key)
        self._consolidate(built, group, store, key)
        self._retrieve(built, group, store, key, questions)

    def _construct(self, built: Built, group: str, store: Path, key: str) -> None:
        row = self._logs["construct"].get(key)
        if row is None or not store.is_dir():
            # Half a memory of an interrupted run would count turns twice: it is built anew.
            shutil.rmtree(store, ignore_errors=True)
            store.mkdir(parents=True)
            with spending() as spent:
                counts = self.system.construct(group, self.suite.sessions_of(group), store)
            row = self._logs["construct"].add(key, {"group": group, "counts": counts, "spent": spent.document()})
        else:
            built.reused += 1
        built.add("construct", row)

    def _consolidate(self, built: Built, group: str, store: Path, key: str) -> None:
        row = self._logs["consolidate"].get(key)
        if row is None:
            with spending() as spent:
                counts = self.system.consolidate(group, store)
            if counts is None:
                return
            row = self._logs["consolidate"].add(key, {"group": group, "counts": counts, "spent": spent.document()})
        built.add("consolidate", row)

    def _retrieve(self, built: Built, group: str, store: Path, key: str, questions: Sequence[Question]) -> None:
        asked = {unit_key(key, question.id, question.question, self.depth): question for question in questions}
        waiting = {unit: question for unit, question in asked.items() if self._logs["retrieve"].get(unit) is None}
        if waiting:
            with spending() as spent:
                rankings = self.system.retrieve(group, store, list(waiting.values()), self.depth)
            share = {name: value / len(waiting) for name, value in spent.document().items()}
            for (unit, question), ranking in zip(waiting.items(), rankings, strict=True):
                entries = [entry.document() for entry in ranking]
                self._logs["retrieve"].add(unit, {"question": question.id, "ranking": entries, "spent": share})
        for unit, question in asked.items():
            row = self._logs["retrieve"].get(unit)
            assert row is not None
            built.rankings[question.id] = [Found.read(entry) for entry in row["ranking"]]
            built.add("retrieve", row)
