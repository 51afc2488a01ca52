"""Small corpora in the published layouts, written into a temporary folder, and the real data where it is present."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]


@pytest.fixture
def real_data() -> Path:
    """The unpacked research data, named by ENGRAIN_DATA."""
    folder = os.environ.get("ENGRAIN_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ENGRAIN_DATA does not name a folder with the unpacked research data")
    return Path(folder)


@pytest.fixture
def write_jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Write rows (objects, or text as it is) as a JSONL file."""

    def write(*rows: Json | str, name: str = "sessions.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
        return path

    return write


def _memora_session(number: int, persona: str, messages: list[tuple[str, str, bool]], day: str = "2025-06-01") -> Json:
    """One session in Memora's layout; `messages` are speaker, text and share_memory."""
    return {
        "session_id": number,
        "session_type": "activity",
        "operation": "add",
        "operation_details": {},
        "date": day,
        "persona": persona,
        "conversation": [
            {"turn": turn, "speaker": speaker, "message": message, "share_memory": share}
            for turn, (speaker, message, share) in enumerate(messages, start=1)
        ],
    }


@pytest.fixture
def memora_session() -> Callable[..., Json]:
    """Make one session in Memora's layout."""
    return _memora_session


@pytest.fixture
def write_memora(tmp_path: Path) -> Callable[[str, list[Json]], Path]:
    """Write sessions of one split below a root, which is returned."""

    def write(split: str, sessions: list[Json]) -> Path:
        for session in sessions:
            folder = tmp_path / "memora" / "data" / split / session["persona"] / "conversations"
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"session_{session['session_id']:04d}.json"
            path.write_text(json.dumps(session), encoding="utf-8")
        return tmp_path

    return write
