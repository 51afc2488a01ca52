"""Line (d) of the store's speed: beside mem0 in its offline mode, on LoCoMo's texts, one session an add.

    python -m engrain.recipes.benchmarks.store_speed_mem0 LOCOMO_JSON EMBEDDER_BUNDLE

mem0 is installed into an environment of its own, or `--python` names one that has it. Both get the same turns, and the
same vectors for turns and questions; no model runs. Both are asked for the first 20; recall is the mean share of a
question's evidence turns (categories 1-4) among the first 10 and 20.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from engrain.data_builders.sources.locomo import LocomoSource
from engrain.recipes import console
from engrain.recipes.benchmarks.systems.peer import Peer
from engrain.recipes.benchmarks.systems.system import told
from engrain.runtime.embedding import OnnxEmbedder
from engrain.runtime.memory import Memory
from engrain.runtime.retrieval.surface import spoken

ANSWERABLE = (1, 2, 3, 4)
DEPTHS = (10, 20)
TOP_K = 20
MEASURES = ("adds", "searches", "searches_processor")


class Prepared:
    """Turns by conversation and questions, with all vectors; also the embedder that looks them up."""

    def __init__(self, source: LocomoSource, embedder: OnnxEmbedder) -> None:
        self.sessions = [(labelled.person, labelled.session.turns) for labelled in source.sessions()]
        self.questions = [
            question for question in source.questions() if question.category in ANSWERABLE and question.evidence
        ]
        self.texts = {(user, turn.id): told(turn) for user, turns in self.sessions for turn in turns}
        texts = {*self.texts.values(), *(question.question for question in self.questions)}
        ordered = sorted(texts)
        self.vectors = dict(zip(ordered, embedder.embed(ordered), strict=True))
        self.identity, self.dimension = embedder.identity, embedder.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of known texts, N x D."""
        return np.stack([self.vectors[text] for text in texts])

    def rows(self) -> list[dict[str, str]]:
        """Turns as the worker of a peer reads them."""
        return [
            {"id": f"{user}/{turn.id}", "text": told(turn), "session": turn.session_id, "user": user}
            for user, turns in self.sessions
            for turn in turns
        ]


def ours(prepared: Prepared, folder: Path) -> dict[str, Any]:
    """The same of Engrain: seconds a turn and a search, and the texts found."""
    adds: list[float] = []
    searches: list[float] = []
    processor: list[float] = []
    found: list[list[str]] = []
    with Memory.open(folder / "memory.db", embedder=prepared) as memory:
        for user, turns in prepared.sessions:
            began = time.perf_counter()
            memory.add(turns, user_id=user, infer=False)
            adds.append((time.perf_counter() - began) / len(turns))
        for question in prepared.questions:
            began, burnt = time.perf_counter(), time.process_time()
            answer = memory.search(question.question, user_id=question.conversation, top_k=TOP_K)
            searches.append(time.perf_counter() - began)
            processor.append(time.process_time() - burnt)
            found.append([spoken(hit.record.source_speaker, hit.memory) for hit in answer.results])
    return {"adds": adds, "searches": searches, "searches_processor": processor, "found": found}


def theirs(prepared: Prepared, python: Path | None, folder: Path) -> dict[str, Any]:
    """The same of mem0, measured in its own process."""
    peer = Peer("mem0", "mem0", prepared, python=python, timeout_s=3_600)
    rows = prepared.rows()
    added = peer.work(folder, {"do": "add", "rows": rows})
    questions = [{"text": one.question, "user": one.conversation} for one in prepared.questions]
    found = peer.work(folder, {"do": "search", "rows": rows, "questions": questions, "depth": TOP_K})
    texts = {row["id"]: row["text"] for row in rows}
    sizes = [len(turns) for _, turns in prepared.sessions]
    return {
        "adds": [seconds / size for seconds, size in zip(added["seconds"], sizes, strict=True)],
        "searches": found["seconds"],
        "searches_processor": found["processor_seconds"],
        "found": [[texts[key] for key, _ in ranking] for ranking in found["rankings"]],
    }


def recall(prepared: Prepared, found: Sequence[Sequence[str]], depth: int) -> float:
    """Mean share of the evidence turns' texts among the first `depth`."""
    shares = []
    for question, texts in zip(prepared.questions, found, strict=True):
        wanted = [prepared.texts[question.conversation, turn_id] for turn_id in question.evidence]
        shares.append(sum(text in texts[:depth] for text in wanted) / len(wanted))
    return sum(shares) / len(shares)


def main(
    data: Annotated[Path, typer.Argument(help="LoCoMo's JSON file.")],
    embedder: Annotated[Path, typer.Argument(help="Folder of an embedder bundle.")],
    python: Annotated[Path | None, typer.Option(help="A Python that has mem0 installed; empty: one is made.")] = None,
    conversation: Annotated[list[str] | None, typer.Option(help="Only these conversations.")] = None,
) -> None:
    """Print adds, searches and recall of both, and the ratios."""
    source = LocomoSource(data, conversations=tuple(conversation) if conversation else None)
    prepared = Prepared(source, OnnxEmbedder.load(embedder))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer, own = theirs(prepared, python, folder), ours(prepared, folder)
    report: dict[str, object] = {"turns": len(prepared.texts), "questions": len(prepared.questions)}
    for label in MEASURES:
        mine, other = (1_000.0 * float(np.median(measured[label])) for measured in (own, peer))
        report[f"{label}, p50 ms: Engrain / mem0 / ratio"] = f"{mine:.2f} / {other:.2f} / {other / mine:.1f}"
    for depth in DEPTHS:
        mine, other = (recall(prepared, measured["found"], depth) for measured in (own, peer))
        report[f"recall at {depth}: Engrain / mem0"] = f"{mine:.3f} / {other:.3f}"
    console.show_fields("beside mem0", report)


if __name__ == "__main__":
    typer.run(main)
