"""mem0 in its offline mode, timed by itself: run by `store_speed_mem0` with the Python that has mem0 installed.

    python peer_mem0.py MATERIAL_JSON

Reads conversations with their vectors, adds every session with `infer=False` and asks every question; vectors are
looked up, no model runs. Prints seconds a turn, seconds a search (by the clock, and of processor time) and, by
question, the texts found, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

TOP_K = 20


def main(path: Path) -> None:
    """Time adds and searches; one line of JSON on the standard output."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["OPENAI_API_KEY"] = "unused"  # a client is made, never asked
    from mem0 import Memory

    material = json.loads(path.read_text(encoding="utf-8"))
    # mem0 strips white space from what it embeds.
    vectors = {" ".join(text.split()): vector for text, vector in material["vectors"].items()}
    with tempfile.TemporaryDirectory() as folder:
        store = {"collection_name": "peer", "embedding_model_dims": material["dimension"], "path": f"{folder}/vectors"}
        memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store | {"on_disk": True}},
                "history_db_path": f"{folder}/history.db",
            }
        )
        memory.embedding_model.embed = lambda text, memory_action=None: vectors[" ".join(text.split())]
        adds, searches, processor, found = [], [], [], []
        for session in material["sessions"]:
            messages = [{"role": "user", "content": text} for text in session["texts"]]
            began = time.perf_counter()
            memory.add(messages, user_id=session["user_id"], infer=False)
            adds.append((time.perf_counter() - began) / len(messages))
        for question in material["questions"]:
            began, burnt = time.perf_counter(), time.process_time()
            answer = memory.search(
                question["text"], filters={"user_id": question["user_id"]}, top_k=TOP_K, threshold=0.0
            )
            searches.append(time.perf_counter() - began)
            processor.append(time.process_time() - burnt)
            found.append([hit["memory"] for hit in answer["results"]])
    sys.stdout.write(
        json.dumps({"adds": adds, "searches": searches, "searches_processor": processor, "found": found}) + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
