"""A decision about two records on its way into the log: from rules or a model, checked, then a `Change`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

from engrain.runtime.schema import Change, MemoryRecord, Relation, Status


@dataclass(frozen=True, slots=True)
class Decision:
    """The relation of `newer` to `older`. `part` is the stretch of the older record that alone is outdated."""

    relation: Relation
    older: MemoryRecord
    newer: MemoryRecord
    basis: str = ""
    scope: str = ""
    anchor: str = ""
    evidence: str = ""
    part: tuple[int, int] | None = None
    decided_by: str = "rules"

    def change(self, at: datetime | None = None) -> Change:
        """The log entry: a duplicate drops the newer record, a supersession outdates the older one (A.4)."""
        target, other = (self.newer, self.older) if self.relation is Relation.DEDUP else (self.older, self.newer)
        after = {Relation.DEDUP: Status.DROPPED, Relation.SUPERSEDE: Status.SUPERSEDED}.get(self.relation)
        return Change(
            id=uuid4().hex,
            record_id=target.id,
            other_id=other.id,
            before=Status.ACTIVE,
            after=Status.ACTIVE if after is None or self.part is not None else after,
            relation=self.relation,
            part=self.part,
            basis=self.basis,
            scope=self.scope,
            anchor=self.anchor,
            evidence=self.evidence,
            decided_by=self.decided_by,
            decided_at=at or datetime.now(UTC),
        )


@dataclass(slots=True)
class Report:
    """What a run did: the changes it made, and a count of everything it refused or could not read."""

    changes: list[Change] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
