"""Fingerprints of files: what they depend on, and what not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from engrain.data_builders.content import digest_file, digest_files, digest_tree


def tree(root: Path, **contents: str) -> Path:
    for name, content in contents.items():
        path = root / name / "file.txt"
        path.parent.mkdir(parents=True)
        path.write_text(content)
    return root


def test_content_and_names_count_but_place_order_and_times_do_not(tmp_path: Path) -> None:
    one, other = tree(tmp_path / "one", a="x", b="y"), tree(tmp_path / "other", b="y", a="x")
    os.utime(other / "a" / "file.txt", (1, 1))
    assert digest_tree(one) == digest_tree(other)
    files = sorted(one.rglob("*.txt"))
    assert digest_files(one, files) == digest_files(one, reversed(files))
    assert digest_tree(tree(tmp_path / "swapped", a="y", b="x")) != digest_tree(one)
    assert digest_tree(tree(tmp_path / "renamed", a="x", c="y")) != digest_tree(one)


def test_a_file_is_hashed_whole(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"ab" * 2_000_000)
    assert digest_file(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest_tree(path) == digest_files(tmp_path, [path])
    assert digest_tree(tmp_path / "absent") == digest_files(tmp_path, [])
