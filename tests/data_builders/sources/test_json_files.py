"""Rows of JSONL files and JSON lists: what is read, and every fault with its place."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from engrain.data_builders.sources import json_files
from engrain.data_builders.sources.json_files import json_rows, read_rows
from engrain.data_builders.sources.rows import parse_json
from engrain.runtime.errors import InputError

GOOD = b'{"a": 1}'
DEEP = b"[" * 200_000


def written(tmp_path: Path, data: bytes, name: str = "rows.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def values(path: Path) -> list[Any]:
    return [row.value for row in json_rows(path)]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1}\n{"b": 2}\n',
        b'{"a": 1}\r\n\r\n{"b": 2}',
        b'\xef\xbb\xbf{"a": 1}\n{"b": 2}',
        b'\xef\xbb\xbf\n{"a": 1}\n{"b": 2}',
        b'[{"a": 1}, {"b": 2}]',
        b'\xef\xbb\xbf \r\n[\r\n{"a":\r\n1},\r\n{"b": 2}\r\n]\r\n',
    ],
)
def test_lines_and_lists_with_marks_and_blanks_give_the_same_rows(tmp_path: Path, data: bytes) -> None:
    assert values(written(tmp_path, data)) == [{"a": 1}, {"b": 2}]


def test_line_separators_inside_a_string_do_not_end_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\u200d🏳️‍🌈"
    path = written(tmp_path, (json.dumps({"t": text}, ensure_ascii=False) + "\n").encode() + GOOD)
    assert values(path) == [{"t": text}, {"a": 1}]


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (b'{"a": ', r"not valid JSON .*; it is the last line and seems cut off"),
        (b'{"a": "\xff"}', r"not valid UTF-8"),
        (b'{"a": "\\ud83d"}', r"lacks its other half"),
        (DEEP, r"nested too deeply"),
        (b"1" * 5000, r"not valid JSON \(Exceeds the limit"),
        ('{"a": 1}'.encode("utf-16"), r"not valid UTF-8"),
        (b"\x00\x00", r"not valid JSON"),
    ],
    ids=["cut", "utf8", "surrogate", "deep", "digits", "utf16", "nul"],
)
def test_a_bad_line_names_file_line_and_good_rows(tmp_path: Path, bad: bytes, fault: str) -> None:
    path = written(tmp_path, GOOD + b"\n\n" + GOOD + b"\n" + bad)
    with pytest.raises(InputError, match=fault) as caught:
        values(path)
    assert str(caught.value).startswith(f"{path}, line 4: ")
    assert str(caught.value).endswith("the 2 rows before it are good")


@pytest.mark.parametrize(
    ("bad", "line", "fault"),
    [
        (b'{"a": ', 3, "cut off"),
        (b'{"a": "half', 3, "cut off"),
        (b'{"a": 1}', 3, "cut off"),
        (b'{"a": 1},', 3, "cut off"),
        (b'{\n"a":\n oops}]', 3, "Expecting value, in line 5"),
        (b'{"a": "\\udc00"}]', 3, "lacks its other half"),
        (DEEP, 3, "nested too deeply"),
        (b"1" * 5000 + b"]", 3, "Exceeds the limit"),
        (b'{"a": 1} {"a": 1}]', 3, "expected ',', found '{'"),
        (b'{"a": 1}]\n{"a": 1}', 4, "more text after the end of the list"),
        (b'{"a": "\xff"}]', 1, "not valid UTF-8"),
    ],
)
def test_a_bad_item_names_file_and_line(tmp_path: Path, bad: bytes, line: int, fault: str) -> None:
    path = written(tmp_path, b'[\n{"a": 1},\n' + bad, "rows.json")
    with pytest.raises(InputError) as caught:
        values(path)
    assert fault in str(caught.value)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


def test_only_a_line_that_ends_early_is_said_to_be_cut(tmp_path: Path) -> None:
    for data in (DEEP, b'{"a": 1}\r{"a": 2}\r', b'{"a": "\\ud83d"}', b"{'a': 1}"):
        with pytest.raises(InputError, match="line 1: not valid JSON") as caught:
            values(written(tmp_path, data))
        assert "cut off" not in str(caught.value)
    for data in (b'{"a": 1', b'{"a": "x', b'{"a":', b"{"):
        with pytest.raises(InputError, match="seems cut off"):
            values(written(tmp_path, data))


def test_whole_characters_written_as_escapes_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"a": "\\ud83d\\ude00 \\\\ud83d"}\n[{"a": "\\ud83d\\ude00"}]')
    assert values(path) == [{"a": "😀 \\ud83d"}, [{"a": "😀"}]]
    assert parse_json(b'\xef\xbb\xbf["\\ud83d\\ude00"]') == ["😀"]


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.jsonl is missing"):
        values(tmp_path / "nothing.jsonl")
    for data in (b"", b"\xef\xbb\xbf", b"\n \r\n", b"[]", b" [ ] \n"):
        with pytest.raises(InputError, match="has no rows"):
            values(written(tmp_path, data))


def test_rows_longer_than_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MAX_ROW", 2**20)
    monkeypatch.setattr(json_files, "_CHUNK", 2**16)
    long = b'{"a": "' + b"x" * 2**22 + b'"}'
    with pytest.raises(InputError, match=r"line 2: the line is longer than 1 MiB.*the 1 row before it is good"):
        values(written(tmp_path, GOOD + b"\n" + long + b"\n"))
    with pytest.raises(InputError, match=r"line 2: the item is longer than 1 MiB.*the 1 row before it is good"):
        values(written(tmp_path, b"[" + GOOD + b",\n" + long + b"]"))


@pytest.mark.parametrize("form", ["lines", "list"])
def test_memory_holds_a_row_and_not_the_file(tmp_path: Path, form: str) -> None:
    row = json.dumps({"text": "x" * 20_000})
    text = "\n".join([row] * 2000) if form == "lines" else "[" + ",\n".join([row] * 2000) + "]"
    path = written(tmp_path, text.encode())
    tracemalloc.start()
    try:
        assert sum(1 for _ in json_rows(path)) == 2000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 40_000_000 and peak < 12_000_000


def test_items_that_cross_the_window_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [{"n": n, "t": "é😀" * (n % 37)} for n in range(300)] + [12345678901234567890, "text", None]
    path = written(tmp_path, json.dumps(items, ensure_ascii=False, indent=1).encode(), "rows.json")
    for chunk in (1, 7, 64):
        monkeypatch.setattr(json_files, "_CHUNK", chunk)
        assert values(path) == items
        places = [row.place for row in json_rows(path)]
        assert places[0].endswith("line 2") and places[1].endswith("line 6")


def test_what_build_refuses_gets_its_place(tmp_path: Path) -> None:
    def build(value: Any) -> int:
        if "b" in value:
            raise InputError("no b here")
        return int(value["a"])

    built = read_rows(written(tmp_path, GOOD + b'\n{"b": 2}'), build)
    assert next(built) == 1
    with pytest.raises(InputError, match=r"line 2: no b here; the 1 row before it is good"):
        next(built)
