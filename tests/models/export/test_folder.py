"""A bundle folder appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from engrain.models.export.folder import whole_folder
from engrain.runtime.errors import InputError


def write(out: Path, text: str, *, fail: bool = False) -> None:
    with whole_folder(out) as folder:
        (folder / "bundle.json").write_text(text)
        if fail:
            raise KeyboardInterrupt


def test_the_folder_is_there_after_a_good_end_only(tmp_path: Path) -> None:
    out = tmp_path / "below" / "bundle"
    with pytest.raises(KeyboardInterrupt):
        write(out, "half", fail=True)
    assert list(out.parent.iterdir()) == []
    write(out, "whole")
    assert [path.name for path in out.parent.iterdir()] == ["bundle"]


def test_an_earlier_bundle_is_replaced_at_the_very_end(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    write(out, "first")
    with pytest.raises(KeyboardInterrupt):
        write(out, "second", fail=True)
    assert (out / "bundle.json").read_text() == "first"
    write(out, "third")
    assert (out / "bundle.json").read_text() == "third"
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_what_is_no_bundle_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(InputError, match="not a bundle"):
        write(tmp_path / "notes", "x")
    (tmp_path / "empty").mkdir()
    with whole_folder(tmp_path / "empty") as folder:
        (folder / "bundle.json").write_text("x")
    assert (tmp_path / "empty" / "bundle.json").is_file()
