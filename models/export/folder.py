"""A bundle folder that appears whole or not at all."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engrain.runtime.bundle import MANIFEST
from engrain.runtime.errors import InputError


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Give a temporary folder beside `out`; rename it to `out` when the block ends well, remove it when it does not.

    An earlier bundle at `out` is replaced, at the very end; anything else there is refused with `InputError`.
    """
    if out.exists() and not (out / MANIFEST).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists and is not a bundle; name another folder, or remove it")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}.part")
    part.mkdir()
    try:
        yield part
        _swap(part, out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _swap(part: Path, out: Path) -> None:
    if not out.exists():
        part.rename(out)
        return
    old = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}.old")
    out.rename(old)
    try:
        part.rename(out)
    except BaseException:
        old.rename(out)
        raise
    shutil.rmtree(old)
