"""The files of the Batch API: one JSON line a request on the way in, one a result on the way out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from engrain.runtime.llm.chat import ChatAnswer
from engrain.runtime.llm.claims import Account
from engrain.runtime.llm.ledger import Attempt
from engrain.runtime.llm.service import MESSAGE_CHARACTERS, RAW_CHARACTERS, UNREADABLE, Trouble, completion_from

COMPLETIONS_URL = "/v1/chat/completions"


@dataclass(slots=True)
class Draft:
    """An input file being written. Nothing is sent and nothing is in the ledger before `finish`."""

    batch: str
    path: Path
    items: list[tuple[str, Account]] = field(default_factory=list)
    size: int = 0
    reserved: Decimal = Decimal(0)
    _stream: IO[bytes] | None = None

    def add(self, request_hash: str, account: Account, line: bytes, price: Decimal) -> None:
        """Append a line of `input_line`."""
        if self._stream is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self.path.open("wb")
        self._stream.write(line)
        self.items.append((request_hash, account))
        self.size += len(line)
        self.reserved += price

    def finish(self) -> None:
        """Sync the file to the disk."""
        assert self._stream is not None
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()

    def discard(self) -> None:
        """Remove an unfinished file."""
        if self._stream is not None:
            self._stream.close()
            self.path.unlink(missing_ok=True)


def input_line(request_hash: str, body: Mapping[str, Any]) -> bytes:
    """One request; its hash is the custom id that the result comes back with."""
    line = {"custom_id": request_hash, "method": "POST", "url": COMPLETIONS_URL, "body": body}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def save(path: Path, content: bytes) -> None:
    """Write a downloaded file and sync it, before anything in it is parsed."""
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def results(path: Path, model: str) -> Iterator[tuple[str | None, ChatAnswer | Attempt]]:
    """Each line's request hash (None when it cannot be read) with its answer or its failure."""
    with path.open("rb") as stream:
        for line in stream:
            if line.strip():
                yield _result(line.decode("utf-8", "replace"), model)


def _result(line: str, model: str) -> tuple[str | None, ChatAnswer | Attempt]:
    request_hash = None
    try:
        document = json.loads(line)
        request_hash = str(document["custom_id"])
        response = document.get("response") or {}
        status = response.get("status_code", 0)
        if document.get("error") or status != 200:
            reason = document.get("error") or (response.get("body") or {}).get("error") or {}
            message = str(reason.get("message") or reason.get("code") or "no reason given")
            outcome = Trouble.SERVER if status >= 500 else Trouble.REFUSED
            return request_hash, Attempt(outcome.value, f"HTTP {status}: {message}"[:MESSAGE_CHARACTERS])
        return request_hash, completion_from(response["body"], {"model": model, "messages": []}, 0.0)
    except UNREADABLE as error:
        said = f"the line is not a batch result ({type(error).__name__})"
        return request_hash, Attempt(Trouble.MALFORMED.value, said, line[:RAW_CHARACTERS])
