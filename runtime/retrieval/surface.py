"""The texts that indexes read of a record or a turn, the same when writing and when searching."""

from __future__ import annotations

from typing import Protocol

from engrain.runtime.schema import MemoryRecord, Role

_ROLE_NAMES = frozenset(role.value for role in Role)


class Described(Protocol):
    """The fields that the lexical route reads; `IndexedRecord` has them."""

    @property
    def speaker(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def purpose(self) -> str: ...
    @property
    def keywords(self) -> tuple[str, ...]: ...


def is_name(speaker: str) -> bool:
    """Whether a speaker is named; a mere role ("user") is no name."""
    return bool(speaker) and speaker.casefold() not in _ROLE_NAMES


def spoken(speaker: str, text: str) -> str:
    """A text with its speaker's name in front, where there is one."""
    return f"{speaker}: {text}" if is_name(speaker) else text


def lexical_text(record: Described) -> str:
    """DimMem section 3.3, lexical route: content, reason, purpose and keywords; and who said it."""
    parts = (record.content, record.reason, record.purpose, *record.keywords)
    return spoken(record.speaker, "\n".join(part for part in parts if part))


def dense_text(record: MemoryRecord) -> str:
    """DimMem section 3.3, dense route: content, reason and purpose; and who said it."""
    parts = (record.content, record.reason, record.purpose)
    return spoken(record.source_speaker, " ".join(part for part in parts if part))
