"""Reading a model's answer: tolerant of what stands around the JSON, strict about every record in it.

Finding the JSON forgives think blocks, code fences, prose, a bare list, a single record and several documents. Each
record is then either valid (`validation.py`) or rejected with a reason; no part of an answer disappears uncounted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engrain.runtime.extraction.validation import RejectReason, validate_record
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import ExtractedRecord


@dataclass(frozen=True)
class Reject:
    """A piece of an answer that gave no record: why, and the piece as the model wrote it."""

    reason: RejectReason
    raw: str


@dataclass(frozen=True)
class ParseResult:
    """What an answer holds.

    `valid_json`: a complete list of memories was found, alone or under its key, whatever stood around it.
    `truncated`: the answer ends inside JSON or a think block; the records that were complete are still returned.
    """

    records: tuple[ExtractedRecord, ...]
    rejects: tuple[Reject, ...]
    valid_json: bool
    truncated: bool


_LIST_KEYS = ("memories", "memory", "records")
_THINK = re.compile(r"<think>.*?</think>", re.DOTALL)
_MAX_FAILED_STARTS = 256
"""Opening brackets that may fail to decode before the search stops: bounds the time on hostile answers."""


def parse_records(text: str, window: Window) -> ParseResult:
    """The records that `text`, a model's answer for `window`, holds, and everything in it that gave none."""
    answer, unfinished_thought = _without_thoughts(text)
    pieces = list(_pieces(answer))
    valid_json = any(piece.is_document for piece in pieces)
    truncated = unfinished_thought or (not valid_json and _ends_inside_json(answer))
    records, rejects = _validate_all([item for piece in pieces for item in piece.items], window)
    unread = answer[max((piece.end for piece in pieces if piece.items), default=0) :].strip()
    if truncated:
        rejects.append(Reject(RejectReason.TRUNCATED, unread))
    elif not valid_json and (unread or not records):
        rejects.append(Reject(RejectReason.NO_JSON, unread))
    return ParseResult(tuple(records), tuple(rejects), valid_json, truncated)


@dataclass(frozen=True)
class _Piece:
    """Candidate records found in one JSON value; `is_document` when the value has the shape that was asked for."""

    items: list[Any]
    is_document: bool
    end: int


def _without_thoughts(text: str) -> tuple[str, bool]:
    """The answer without think blocks, and whether one was left open."""
    text = _THINK.sub("", text)
    if "</think>" in text:  # The opening tag was part of the prompt.
        text = text.rpartition("</think>")[2]
    before, opened, _ = text.partition("<think>")
    return (before, True) if opened else (text, False)


def _pieces(text: str) -> Iterator[_Piece]:
    """Every outermost object or list in `text` that decodes and holds memories.

    Where an outer value is cut off or broken, the complete values inside it are found instead.
    """
    decoder = json.JSONDecoder(strict=False)  # Small models put raw line breaks into strings.
    position, failed = 0, 0
    while failed < _MAX_FAILED_STARTS and (start := _next_bracket(text, position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position, failed = start + 1, failed + 1
            continue
        items = _candidates(value)
        if items is not None:
            # After a failed bracket a list may be the inside of a broken document.
            is_document = not _looks_like_record(value) and (isinstance(value, dict) or failed == 0)
            yield _Piece(items, is_document, position)


def _next_bracket(text: str, position: int) -> int:
    found = [at for at in (text.find("{", position), text.find("[", position)) if at >= 0]
    return min(found, default=-1)


def _candidates(value: Any) -> list[Any] | None:
    """What may be records in a decoded value: a document's list, a bare list of objects, a single record."""
    if isinstance(value, dict):
        for key in _LIST_KEYS:
            if isinstance(value.get(key), list):
                return list(value[key])
        return [value] if _looks_like_record(value) else None
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else None


def _looks_like_record(value: Any) -> bool:
    return isinstance(value, dict) and "content" in value


def _ends_inside_json(text: str) -> bool:
    """Whether brackets or a string are still open at the end, counted from the first bracket on."""
    start = _next_bracket(text, 0)
    if start < 0:
        return False
    depth, in_string, escaped = 0, False, False
    for character in text[start:]:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            else:
                in_string = character != '"'
        elif character == '"':
            in_string = depth > 0
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth = max(0, depth - 1)
    return depth > 0


def _validate_all(items: list[Any], window: Window) -> tuple[list[ExtractedRecord], list[Reject]]:
    records: list[ExtractedRecord] = []
    rejects: list[Reject] = []
    seen: set[tuple[int, str]] = set()
    for item in items:
        result = validate_record(item, window)
        if isinstance(result, RejectReason):
            rejects.append(Reject(result, _as_text(item)))
            continue
        identity = (result.source_id, " ".join(result.content.casefold().split()))
        if identity in seen:
            rejects.append(Reject(RejectReason.REPEATED, _as_text(item)))
            continue
        seen.add(identity)
        records.append(result)
    return records, rejects


def _as_text(item: Any) -> str:
    try:
        return json.dumps(item, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    except RecursionError:
        # Writing reaches less deep than reading.
        return "nested too deeply"
