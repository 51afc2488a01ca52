"""Opening corpora by name: what each name opens, and what a corpus cannot do is said."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.registry import SOURCES, open_source
from engrain.runtime.errors import InputError

Json = dict[str, Any]
NEEDS_A_ROOT = ("chat", "jsonl", "led", "locomo", "longmemeval", "memora", "msc", "msc-persona", "taskmaster-2")


def test_an_unknown_name_is_met_with_the_nearest_or_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no corpus is called 'esconvs'; did you mean esconv"):
        open_source("esconvs", tmp_path)
    with pytest.raises(InputError, match="the corpora are chat, conversation-chronicles, esconv"):
        open_source("xml", tmp_path)


@pytest.mark.parametrize("name", NEEDS_A_ROOT)
def test_corpora_that_no_hub_has_ask_for_their_place(name: str) -> None:
    with pytest.raises(InputError, match=r"give its (folder|path)"):
        open_source(name)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_wrong_place_is_refused_by_every_reader(name: str, tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InputError):
            list(open_source(name, place).sessions())


def test_memora_is_opened_by_split_or_by_its_folder(
    write_memora: Callable[[str, list[Json]], Path],
    memora_session: Callable[..., Json],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    talk = [("user_agent", "I bought a bike.", True)]
    root = write_memora("weekly", [memora_session(n, who, talk) for n, who in ((1, "cook"), (2, "writer"))])
    folder = root / "memora" / "data" / "weekly"
    monkeypatch.chdir(folder)
    for source in (
        open_source("memora", root, splits=["weekly"]),
        open_source("memora", folder),
        open_source("memora", Path()),
        open_source("memora", folder / ".." / "weekly"),
    ):
        assert [labelled.person for labelled in source.sessions()] == ["cook", "writer"]
    (only,) = open_source("memora", root, splits=["weekly"], people=["writer"], zone="Asia/Tokyo").sessions()
    assert only.person == "writer" and str(only.session.started_at.tzinfo) == "Asia/Tokyo"
    with pytest.raises(InputError, match="one split at a time"):
        open_source("memora", root, splits=["weekly", "monthly"])


def test_people_are_chosen_from_any_corpus(write_jsonl: Callable[..., Path]) -> None:
    rows = [{"id": name, "messages": [{"role": "user", "content": "hi"}]} for name in ("a", "b")]
    path = write_jsonl(*rows)
    (only,) = open_source("chat", path, people=["chat/file/b"]).sessions()
    assert only.session.id == "chat/file/b"
    with pytest.raises(InputError, match="nobody of that name in chat: zoe; it has chat/file/a, chat/file/b"):
        list(open_source("chat", path, people=["zoe"]).sessions())
    assert open_source("chat", path, people=["zoe"]).info.name == "chat"


def test_what_a_corpus_cannot_do_is_refused(write_jsonl: Callable[..., Path]) -> None:
    path = write_jsonl({"messages": []})
    for name in ("jsonl", "locomo"):
        with pytest.raises(InputError, match=f"{name} has no splits"):
            open_source(name, path, splits=["train"])
    with pytest.raises(InputError, match="is not a time zone"):
        open_source("chat", path, zone="Mars")


def test_a_dateless_corpus_takes_the_stated_zone(write_jsonl: Callable[..., Path]) -> None:
    path = write_jsonl({"messages": [{"role": "user", "content": "hi", "timestamp": "2024-07-01 09:00"}]})
    (only,) = open_source("chat", path, zone="Europe/Oslo").sessions()
    assert only.session.started_at.isoformat() == "2024-07-01T09:00:00+02:00"


def test_opening_and_reading_files_imports_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}]}))
    code = f"""
import sys
from pathlib import Path
from engrain.data_builders.sources.registry import open_source
print(len(list(open_source("chat", Path({str(path)!r})).sessions())))
print([name for name in ("datasets", "torch", "transformers", "pyarrow", "pandas") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["1", "[]"]
