"""Checking one record that a model wrote, against the schema and the window it was read from.

Only the form is forgiven: numbers written as text, keywords as one string, dimensions one level up, null for empty.
Anything else that is wrong rejects the whole record, with a reason that can be counted.
"""

from __future__ import annotations

import re
from datetime import UTC
from enum import StrEnum
from typing import Any

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Dimensions, ExtractedRecord, MemoryType
from engrain.runtime.timestamps import record_interval

_TEXT_FIELDS = ("time", "location", "reason", "purpose")
_SOURCE = re.compile(r"\s*(?:message|msg|n|no\.?)?\s*#?\s*(\d{1,9})\s*\.?\s*", re.IGNORECASE)
_KEYWORD_BREAK = re.compile(r"[,;\n，；、]")


class RejectReason(StrEnum):
    """Why a piece of an answer gave no record."""

    NO_JSON = "no_json"
    TRUNCATED = "truncated"
    NOT_AN_OBJECT = "not_an_object"
    NO_CONTENT = "no_content"
    BAD_SOURCE = "source_id_not_a_number"
    OUTSIDE_WINDOW = "source_id_outside_window"
    IN_OVERLAP = "source_id_in_overlap"
    UNKNOWN_TYPE = "unknown_memory_type"
    BAD_DIMENSION = "dimension_not_text"
    BAD_TIME = "bad_time"
    REPEATED = "repeated"


def validate_record(item: Any, window: Window) -> ExtractedRecord | RejectReason:
    """The record that one decoded JSON value holds, or why it holds none.

    A record needs text as content, the number of a new message of `window`, a known type, and a time in one of the
    forms of the schema; dimensions that are missing are empty.
    """
    if not isinstance(item, dict):
        return RejectReason.NOT_AN_OBJECT
    content = item.get("content")
    if not isinstance(content, str) or not content.strip():
        return RejectReason.NO_CONTENT
    content = _encodable(content.strip())
    source_id = _source_number(item.get("source_id"))
    if source_id is None:
        return RejectReason.BAD_SOURCE
    if not 1 <= source_id <= len(window.turns):
        return RejectReason.OUTSIDE_WINDOW
    if not window.is_new(source_id):
        return RejectReason.IN_OVERLAP
    dimension = _dimensions(item)
    if isinstance(dimension, RejectReason):
        return dimension
    return ExtractedRecord(source_id=source_id, content=content, dimension=dimension)


def _dimensions(item: dict[str, Any]) -> Dimensions | RejectReason:
    given = item.get("dimension", item)
    if not isinstance(given, dict):
        return RejectReason.BAD_DIMENSION
    memory_type = given.get("memory_type", item.get("memory_type"))
    if not isinstance(memory_type, str) or memory_type.strip().lower() not in set(MemoryType):
        return RejectReason.UNKNOWN_TYPE
    texts = {name: _plain_text(given.get(name)) for name in _TEXT_FIELDS}
    keywords = _keywords(given.get("keywords"))
    if keywords is None or None in texts.values():
        return RejectReason.BAD_DIMENSION
    if texts["time"] and not _is_record_time(texts["time"]):
        return RejectReason.BAD_TIME
    return Dimensions.model_validate(
        {"memory_type": memory_type.strip().lower(), "keywords": keywords, **texts},
    )


def _source_number(value: Any) -> int | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    match = _SOURCE.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def _plain_text(value: Any) -> str | None:
    """Text of a dimension: null is empty, a number is its digits, a list of texts is joined; else None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return _encodable(value.strip())
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return _encodable(", ".join(part.strip() for part in value if part.strip()))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _keywords(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        parts = [_encodable(part) for part in value]
    else:
        text = _plain_text(value)
        if text is None:
            return None
        parts = _KEYWORD_BREAK.split(text)
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _encodable(text: str) -> str:
    """Half of a surrogate pair, as a cut escape leaves it, cannot be stored: it becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _is_record_time(text: str) -> bool:
    try:
        record_interval(text, UTC)
    except InputError:
        return False
    return True
