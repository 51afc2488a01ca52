"""The benchmark of a whole build, on a Memora of two personas: every turn is a row, the second build is read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engrain.recipes.benchmarks.corpus_build import run
from engrain.runtime.errors import InputError

TALK = (
    ("user_agent", "Hello there, how are you doing today?", False),
    ("ai_agent", "Very well, thank you.", False),
    ("user_agent", "I moved to a flat in {} number {} because my job changed.", True),
    ("ai_agent", "Noted.", False),
    ("user_agent", "Could you tell me what the weather in {} will be on day {}?", False),
)


def write_split(root: Path, split: str, sessions: int) -> None:
    """Sessions of two personas in Memora's layout."""
    for persona in ("cook", "pilot"):
        folder = root / "data" / split / persona / "conversations"
        folder.mkdir(parents=True)
        for number in range(sessions):
            conversation = [
                {"turn": turn, "speaker": speaker, "message": text.format(persona, number), "share_memory": share}
                for turn, (speaker, text, share) in enumerate(TALK, start=1)
            ]
            session = {"session_id": number, "date": "2025-06-01", "persona": persona, "conversation": conversation}
            (folder / f"session_{number:04d}.json").write_text(json.dumps(session), encoding="utf-8")


def test_a_whole_build_and_its_cache(tmp_path: Path) -> None:
    write_split(tmp_path, "weekly", 1)
    write_split(tmp_path, "quarterly", 60)
    found = run(tmp_path, validation=30)
    assert found["rows"] == 2 * 60 * 3
    assert (found["first"]["cached"], found["second"]["cached"]) == (False, True)
    assert found["first"]["peak_mb"] > 20 and found["first"]["cpu_seconds"] > 0


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Memora weekly"):
        run(tmp_path)
