"""A memory file from outside: what it is, before SQLite touches it, and what SQLite's errors mean for a person."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from engrain.runtime.errors import StoreError

APPLICATION_ID = 0x456E6772
"""'Engr' in ASCII, bytes 68-71 of the file's header: tells a memory file from any other SQLite file."""

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_PASSWORD = re.compile(r"(//[^/?:]*):[^/?]*@")


def is_address(path: str | Path) -> bool:
    """Whether a store is a PostgreSQL database, not a file."""
    return str(path).startswith(("postgresql://", "postgres://"))


def named(store: str | Path) -> str:
    """A store as it may be shown: the password of an address is left out."""
    return _PASSWORD.sub(r"\1:***@", str(store)) if is_address(store) else str(store)


def check_file(path: Path) -> None:
    """Refuse what cannot become or be a memory file, before SQLite creates or writes anything."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it, as in {path / 'memory.db'}")
    if not path.parent.is_dir():
        raise StoreError(f"{path.parent} does not exist; create the folder first")
    if not path.exists():
        if not os.access(path.parent, os.W_OK):
            raise StoreError(f"{path.parent} is not writable; choose another folder")
        return
    if not path.is_file():
        raise StoreError(f"{path} is not a regular file; give another path")
    check_header(path)
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise StoreError(f"{path} is read-only; make the file and its folder writable")


def check_header(path: Path) -> None:
    """Raises `StoreError` for a file that is no SQLite database, belongs to another program or is truncated."""
    with path.open("rb") as stream:
        header = stream.read(_HEADER_BYTES)
    if not header:
        return
    if not header.startswith(_MAGIC[: len(header)]):
        raise StoreError(f"{path} is not a memory file (it does not start as a SQLite database); give another path")
    if _has_log(path):
        # Pages, the identity among them, may still be in the log; SQLite checks them.
        _check_owner_through_log(path)
        return
    owner = int.from_bytes(header[68:72], "big")
    page_size = int.from_bytes(header[16:18], "big")
    # Bytes 16-17 hold the page size (1 stands for 65536), 28-31 the number of pages of the last checkpoint.
    pages, size = int.from_bytes(header[28:32], "big"), path.stat().st_size
    expected = pages * (65536 if page_size == 1 else page_size)
    if len(header) < _HEADER_BYTES or size < expected:
        raise StoreError(f"{path} is truncated: {size} bytes of {expected}; restore a copy")
    if owner != APPLICATION_ID and (owner or pages > 1):
        raise StoreError(f"{path} is a SQLite file of another program; give another path")


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write, and creates nothing beside the file when it has no log."""
    mode = "mode=ro" if _has_log(path) else "mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, isolation_level=None)
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StoreError(explain(error, path)) from error


def explain(error: sqlite3.Error, path: Path, wait_s: float = 0.0) -> str:
    """What SQLite's error means and what to do about it."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"{path} is locked: another program wrote to it for over {wait_s:g} s; try again when it is done"
    if "readonly" in text:
        return f"{path} is read-only; make the file and its folder writable"
    if "not a database" in text:
        return f"{path} is not a memory file; give another path"
    if "disk I/O" in text:
        # Not damage: a limit on file sizes, a failing disk, a share that went away. The write was rolled back.
        return (
            f"{path} could not be read or written ({text}); check the disk and limits on file sizes (`ulimit -f`); "
            f"`engrain doctor --store {path}` says whether the file is sound"
        )
    if "malformed" in text:
        return f"{path} is damaged ({text}); restore a copy, or rescue it with `sqlite3 FILE .recover`"
    if "full" in text:
        return f"{path}: the disk is full; nothing of this write was kept"
    return f"{path}: {text}"


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _check_owner_through_log(path: Path) -> None:
    with read_only(path) as connection:
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if owner != APPLICATION_ID and (owner or tables):
        raise StoreError(f"{path} is a SQLite file of another program; give another path")
