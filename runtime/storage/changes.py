"""The consolidation log: every change is written with its effect in one transaction, and every change can be undone.

A change touches the status, the superseded spans and the links of existing records, never their text, vector or times.
A merge adds a record of its own beside those it supersedes. An undone change leaves the log for a table of its own, so
that the log always explains the state of the records, change by change.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from engrain.runtime.errors import InputError
from engrain.runtime.schema import Change, MemoryRecord, Relation, Status
from engrain.runtime.storage import rows
from engrain.runtime.storage.database import Connection
from engrain.runtime.storage.protocol import Vectors

LINKS: dict[Relation, tuple[str, str]] = {
    Relation.DEDUP: ("duplicate_of", "duplicated_by"),
    Relation.SUPERSEDE: ("superseded_by", "supersedes"),
    Relation.QUALIFY: ("qualified_by", "qualifies"),
    Relation.MERGE: ("merged_into", "merges"),
}
"""Names of the link from a change's record to the other one, and back (SLICE-Mem A.4: reciprocal links)."""


def apply_change(connection: Connection, version: int, user_id: str, change: Change) -> bool:
    """Write a change and its effect; False, and nothing written, when it no longer fits the store.

    It fits when its record is still in state `before`, and the other record is there and, where the change hides
    something, active: what replaces a record must itself be readable.
    """
    state = _state(connection, user_id, change.record_id)
    other = _state(connection, user_id, change.other_id) if change.other_id is not None else None
    if state is None or state[0] != change.before.value or change.other_id == change.record_id:
        return False
    if change.other_id is not None and (other is None or (_hides(change) and other[0] != Status.ACTIVE.value)):
        return False
    if change.part is not None and not 0 <= change.part[0] < change.part[1] <= state[3]:
        return False
    spans = json.loads(state[1])
    if change.part is not None:
        spans.append({"start": change.part[0], "end": change.part[1], "change_id": change.id})
    there, back = LINKS[change.relation]
    links = [*json.loads(state[2]), *_link(there, change.other_id)]
    _write(connection, version, user_id, change.record_id, change.after.value, spans, links)
    if change.other_id is not None and other is not None:
        links = [*json.loads(other[2]), *_link(back, change.record_id)]
        _write(connection, version, user_id, change.other_id, other[0], json.loads(other[1]), links)
    sql = "INSERT INTO changes (id, user_id, record_id, body) VALUES (?, ?, ?, ?)"
    connection.execute(sql, (change.id, user_id, change.record_id, change.model_dump_json()))
    return True


def insert_merged(
    connection: Connection, version: int, record: MemoryRecord, vector: Vectors, turns: Sequence[int]
) -> None:
    """Add the record that a merge makes, with the source turns of those it merges."""
    key = connection.next_keys("records", 1)[0]
    connection.executemany(rows.INSERT_RECORD, [(key, *rows.record_values(version, record))])
    connection.executemany("INSERT INTO vectors VALUES (?, ?)", [(key, connection.stored_vector(vector))])
    sources = [(key, position, turn) for position, turn in enumerate(turns)]
    connection.executemany("INSERT INTO record_sources VALUES (?, ?, ?)", sources)


def source_turns(connection: Connection, user_id: str, record_ids: Sequence[str]) -> list[int]:
    """Keys of the turns that these records come from, each once, in order."""
    found = connection.execute(
        "SELECT s.turn_key FROM record_sources s JOIN records r ON r.key = s.record_key "
        "WHERE r.user_id = ? AND r.id IN (SELECT value FROM json_each(?)) ORDER BY s.record_key, s.position",
        (user_id, rows.as_json(list(record_ids))),
    ).fetchall()
    return list(dict.fromkeys(int(turn) for (turn,) in found))


def undo(connection: Connection, version: int, user_id: str, change_id: str, at: datetime) -> list[Change]:
    """Take back a change and its effect; a merge takes back both of its changes and the merged record.

    Raises `InputError` when there is no such change, or a later change builds on it (its text names that change).
    """
    log = read(connection, user_id)
    place = next((place for place, change in enumerate(log) if change.id == change_id), None)
    if place is None:
        raise InputError(f"no change {change_id} of user {user_id} in the log; `engrain memory log` shows the ids")
    change = log[place]
    group = [change]
    if change.relation is Relation.MERGE:
        group = [other for other in log if other.relation is Relation.MERGE and other.other_id == change.other_id]
    later = _depends(group, log)
    if later is not None:
        raise InputError(f"change {change_id} cannot be undone: change {later.id} builds on it; undo that first")
    for member in reversed(group):
        _take_back(connection, version, user_id, member)
    if change.relation is Relation.MERGE and change.other_id is not None:
        _remove_merged(connection, version, user_id, change.other_id)
    for member in group:
        connection.execute("DELETE FROM changes WHERE id = ?", (member.id,))
        sql = "INSERT INTO undone_changes (id, user_id, record_id, body, undone_at) VALUES (?, ?, ?, ?, ?)"
        connection.execute(sql, (member.id, user_id, member.record_id, member.model_dump_json(), at.isoformat()))
    return group


def read(connection: Connection, user_id: str) -> list[Change]:
    """The log of a user, oldest first; undone changes are not in it."""
    found = connection.execute("SELECT body FROM changes WHERE user_id = ? ORDER BY key", (user_id,))
    return [Change.model_validate_json(body) for (body,) in found]


def read_undone(connection: Connection, user_id: str) -> list[tuple[Change, datetime]]:
    """Changes that were undone, each with the time of its undoing, in that order."""
    found = connection.execute("SELECT body, undone_at FROM undone_changes WHERE user_id = ? ORDER BY key", (user_id,))
    return [(Change.model_validate_json(body), datetime.fromisoformat(at)) for body, at in found]


def mark(connection: Connection, user_id: str, method: str, record_ids: Sequence[str]) -> None:
    """Remember that these records were compared by this method with all there was."""
    sql = "INSERT INTO consolidated VALUES (?, ?, ?) ON CONFLICT (user_id, method, record_id) DO NOTHING"
    connection.executemany(sql, [(user_id, method, record_id) for record_id in record_ids])


def marked(connection: Connection, user_id: str, method: str) -> frozenset[str]:
    """Ids of the records that were compared by this method."""
    sql = "SELECT record_id FROM consolidated WHERE user_id = ? AND method = ?"
    return frozenset(record_id for (record_id,) in connection.execute(sql, (user_id, method)))


def unmark(connection: Connection, user_id: str, record_ids: Sequence[str]) -> None:
    """Have these records compared again: their text changed, or they came back."""
    sql = "DELETE FROM consolidated WHERE user_id = ? AND record_id = ?"
    connection.executemany(sql, [(user_id, record_id) for record_id in record_ids])


def _hides(change: Change) -> bool:
    return change.after is not change.before or change.part is not None


def _link(relation: str, record_id: str | None) -> list[dict[str, str]]:
    return [] if record_id is None else [{"relation": relation, "record_id": record_id}]


def _state(connection: Connection, user_id: str, record_id: str | None) -> tuple[str, str, str, int] | None:
    """Status, spans and links (as JSON), and the length of the text in characters."""
    sql = "SELECT status, superseded_spans, links, content FROM records WHERE id = ? AND user_id = ?"
    found = connection.execute(sql, (record_id, user_id)).fetchone()
    return None if found is None else (found[0], found[1], found[2], len(found[3]))


def _write(
    connection: Connection, version: int, user_id: str, record_id: str, status: str, spans: object, links: object
) -> None:
    sql = "UPDATE records SET status = ?, superseded_spans = ?, links = ?, version = ? WHERE id = ? AND user_id = ?"
    values = (status, rows.as_json(spans), rows.as_json(links), version, record_id, user_id)
    connection.execute(sql, values)


def _depends(group: Sequence[Change], log: Sequence[Change]) -> Change | None:
    """A later change that hides one of the group's records anew, or speaks of a record that undoing would remove."""
    ids = {change.id for change in group}
    touched = {change.record_id for change in group if change.after is not change.before}
    removed = {change.other_id for change in group if change.relation is Relation.MERGE}
    seen = False
    for change in log:
        seen = seen or change.id in ids
        if not seen or change.id in ids:
            continue
        if change.record_id in removed or change.other_id in removed:
            return change
        if change.record_id in touched and _hides(change):
            return change
    return None


def _take_back(connection: Connection, version: int, user_id: str, change: Change) -> None:
    state = _state(connection, user_id, change.record_id)
    there, back = LINKS[change.relation]
    if state is not None:
        spans = [span for span in json.loads(state[1]) if span["change_id"] != change.id]
        links = _without(json.loads(state[2]), there, change.other_id)
        status = change.before.value if change.after is not change.before else state[0]
        _write(connection, version, user_id, change.record_id, status, spans, links)
    other = _state(connection, user_id, change.other_id) if change.other_id is not None else None
    if other is not None:
        links = _without(json.loads(other[2]), back, change.record_id)
        _write(connection, version, user_id, str(change.other_id), other[0], json.loads(other[1]), links)


def _without(links: list[dict[str, str]], relation: str, record_id: str | None) -> list[dict[str, str]]:
    """The links less the last of this kind: an equal one of another change stays."""
    for place in range(len(links) - 1, -1, -1):
        if links[place] == {"relation": relation, "record_id": record_id}:
            return links[:place] + links[place + 1 :]
    return links


def _remove_merged(connection: Connection, version: int, user_id: str, record_id: str) -> None:
    """Remove a merged record and nothing else: its source turns belong to the records it merged."""
    found = connection.execute("SELECT key FROM records WHERE id = ? AND user_id = ?", (record_id, user_id)).fetchone()
    if found is None:
        return
    connection.execute("DELETE FROM records WHERE key = ?", (found[0],))
    connection.execute("DELETE FROM consolidated WHERE user_id = ? AND record_id = ?", (user_id, record_id))
    connection.execute("INSERT INTO tombstones VALUES (?, ?, ?, ?)", (version, user_id, "record", found[0]))
