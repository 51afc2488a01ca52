"""Rows to objects and back. Lists and metadata are JSON with every non-ASCII character escaped, so any text fits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np

from engrain.runtime.schema import (
    Link,
    MemoryRecord,
    MemoryType,
    Role,
    Scope,
    Status,
    SupersededSpan,
    Turn,
    assembled,
)
from engrain.runtime.storage.database import Connection
from engrain.runtime.storage.protocol import (
    Admission,
    IndexedRecord,
    IndexedTurn,
    NewTurn,
    Replaced,
    StoredTurn,
    Vectors,
)

Row = Sequence[Any]

_ENCODE = json.JSONEncoder(separators=(",", ":")).encode

TURN_COLUMNS = (
    "key, user_id, agent_id, run_id, id, session_id, role, speaker, text, timestamp, admission, gate_probability, "
    "metadata"
)
INSERT_TURN = """
INSERT INTO turns (key, version, user_id, agent_id, run_id, id, session_id, role, speaker, text, timestamp,
    moment, admission, gate_probability, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
RECORD_COLUMNS = (
    "key, id, user_id, agent_id, run_id, content, memory_type, time, location, reason, purpose, keywords, "
    "event_start, event_end, source_time, source_speaker, ingest_time, status, superseded_spans, links, extractor, "
    "embedder, metadata, updated_at"
)
INSERT_RECORD = """
INSERT INTO records (key, version, id, user_id, agent_id, run_id, content, memory_type, time, location, reason, purpose,
    keywords, event_start, event_end, source_time, source_speaker, ingest_time, status, superseded_spans, links,
    extractor, embedder, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_RECORD = """
SELECT r.key, r.id, r.agent_id, r.run_id, r.status, r.source_speaker, r.content, r.reason, r.purpose, r.keywords,
    (SELECT group_concat(s.turn_key) FROM record_sources s WHERE s.record_key = r.key), v.vector, r.memory_type,
    r.time, r.location, r.event_start, r.event_end, r.source_time, r.ingest_time, r.metadata,
    CASE WHEN r.status <> 'active' THEN
        (SELECT c.body FROM changes c WHERE c.user_id = r.user_id AND c.record_id = r.id ORDER BY c.key DESC LIMIT 1)
    END
FROM records r JOIN vectors v ON v.record_key = r.key WHERE r.user_id = ? AND {some} ORDER BY r.key
"""
_TURN = """
SELECT key, agent_id, run_id, session_id, moment, admission, speaker, text FROM turns
WHERE user_id = ? AND {some} ORDER BY key
"""
_MEMBERS = "IN (SELECT value FROM json_each(?))"
INDEXED_RECORD, INDEXED_TURN = _RECORD.format(some="r.version > ?"), _TURN.format(some="version > ?")
RECORDS_NAMED, TURNS_NAMED = _RECORD.format(some=f"r.key {_MEMBERS}"), _TURN.format(some=f"key {_MEMBERS}")


def as_json(value: object) -> str:
    """Compact JSON, ASCII only."""
    return _ENCODE(value)


def turn_values(scope: Scope, version: int, new: NewTurn) -> Row:
    """The values of `INSERT_TURN`."""
    turn = new.turn
    return (
        version, scope.user_id, scope.agent_id, scope.run_id, turn.id, turn.session_id, turn.role.value, turn.speaker,
        turn.text, turn.timestamp.isoformat(), turn.timestamp.timestamp(), new.admission.value, new.gate_probability,
        as_json(dict(new.metadata)) if new.metadata else "{}",
    )  # fmt: skip


def stored_turn(row: Row) -> StoredTurn:
    """A row of `TURN_COLUMNS`."""
    turn = Turn(id=row[4], session_id=row[5], role=Role(row[6]), speaker=row[7], text=row[8], timestamp=_moment(row[9]))
    scope = Scope(user_id=row[1], agent_id=row[2], run_id=row[3])
    return StoredTurn(row[0], scope, turn, Admission(row[10]), row[11], json.loads(row[12]))


def record_values(version: int, record: MemoryRecord) -> Row:
    """The values of `INSERT_RECORD`. Source turns have a table of their own."""
    return (
        version, record.id, record.scope.user_id, record.scope.agent_id, record.scope.run_id, record.content,
        record.memory_type.value if record.memory_type else None, record.time, record.location, record.reason,
        record.purpose, as_json(record.keywords) if record.keywords else "[]", _text(record.event_start),
        _text(record.event_end),
        record.source_time.isoformat(), record.source_speaker, record.ingest_time.isoformat(), record.status.value,
        as_json([span.model_dump() for span in record.superseded_spans]) if record.superseded_spans else "[]",
        as_json([link.model_dump() for link in record.links]) if record.links else "[]", record.extractor,
        record.embedder, as_json(record.metadata) if record.metadata else "{}",
    )  # fmt: skip


def memory_record(row: Row, source_turn_ids: Sequence[str]) -> MemoryRecord:
    """A row of `RECORD_COLUMNS` and the ids of its source turns, validated when they were written."""
    return assembled(
        MemoryRecord,
        id=row[1],
        scope=_scope(row[2], row[3], row[4]),
        content=row[5],
        memory_type=MemoryType(row[6]) if row[6] else None,
        time=row[7],
        location=row[8],
        reason=row[9],
        purpose=row[10],
        # Most records have none of these, and JSON is slow on nothing.
        keywords=tuple(json.loads(row[11])) if row[11] != "[]" else (),
        event_start=_moment(row[12]) if row[12] else None,
        event_end=_moment(row[13]) if row[13] else None,
        source_time=_moment(row[14]),
        source_speaker=row[15],
        ingest_time=_moment(row[16]),
        source_turn_ids=tuple(source_turn_ids),
        status=Status(row[17]),
        superseded_spans=tuple(SupersededSpan(**span) for span in json.loads(row[18])) if row[18] != "[]" else (),
        links=tuple(Link(**link) for link in json.loads(row[19])) if row[19] != "[]" else (),
        extractor=row[20],
        embedder=row[21],
        metadata=json.loads(row[22]) if row[22] != "{}" else {},
        updated_at=_moment(row[23]) if row[23] else None,
    )


def indexed_record(row: Row, source_times: Mapping[str, datetime]) -> IndexedRecord:
    """A row of `INDEXED_RECORD`. `source_times` are those of the records that replaced others, by id."""
    turn_keys = tuple(map(int, str(row[10]).split(","))) if row[10] is not None else ()
    return IndexedRecord(
        key=row[0],
        id=row[1],
        agent_id=row[2],
        run_id=row[3],
        status=Status(row[4]),
        speaker=row[5],
        content=row[6],
        reason=row[7],
        purpose=row[8],
        keywords=tuple(json.loads(row[9])) if row[9] != "[]" else (),
        turn_keys=turn_keys,
        memory_type=MemoryType(row[12]) if row[12] else None,
        time=row[13],
        location=row[14],
        event_start=_moment(row[15]) if row[15] else None,
        event_end=_moment(row[16]) if row[16] else None,
        source_time=_moment(row[17]),
        ingest_time=_moment(row[18]),
        metadata=json.loads(row[19]) if row[19] != "{}" else {},
        replaced=_replaced(row[20], source_times),
    )


def stacked_vectors(found: Sequence[Row], dimension: int) -> Vectors:
    """The vectors in rows of `INDEXED_RECORD`, N x D."""
    return np.frombuffer(b"".join(row[11] for row in found), dtype="<f4").reshape(len(found), dimension)


def replacing_ids(found: Sequence[Row]) -> list[str]:
    """Ids of the records that took the place of those among rows of `INDEXED_RECORD`."""
    bodies = [json.loads(row[20]) for row in found if row[20]]
    return [body["other_id"] for body in bodies if body["other_id"]]


def indexed_turn(row: Row) -> IndexedTurn:
    """A row of `INDEXED_TURN`."""
    return IndexedTurn(row[0], row[1], row[2], row[3], row[4], Admission(row[5]), row[6], row[7])


def condition(terms: Mapping[str, object]) -> tuple[str, list[object]]:
    """An AND of equalities and memberships: None is left out, a list or tuple becomes IN. Values are always bound.

    Where rows are named by `key`, the other columns are written `+column`: SQLite then looks the keys up, and does not
    walk all of a user's rows through another index.
    """
    clauses: list[str] = []
    values: list[object] = []
    by_key = terms.get("key") is not None
    for name, value in terms.items():
        if value is None:
            continue
        column = f"+{name}" if by_key and name != "key" else name
        if isinstance(value, list | tuple):
            clauses.append(f"{column} IN (SELECT value FROM json_each(?))")
            values.append(as_json(list(value)))
        else:
            clauses.append(f"{column} = ?")
            values.append(value)
    return " AND ".join(clauses), values


def source_ids(connection: Connection, record_keys: Sequence[int]) -> dict[int, list[str]]:
    """Source turn ids by record key, in order."""
    found: dict[int, list[str]] = {}
    rows = connection.execute(
        "SELECT s.record_key, t.id FROM record_sources s JOIN turns t ON t.key = s.turn_key "
        "WHERE s.record_key IN (SELECT value FROM json_each(?)) ORDER BY s.record_key, s.position",
        (as_json(list(record_keys)),),
    )
    for key, turn_id in rows:
        found.setdefault(key, []).append(turn_id)
    return found


def source_times(connection: Connection, user_id: str, ids: Sequence[str]) -> dict[str, datetime]:
    """Source times of records by id; those that are gone are absent."""
    if not ids:
        return {}
    sql = "SELECT id, source_time FROM records WHERE user_id = ? AND id IN (SELECT value FROM json_each(?))"
    return {name: _moment(text) for name, text in connection.execute(sql, (user_id, as_json(list(ids))))}


@lru_cache(maxsize=1_024)
def _scope(user_id: str, agent_id: str | None, run_id: str | None) -> Scope:
    return Scope(user_id=user_id, agent_id=agent_id, run_id=run_id)


def _replaced(body: str | None, source_times: Mapping[str, datetime]) -> Replaced | None:
    if body is None:
        return None
    change = json.loads(body)
    if change["after"] == Status.ACTIVE.value:
        return None  # qualified, or outdated in a part: still there to be found
    return Replaced(source_times.get(change["other_id"]), _moment(change["decided_at"]))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
