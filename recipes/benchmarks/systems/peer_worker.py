"""Runs inside a peer's own environment: `python peer_worker.py TASK ANSWER`. Imports nothing of Engrain.

A task stores texts (`add`) or ranks them for questions (`search`). Every text is stored as it is, no LLM is called and
no model runs: vectors are looked up, the same ones for every peer. The answer holds the seconds of each call.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Ranking = list[tuple[str, float]]
Rows = list[dict[str, str]]


class Vectors:
    """Vectors by text. Peers trim what they are given, so white space does not tell texts apart."""

    def __init__(self, given: dict[str, list[float]]) -> None:
        self._given = {" ".join(text.split()): vector for text, vector in given.items()}
        self.dimension = len(next(iter(given.values())))

    def of(self, text: str) -> list[float]:
        """The vector of a known text."""
        return self._given[" ".join(text.split())]


class Mem0:
    """mem0 with its embedded Qdrant; `infer=False` stores messages without an LLM."""

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        os.environ["OPENAI_API_KEY"] = "unused"  # a client is made, never asked
        from mem0 import Memory

        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": vectors.dimension}
        config = {"vector_store": {"provider": "qdrant", "config": store}, "history_db_path": f"{folder}/history.db"}
        self.memory = Memory.from_config(config)
        self.memory.embedding_model.embed = lambda text, memory_action=None: vectors.of(text)
        self._file = folder / "turn_of_memory.json"
        self._turns: dict[str, str] = json.loads(self._file.read_text()) if self._file.is_file() else {}

    def add(self, rows: Rows) -> None:
        """Store one session."""
        messages = [{"role": "user", "content": row["text"]} for row in rows]
        stored = self.memory.add(messages, user_id=rows[0]["user"], infer=False)["results"]
        self._turns |= {memory["id"]: row["id"] for memory, row in zip(stored, rows, strict=True)}

    def search(self, question: str, depth: int, user: str) -> Ranking:
        """Turn ids with scores, best first."""
        hits = self.memory.search(question, filters={"user_id": user}, top_k=depth, threshold=0.0)["results"]
        return [(self._turns[hit["id"]], hit["score"]) for hit in hits]

    def close(self) -> None:
        """Keep what the next task needs."""
        self._file.write_text(json.dumps(self._turns))


class LangMem:
    """LangMem's two memory tools, called as an agent would, on LangGraph's store with a vector index."""

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        from langgraph.store.memory import InMemoryStore

        def embed(texts: list[str]) -> list[list[float]]:
            return [vectors.of(text) for text in texts]

        self.store = InMemoryStore(index={"dims": vectors.dimension, "embed": embed, "fields": ["content"]})
        self._turns: dict[str, str] = {}

    def add(self, rows: Rows) -> None:
        """Store one session, a memory a turn."""
        from langmem import create_manage_memory_tool

        manage = create_manage_memory_tool(namespace=("memories", rows[0]["user"]), store=self.store)
        for row in rows:
            said = manage.invoke({"content": row["text"], "action": "create"})
            self._turns[said.rpartition(" ")[2]] = row["id"]

    def search(self, question: str, depth: int, user: str) -> Ranking:
        """Turn ids with scores, best first."""
        from langmem import create_search_memory_tool

        tool = create_search_memory_tool(namespace=("memories", user), store=self.store)
        items = json.loads(tool.invoke({"query": question, "limit": depth}))
        return [(self._turns[item["key"]], item["score"] or 0.0) for item in items]

    def close(self) -> None:
        """The store lives in memory: nothing is kept."""


class AMem:
    """A-MEM's retriever over notes as given. Its notes' links and keywords come from an LLM, so there are none."""

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        # The retriever imports a class of it that it never uses; loading it takes longer than storing a conversation.
        sys.modules["sentence_transformers"] = SimpleNamespace(SentenceTransformer=None)  # type: ignore[assignment]
        from agentic_memory import retrievers
        from chromadb import EmbeddingFunction

        class Given(EmbeddingFunction):  # type: ignore[misc]
            """Looks vectors up where the retriever would load a model."""

            def __init__(self, model_name: str = "") -> None: ...

            def __call__(self, input: Any) -> Any:
                import numpy as np

                return [np.asarray(vectors.of(text), dtype=np.float32) for text in input]

            @staticmethod
            def name() -> str:
                return "given"

            def get_config(self) -> dict[str, Any]:
                return {}

            @staticmethod
            def build_from_config(config: dict[str, Any]) -> Any:
                return Given()

        retrievers.SentenceTransformerEmbeddingFunction = Given
        self.retriever = retrievers.ChromaRetriever(collection_name="notes", persist_directory=str(folder / "chroma"))

    def add(self, rows: Rows) -> None:
        """Store one session, a note a turn."""
        for row in rows:
            self.retriever.add_document(row["text"], {"user": row["user"]}, row["id"])

    def search(self, question: str, depth: int, user: str) -> Ranking:
        """Turn ids with scores, best first."""
        found = self.retriever.search_with_filter(question, where={"user": user}, k=depth)
        return [(key, -distance) for key, distance in zip(found["ids"][0], found["distances"][0], strict=True)]

    def close(self) -> None:
        """Chroma keeps its own files."""


class SimpleMem:
    """SimpleMem's vector store over entries as given. Its rewriting of dialogues needs an LLM, so there is none."""

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        import numpy as np
        from simplemem.database.vector_store import VectorStore

        class Given:
            """Looks vectors up where the store would load a model."""

            dimension = vectors.dimension

            def encode_documents(self, documents: list[str]) -> Any:
                return np.asarray([vectors.of(text) for text in documents], dtype=np.float32)

            def encode_single(self, text: str, is_query: bool = False) -> Any:
                return self.encode_documents([text])[0]

        self.store = VectorStore(db_path=str(folder / "lance"), embedding_model=Given(), table_name="entries")

    def add(self, rows: Rows) -> None:
        """Store one session. The store knows no users: one folder is one user's."""
        from simplemem.models.memory_entry import MemoryEntry

        self.store.add_entries([MemoryEntry(entry_id=row["id"], lossless_restatement=row["text"]) for row in rows])

    def search(self, question: str, depth: int, user: str) -> Ranking:
        """Turn ids, best first; the store tells no score. What it swallows as "no result" is an error here."""
        entries = self.store.semantic_search(question, top_k=depth)
        if not entries:
            raise SystemExit(f"SimpleMem found nothing for {question!r}; see what it printed")
        return [(entry.entry_id, -float(place)) for place, entry in enumerate(entries)]

    def close(self) -> None:
        """LanceDB keeps its own files."""


PEERS: dict[str, tuple[Callable[[Path, Vectors], Any], bool]] = {
    "mem0": (Mem0, True),
    "langmem": (LangMem, False),
    "a-mem": (AMem, True),
    "simplemem": (SimpleMem, True),
}
"""Peer by name, and whether it keeps what it was given on the disk."""


def end_with_parent() -> None:
    """A run that is killed leaves no worker behind that writes where the next run builds anew."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(task_file: str, answer_file: str) -> None:
    """Do one task."""
    end_with_parent()
    task = json.loads(Path(task_file).read_text(encoding="utf-8"))
    make, persists = PEERS[task["peer"]]
    peer = make(Path(task["folder"]), Vectors(task["vectors"]))
    seconds: list[float] = []
    processor: list[float] = []

    def timed(call: Callable[..., Any], *given: Any) -> Any:
        began, burnt = time.perf_counter(), time.process_time()
        result = call(*given)
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - burnt)
        return result

    rankings = []
    if task["do"] == "add" or not persists:
        for _, session in groupby(task["rows"], key=lambda row: (row["user"], row["session"])):
            timed(peer.add, list(session))
    if task["do"] == "search":
        seconds, processor = [], []
        rankings = [timed(peer.search, one["text"], task["depth"], one["user"]) for one in task["questions"]]
    peer.close()
    answer = {"rankings": rankings, "seconds": seconds, "processor_seconds": processor}
    Path(answer_file).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
