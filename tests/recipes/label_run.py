"""A labelling recipe and its corpora, written into a folder, for tests that run the verbs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "data_builders" / "teachers"))

from label_server import TeacherServer  # noqa: F401  (for tests to import from here)

SAYINGS = (
    "I prefer {n} cups of tea",
    "my plan is to fly on day {n}",
    "yesterday I saw {n} birds",
    "many thanks, all {n} of you",
    "I prefer chair {n} to it",
    "a plan for {n} that split them",
)


def write_chats(path: Path, sessions: int, turns: int = 6) -> Path:
    """Sessions of alternating user and assistant turns in the project's JSONL form; two sessions a person."""
    rows = []
    for number in range(sessions):
        name = f"{path.stem}-{number:03d}"
        said = []
        for place in range(turns):
            user = place % 2 == 0
            text = SAYINGS[(number * 3 + place // 2) % len(SAYINGS)].format(n=number * 10 + place)
            text += f" from {path.stem}"
            said.append(
                {
                    "id": f"{name}-{place}",
                    "role": "user" if user else "assistant",
                    "speaker": "ann" if user else "bot",
                    "text": text if user else f"I see, {place} of {name}.",
                    "timestamp": f"2026-01-{number % 28 + 1:02d}T12:00:{place:02d}+00:00",
                }
            )
        rows.append({"session_id": name, "user_id": f"{path.stem}-p{number // 2}", "turns": said})
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def write_recipe(folder: Path, url: str, **changes: Any) -> Path:
    """A recipe of three teachers on two corpora of 60 user turns each, small rows, no check of the weight."""
    for name in ("first", "second"):
        if not (folder / f"{name}.jsonl").exists():
            write_chats(folder / f"{name}.jsonl", 20)
    teacher = {"base_url": url, "backoff_s": 0.01, "usd_per_million_input": 1, "usd_per_million_output": 2}
    document = {
        "recipe": "label",
        "name": "trial",
        "output": str(folder / "runs"),
        "corpora": [{"name": "jsonl", "root": str(folder / f"{name}.jsonl")} for name in ("first", "second")],
        "candidates": {"count": 50},
        "teachers": [{"name": name, "model": name, **teacher} for name in ("a", "b", "odd")],
        "annotation": {"language": "en"},
        "rows": {"count": 20, "validation": 4},
        "expected_weight": None,
        "quality": {"label_noise": False, "resamples": 100},
        "audit": {"per_corpus": 10},
    } | changes
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path
