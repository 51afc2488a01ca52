"""What must hold of the stored state after a run (SLICE-Mem A.4), and which changes break it."""

from __future__ import annotations

from collections.abc import Sequence

from engrain.runtime.schema import Change, MemoryRecord, Status
from engrain.runtime.storage.changes import LINKS
from engrain.runtime.storage.protocol import Store


def broken(store: Store, user_id: str, changes: Sequence[Change]) -> list[Change]:
    """Those of `changes` whose effect is not in the store as it stands, or closes a cycle of replacement links."""
    if not changes:
        return []
    statuses = tuple(Status)
    records = {record.id: record for record in store.records(user_id, statuses=statuses)}
    logged = {change.id for change in store.changes(user_id)}
    return [
        change
        for change in changes
        if change.id in logged and (not _holds(change, records) or _cyclic(change.record_id, records))
    ]


def _holds(change: Change, records: dict[str, MemoryRecord]) -> bool:
    record, other = records.get(change.record_id), records.get(change.other_id or "")
    if record is None or other is None:
        return True  # deleted by the user meanwhile
    there, back = LINKS[change.relation]
    linked = any(link.relation == there and link.record_id == other.id for link in record.links)
    answered = any(link.relation == back and link.record_id == record.id for link in other.links)
    hidden = change.after is Status.ACTIVE or record.status is not Status.ACTIVE
    struck = change.part is None or any(span.change_id == change.id for span in record.superseded_spans)
    return linked and answered and hidden and struck


def _cyclic(start: str, records: dict[str, MemoryRecord]) -> bool:
    """Whether hidden records replace each other in a ring, so that none of them is left to be found."""
    seen: set[str] = set()
    names = [start]
    while names:
        name = names.pop()
        record = records.get(name)
        if record is None or record.status is Status.ACTIVE:
            continue
        if name in seen:
            return True
        seen.add(name)
        names += [link.record_id for link in record.links if link.relation in ("superseded_by", "duplicate_of")][-1:]
    return False
