"""The shared reader: files of splits, ids, roles, times, what is counted; and the reader shown in CONTRIBUTING.md."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources.hub import Hub
from engrain.data_builders.sources.reader import START, Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.data_builders.sources.splits import below
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role
from engrain.runtime.timestamps import parse_zone

Json = dict[str, Any]
ROOT = Path(__file__).parents[3]


class NotesSource(DialogueSource):
    """A corpus made for these tests: `id` and `lines`, each a speaker, a text and perhaps a note or time."""

    corpus = Corpus(
        name="notes",
        licence="CC0",
        citation="nobody",
        home="nowhere",
        roles={"A": Role.USER, "B": Role.ASSISTANT},
        files={split: (*below(f"deep/{split}.jsonl"), f"{split}.jsonl") for split in ("train", "valid", "test")},
        defaults=(("train", "valid"), ("test",)),
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The row's dialogue."""
        fields = row.fields("the notes", "id", "lines")
        lines = [
            Line(line["speaker"], line["text"], line.get("note", ""), timestamp=line.get("time"))
            for line in row.entries("the notes", "lines", "speaker", "text")
        ]
        yield Dialogue(fields["id"], lines, after=timedelta(days=row.index), annotated=True)


def row(name: str, *lines: Json) -> Json:
    return {"id": name, "lines": list(lines) or [said("A", "hello", note="a greeting"), said("B", "hi")]}


def said(speaker: str, text: Any, **more: Any) -> Json:
    return {"speaker": speaker, "text": text, **more}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(name: str, *rows: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(json.dumps(one) for one in rows), encoding="utf-8")
        return tmp_path

    return written


def test_ids_roles_times_and_notes(write: Callable[..., Path]) -> None:
    root = write("train.jsonl", row("x"), row("y"))
    source = NotesSource(root)
    first, second = source.sessions()
    assert [turn.id for turn in first.session.turns] == ["notes/train/x/t01", "notes/train/x/t02"]
    assert [turn.role for turn in first.session.turns] == [Role.USER, Role.ASSISTANT]
    assert [turn.speaker for turn in first.session.turns] == ["A", "B"]
    assert first.session.turns[1].timestamp - first.session.turns[0].timestamp == timedelta(milliseconds=500)
    assert (first.session.started_at, second.session.started_at) == (START, START + timedelta(days=1))
    assert first.person == "notes/train/x" and not first.labels
    assert first.metadata == {"split": "train", "notes": {"notes/train/x/t01": "a greeting"}}
    assert (source.info.dates, source.info.time_zone) == ("assigned", "UTC")


def test_a_stated_zone_and_role_map_are_used(write: Callable[..., Path]) -> None:
    zone = parse_zone("Asia/Tokyo")
    root = write("train.jsonl", row("x"))
    source = NotesSource(root, start=START.replace(tzinfo=zone), roles={"*": Role.USER})
    (only,) = source.sessions()
    assert only.session.started_at.utcoffset() == timedelta(hours=9)
    assert {turn.role for turn in only.session.turns} == {Role.USER}
    assert source.info.time_zone == "Asia/Tokyo" and source.info.roles == {"*": Role.USER}


def test_times_of_the_corpus_are_kept(write: Callable[..., Path]) -> None:
    lines = (said("A", "one", time="2024-05-01T10:00:00+02:00"), said("B", "two", time=1714550400.5))
    (only,) = NotesSource(write("train.jsonl", row("x", *lines))).sessions()
    assert only.session.started_at == datetime(2024, 5, 1, 8, 0, tzinfo=UTC)
    assert only.session.turns[1].timestamp == datetime.fromtimestamp(1714550400.5, UTC)


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ((said("C", "x"),), "the speaker 'C' is unknown; the role map has A, B"),
        ((said("A", 5),), "turn 1: expected its text to be a string, found 5"),
        ((said("A", None),), "turn 1: expected its text to be a string, found None"),
        ((said("A", "x", time="2024-05-01"), said("B", "y")), "1 of 2 turns have a timestamp"),
        ((said("A", "x", time="soon"),), "'soon' is not a timestamp"),
        ((said("A", "x", time=1e300),), r"line 2"),
        (("A: hi",), "lines 1: not the notes's layout; expected an object with speaker, text; found a string"),
        (({"speaker": "A"},), "lines 1: .*expected an object with speaker, text; found speaker"),
    ],
)
def test_a_bad_row_names_file_line_and_good_rows(write: Callable[..., Path], lines: Any, fault: str) -> None:
    root = write("train.jsonl", row("x"), {"id": "y", "lines": list(lines)})
    sessions = NotesSource(root).sessions()
    assert next(sessions).session.id == "notes/train/x"
    with pytest.raises(InputError, match=fault) as caught:
        next(sessions)
    assert f"{root / 'train.jsonl'}, line 2: " in str(caught.value)
    assert str(caught.value).endswith("the 1 row before it is good")


@pytest.mark.parametrize("bad", [[], "text", 5, None, {}, {"id": "x"}, {"id": "x", "lines": "y"}])
def test_rows_of_another_kind_are_refused(write: Callable[..., Path], bad: Any) -> None:
    root = write("train.jsonl", row("x"), bad)
    with pytest.raises(InputError, match=r"train\.jsonl, line 2: not the notes's layout"):
        list(NotesSource(root).sessions())


def test_what_is_left_out_is_counted(write: Callable[..., Path]) -> None:
    root = write(
        "train.jsonl",
        row("x", said("A", " \n"), said("B", " hi\t")),
        row("x"),
        row("y", said("A", "\u200b\ufeff"), said("B", "\x00\u00a0"), said("A", "")),
        row("x"),
    )
    source = NotesSource(root)
    sessions = list(source.sessions())
    assert [labelled.session.id for labelled in sessions] == ["notes/train/x", "notes/train/x#2", "notes/train/x#3"]
    assert [(turn.id, turn.text) for turn in sessions[0].session.turns] == [("notes/train/x/t02", "hi")]
    assert source.counts == {"empty_turns": 4, "empty_sessions": 1, "repeated_ids": 2}
    list(source.sessions())
    assert source.counts["empty_turns"] == 4, "a second reading starts to count anew"


def test_splits_are_found_chosen_and_missed_with_a_name(write: Callable[..., Path], tmp_path: Path) -> None:
    root = write("some/where/deep/train.jsonl", row("a"))
    write("valid.jsonl", row("b"))
    write("test.jsonl", row("c"))
    assert NotesSource(root).splits == ("train", "valid")
    assert NotesSource(root, splits=("test", "train")).splits == ("test", "train")
    (root / "valid.jsonl").unlink()
    assert NotesSource(root).splits == ("train",)
    with pytest.raises(InputError, match=r"needs valid: deep/valid.jsonl or valid.jsonl; found splits train, test"):
        NotesSource(root, splits=("train", "valid"))
    allowed = NotesSource(root, splits=("train", "valid"), allow_missing=("valid",))
    assert (allowed.splits, allowed.missing_splits) == (("train",), ("valid",))
    with pytest.raises(InputError, match="has no split dev; it has train, valid, test"):
        NotesSource(root, splits=("dev",))
    with pytest.raises(InputError, match="has no split dev"):
        NotesSource(root, allow_missing=("dev",))
    with pytest.raises(InputError, match="is no folder"):
        NotesSource(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder" / "test.jsonl").mkdir(parents=True)
    with pytest.raises(InputError, match=r"found test\.jsonl"):
        NotesSource(tmp_path / "folder")
    with pytest.raises(InputError, match="found an empty folder"):
        NotesSource(tmp_path / "empty", allow_missing=("train", "valid", "test"))
    (only,) = NotesSource(root / "test.jsonl").sessions()
    assert only.session.id == "notes/file/c"


def test_the_reader_shown_to_contributors_works(write: Callable[..., Path]) -> None:
    code = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    assert len(code.splitlines()) <= 40
    names: dict[str, Any] = {"__name__": "forum"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)
    posts = [{"by": "asker", "body": "I live in Turku, where do I swim?"}, {"by": "kim", "body": "At Samppalinna."}]
    root = write("threads_train.jsonl", {"thread": 7, "posts": posts})
    (only,) = names["ForumSource"](root).sessions()
    assert [(turn.role, turn.speaker) for turn in only.session.turns] == [
        (Role.USER, "asker"),
        (Role.ASSISTANT, "kim"),
    ]
    write("threads_train.jsonl", {"thread": 7, "posts": [{"by": "asker"}]})
    with pytest.raises(
        InputError, match=r"posts 1: not the forum's layout; expected an object with by, body; found by"
    ):
        list(names["ForumSource"](root).sessions())


class HubSource(NotesSource):
    """The same corpus on a hub; a folder stands for it, which `load_dataset` reads as it does a hub's."""

    hub_folder = ""

    @classmethod
    def at(cls, folder: Path, column: str = "") -> HubSource:
        """The corpus with `folder` for its hub name."""
        hub = Hub(str(folder), {"train": "train", "valid": "validation"}, column)
        made = type("Here", (cls,), {"corpus": Corpus(**{**vars(NotesSource.corpus), "hub": hub})})
        return made(None)  # type: ignore[no-any-return]


def test_a_hub_is_read_through_datasets(write: Callable[..., Path]) -> None:
    root = write("train.jsonl", row("x"), row("y"))
    write("validation.jsonl", row("z"))
    source = HubSource.at(root)
    assert [labelled.session.id for labelled in source.sessions()] == [
        "notes/train/x",
        "notes/train/y",
        "notes/valid/z",
    ]


def test_a_hub_that_keeps_rows_as_text_is_read(write: Callable[..., Path]) -> None:
    root = write("train.txt", row("x"), row("y"))
    write("validation.txt", row("z"))
    sessions = list(HubSource.at(root, "text").sessions())
    assert [labelled.session.turns[0].text for labelled in sessions] == ["hello"] * 3


def test_hub_faults_name_the_row_or_the_way_out(write: Callable[..., Path], tmp_path: Path) -> None:
    root = write("train.jsonl", row("x"), row("y", said("C", "hi")))
    with pytest.raises(InputError, match=r"split train, row 2: .*'C' is unknown"):
        list(HubSource.at(root).sessions())
    with pytest.raises(InputError, match=r"split train cannot be read from a hub .* from nowhere and give its folder"):
        list(HubSource.at(tmp_path / "nothing").sessions())
    with pytest.raises(InputError, match="notes is on no hub in its authors' layout"):
        NotesSource(None)
