"""What happened to a record, and what a record was at an earlier moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import Field

from engrain.runtime.retrieval.scope_index import ScopeFilter
from engrain.runtime.schema import AwareDatetime, Contract, Hit, MemoryRecord, Status
from engrain.runtime.storage.protocol import Store

ADDED = "added"
UPDATED = "updated"


class Event(Contract):
    """One thing that happened to a record."""

    at: AwareDatetime
    action: str = Field(description="`added`, `updated`, or the relation of a change of status.")
    before: str = Field(default="", description="The text, or the status, before; empty for `added`.")
    after: str = Field(description="The text, or the status, after.")
    by: str = Field(default="", description="Who decided a change of status.")
    change_id: str | None = None


def record_history(store: Store, record: MemoryRecord) -> tuple[Event, ...]:
    """Added, text updates and status changes of a record, oldest first."""
    user_id = record.scope.user_id
    revisions = store.revisions(record.id, user_id)
    first = revisions[0].before if revisions else record.content
    events = [Event(at=record.ingest_time, action=ADDED, after=first)]
    events += [Event(at=one.at, action=UPDATED, before=one.before, after=one.after) for one in revisions]
    events += [
        Event(
            at=change.decided_at,
            action=change.relation.value,
            before=change.before.value,
            after=change.after.value,
            by=change.decided_by,
            change_id=change.id,
        )
        for change in store.changes(user_id)
        if change.record_id == record.id
    ]
    return tuple(sorted(events, key=lambda event: event.at))


def as_they_stood(store: Store, hits: Sequence[Hit], scope: ScopeFilter) -> Iterable[Hit]:
    """Hits of a search `as_of` an earlier moment with their records' status and text of then."""
    if scope.as_of is None and scope.as_of_ingest is None:
        return hits
    return [hit.model_copy(update={"record": _as_it_stood(store, hit.record, scope)}) for hit in hits]


def _as_it_stood(store: Store, record: MemoryRecord, scope: ScopeFilter) -> MemoryRecord:
    then: dict[str, object] = {"status": Status.ACTIVE}
    if scope.as_of_ingest is not None:
        later = [one for one in store.revisions(record.id, record.scope.user_id) if one.at > scope.as_of_ingest]
        if later:
            then["content"] = later[0].before
    return record.model_copy(update=then)
