"""Fingerprints of what a build reads, so that a second build with the same inputs can say that nothing changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

_CHUNK = 1 << 20


def digest_files(root: Path, files: Iterable[Path]) -> str:
    """SHA-256 over names below `root` and contents, whatever the order, times or place of the files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        for part in (path.relative_to(root).as_posix().encode(), digest_file(path).encode()):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def digest_tree(root: Path) -> str:
    """SHA-256 over a file, or over every file of a folder; a missing one is a digest of nothing."""
    files = [root] if root.is_file() else [path for path in root.rglob("*") if path.is_file()]
    return digest_files(root if root.is_dir() else root.parent, files)


def digest_file(path: Path) -> str:
    """SHA-256 of one file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
