"""Exact duplicates, found by rule (SLICE-Mem A.4, deterministic alignment): the later copy is dropped by status.

Equal bodies are duplicates only when they come from the same source: the same turn, or, for records without source
turns, the same message time. Equal words at another time may be another purchase or another meeting, and stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterator, Sequence
from datetime import UTC, datetime
from uuid import uuid4

from engrain.runtime.schema import Change, MemoryRecord, MemoryType, Relation, Status

_DATE_PREFIX = re.compile(
    r"\s*(?:[\[(]\s*)?(?:on\s+|as of\s+)?"
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}\s+[A-Za-z]{3,9},?\s+\d{4}|[A-Za-z]{3,9}\s+\d{1,2},?\s+\d{4})"
    r"(?:[T ,]+\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:\s*(?:am|pm))?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"(?:\s*\([A-Za-z]{3,9}\)|,\s*[A-Za-z]{3,9}(?=\s*[\])]))?(?:\s*[\])])?\s*(?::|,|-|–|—|(?<=[\])]))\s*",
    re.IGNORECASE,
)


def normalised_body(content: str) -> str:
    """Content for exact comparison: date prefix off, NFKC, lower case, spaces collapsed, outer punctuation trimmed."""
    without_date = _DATE_PREFIX.sub("", content, count=1) if _DATE_PREFIX.match(content) else content
    folded = unicodedata.normalize("NFKC", without_date).lower()
    return _trim(" ".join(folded.split()))


def find_duplicates(records: Sequence[MemoryRecord], decided_at: datetime | None = None) -> list[Change]:
    """One change for every active record that repeats an earlier one of its source, oldest source first."""
    moment = decided_at or datetime.now(UTC)
    first: dict[Hashable, MemoryRecord] = {}
    changes: list[Change] = []
    # Sorting is stable: records of one message keep their order of arrival.
    for record in sorted(records, key=lambda record: record.source_time):
        if record.status is not Status.ACTIVE:
            continue
        keys = list(_groups(record))
        earlier = next((first[key] for key in keys if key in first), None)
        if earlier is None:
            first.update((key, record) for key in keys)
        else:
            changes.append(_drop(record, earlier, moment))
    return changes


def _groups(record: MemoryRecord) -> Iterator[Hashable]:
    """What two records must share to be duplicates. Event-like records without source turns share nothing."""
    body = normalised_body(record.content)
    owner = (record.scope.user_id, record.scope.agent_id, record.scope.run_id)
    if record.source_turn_ids:
        yield from ((owner, body, turn_id) for turn_id in record.source_turn_ids)
    elif record.memory_type is not MemoryType.EPISODIC:
        yield (owner, body, record.source_time.astimezone(UTC))


def _drop(record: MemoryRecord, earlier: MemoryRecord, moment: datetime) -> Change:
    shared = [turn_id for turn_id in record.source_turn_ids if turn_id in earlier.source_turn_ids]
    source = f"turn {', '.join(shared)}" if shared else f"message time {record.source_time.isoformat()}"
    return Change(
        id=uuid4().hex,
        record_id=record.id,
        other_id=earlier.id,
        before=record.status,
        after=Status.DROPPED,
        relation=Relation.DEDUP,
        basis="exact text",
        anchor=record.content,
        evidence=f"equal text from the same source: {source}",
        decided_by="rules",
        decided_at=moment,
    )


def _trim(text: str) -> str:
    """Cut punctuation and spaces off both ends; a text of nothing else stays whole."""
    start, end = 0, len(text)
    while start < end and _is_boundary(text[start]):
        start += 1
    while end > start and _is_boundary(text[end - 1]):
        end -= 1
    return text[start:end] or text


def _is_boundary(character: str) -> bool:
    return character.isspace() or unicodedata.category(character).startswith("P")
