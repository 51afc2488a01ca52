"""How fast the store is: every line against a baseline measured in the same run, on the same records and vectors.

    python -m engrain.recipes.benchmarks.store_speed DATA EMBEDDER_BUNDLE [--sizes 10000 --sizes 100000]

Vectors are given, for queries too (see `store_speed_data` for the records). No model runs while anything is timed.

    a  100,000 records of one user: hybrid search beside NumPy brute force over the same matrix
    b  100,000 records over 1,000 users: hybrid search beside (a)
    c  bulk adds, and single durable adds beside a bare SQLite insert of the same bytes
    e  one user of each of `sizes` records: time and memory by size, and the exponent between the ends
"""

from __future__ import annotations

import gc
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from engrain.recipes import console
from engrain.recipes.benchmarks.store_speed_data import Material, load_material
from engrain.runtime.embedding import OnnxEmbedder
from engrain.runtime.memory import Memory

TOP_K = 20
MESSAGES_AN_ADD = 1_000
USERS = 1_000
SINGLE_ADDS = 200
WARM_UP = 20
START = datetime(2026, 1, 1, tzinfo=UTC)

Vectors = NDArray[np.float32]


class GivenVectors:
    """An embedder that looks vectors up by text: what is timed is the store, not a model."""

    def __init__(self, material: Material, vectors: Vectors) -> None:
        self.identity, self.dimension = "given@1", vectors.shape[1]
        self._vectors = vectors
        self._questions = dict(zip(material.questions, material.question_vectors, strict=True))
        self._numbers = {material.text(number): number for number in range(len(vectors))}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of known texts, N x D."""
        if len(texts) == 1 and texts[0] in self._questions:
            asked: Vectors = self._questions[texts[0]][None, :]
            return asked
        rows: Vectors = self._vectors[[self._numbers[text] for text in texts]]
        return rows


@dataclass(frozen=True)
class Times:
    """Milliseconds of one kind of call."""

    p50: float
    p95: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Times:
        """Percentiles of measured calls."""
        return cls(*(round(1_000.0 * float(np.percentile(seconds, share)), 3) for share in (50, 95)))


@dataclass(frozen=True)
class Scaled:
    """One user of `records` records."""

    records: int
    search: Times
    brute_force: Times
    dense_recall: float
    clusters_read: int
    clusters: int
    index_s: float
    bytes_a_record: float
    adds_a_second: float
    adds_a_cpu_second: float


def fill(memory: Memory, material: Material, count: int, users: int = 1) -> tuple[float, float]:
    """Add `count` records over `users` users, in bulk; returns records a second, of the clock and of the processor.

    The second is what the first would be on a machine with nothing else to do and a disk that keeps up.
    """
    spent = used = 0.0
    share = count // users
    for user in range(users):
        for start in range(user * share, (user + 1) * share, MESSAGES_AN_ADD):
            numbers = range(start, min(start + MESSAGES_AN_ADD, (user + 1) * share))
            messages = [_message(material, number) for number in numbers]
            began, burnt = time.perf_counter(), time.process_time()
            memory.add(messages, user_id=f"u{user}", session_id=f"s{start}")
            spent += time.perf_counter() - began
            used += time.process_time() - burnt
    return count / spent, count / used


def search_times(memory: Memory, material: Material, users: int = 1) -> Times:
    """Hybrid searches, each question once, after a warm-up; with many users each is asked by the next of them."""
    return _timed(material, lambda number: _ask(memory, material, number, users))[0]


def beside_brute_force(memory: Memory, material: Material, vectors: Vectors) -> tuple[Times, Times]:
    """Hybrid search, and NumPy's product with the whole matrix and the first 20, in turn."""

    def brute_force(number: int) -> None:
        scores = vectors @ material.question_vectors[number]
        first = np.argpartition(-scores, TOP_K)[:TOP_K]
        first[np.argsort(-scores[first])]

    ours, theirs = _timed(material, lambda number: _ask(memory, material, number, 1), brute_force)
    return ours, theirs


def _ask(memory: Memory, material: Material, number: int, users: int) -> None:
    memory.search(material.questions[number], user_id=f"u{number % users}", top_k=TOP_K)


def dense_recall(memory: Memory, vectors: Vectors, material: Material, user_id: str = "u0") -> float:
    """Share of the exact first 20 that the index finds, over the questions."""
    index = memory.searcher.peek(user_id)
    everything = np.ones(len(vectors), np.bool_)
    found = 0
    for query in material.question_vectors:
        scores = vectors @ query
        # A tie at the edge counts as found: the index scores in another order of summation.
        edge = np.partition(scores, len(scores) - TOP_K)[len(scores) - TOP_K] - 1e-5
        slots = index.dense(query, everything, TOP_K).slots
        found += int((scores[slots] >= edge).sum())
    return found / (TOP_K * len(material.question_vectors))


def measure_size(material: Material, vectors: Vectors, folder: Path) -> Scaled:
    """Line (e) for one size, and line (a) for 100,000."""
    count = len(vectors)
    path = folder / f"one-{count}.db"
    with Memory.open(path, embedder=GivenVectors(material, vectors)) as memory:
        speed, processor_speed = fill(memory, material, count)
        before = _resident()
        began = time.perf_counter()
        memory.search(material.questions[0], user_id="u0", top_k=TOP_K)
        index_s = time.perf_counter() - began
        grown = _resident() - before
        search, brute = beside_brute_force(memory, material, vectors)
        read, clusters = memory.searcher.peek("u0").vectors.clusters_read
        recall = dense_recall(memory, vectors, material)
    path.unlink()
    gc.collect()
    return Scaled(count, search, brute, recall, read, clusters, index_s, grown / count, speed, processor_speed)


def measure_users(material: Material, vectors: Vectors, folder: Path) -> Times:
    """Line (b): the same records over many users, all searched before."""
    path = folder / "users.db"
    with Memory.open(path, embedder=GivenVectors(material, vectors)) as memory:
        fill(memory, material, len(vectors), USERS)
        for user in range(USERS):
            memory.search(material.questions[0], user_id=f"u{user}", top_k=TOP_K)
        times = search_times(memory, material, USERS)
    path.unlink()
    return times


def single_adds(material: Material, vectors: Vectors, folder: Path) -> tuple[Times, Times]:
    """Line (c): one message an add, and a bare insert of its text and vector, both with synchronous FULL, in turn."""
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE rows (key INTEGER PRIMARY KEY, text TEXT, vector BLOB)")
    ours: list[float] = []
    theirs: list[float] = []
    with Memory.open(folder / "single.db", embedder=GivenVectors(material, vectors)) as memory:
        for number in range(SINGLE_ADDS + WARM_UP):
            message = _message(material, number)
            with _clock(ours):
                memory.add(message, user_id="u0", session_id="s")
            with _clock(theirs):
                bare.execute(
                    "INSERT INTO rows (text, vector) VALUES (?, ?)", (material.text(number), vectors[number].tobytes())
                )
    bare.close()
    return Times.of(ours[WARM_UP:]), Times.of(theirs[WARM_UP:])


def exponent(scaled: Sequence[Scaled]) -> float:
    """Of time over size, between the smallest and the largest."""
    first, last = scaled[0], scaled[-1]
    return float(np.log(last.search.p50 / first.search.p50) / np.log(last.records / first.records))


def main(
    data: Annotated[Path, typer.Argument(help="Folder with locomo/locomo5.json and longmemeval/.")],
    embedder: Annotated[Path, typer.Argument(help="Folder of an embedder bundle.")],
    sizes: Annotated[list[int] | None, typer.Option(help="Records of one user; 10,000 and 100,000 by default.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Where the vectors of the real turns are kept.")] = None,
    only: Annotated[str, typer.Option(help="Which lines, of abce.")] = "abce",
) -> None:
    """Print lines (a), (b), (c) and (e), each beside its baseline."""
    material = load_material(data, OnnxEmbedder.load(embedder), cache)
    chosen = sorted(sizes or [10_000, 100_000])
    vectors = material.extended(chosen[-1])
    report: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scaled = [measure_size(material, vectors[:size], folder) for size in chosen] if set(only) & set("ae") else []
        for one in scaled:
            report[f"one user, {one.records}"] = asdict(one)
            report[f"(a) {one.records}: p50 over brute force"] = one.search.p50 / one.brute_force.p50
            report[f"(a) {one.records}: p95 over p50"] = one.search.p95 / one.search.p50
        if len(scaled) > 1:
            report["(e) exponent"] = exponent(scaled)
        if "b" in only:
            users = measure_users(material, vectors[: min(len(vectors), 100_000)], folder)
            report["(b) 1,000 users"] = asdict(users)
            if scaled:
                report["(b) p50 over (a)"] = users.p50 / scaled[-1].search.p50
        if "c" in only:
            ours, bare = single_adds(material, vectors, folder)
            report["(c) single adds"], report["(c) bare inserts"] = asdict(ours), asdict(bare)
            report["(c) p50 over bare"] = ours.p50 / bare.p50
    console.show_fields("store speed", report)


def _message(material: Material, number: int) -> dict[str, object]:
    moment = START + timedelta(seconds=30 * number)
    return {"role": "user", "content": material.text(number), "timestamp": moment}


def _timed(material: Material, *calls: Callable[[int], None]) -> list[Times]:
    """Several calls in turn for every question, after a warm-up."""
    spent: list[list[float]] = [[] for _ in calls]
    for number in [*range(WARM_UP), *range(len(material.questions))]:
        for call, into in zip(calls, spent, strict=True):
            with _clock(into):
                call(number)
    return [Times.of(seconds[WARM_UP:]) for seconds in spent]


@contextmanager
def _clock(into: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    into.append(time.perf_counter() - began)


def _resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * 4096
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    typer.run(main)
