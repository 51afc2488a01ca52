"""One consolidation run: alignment, state pass, rules, then a model's decisions where there is one.

Only pairs with a record that was not compared before are looked at. Every decision is written with its effect in one
transaction, and a target is marked as compared with its last decision: an interrupted run goes on where it was, and
records that arrive meanwhile are left to the next run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engrain.runtime.consolidation.decisions import Decision, Report
from engrain.runtime.consolidation.duplicates import find_duplicates
from engrain.runtime.consolidation.invariants import broken
from engrain.runtime.consolidation.rules.classify import relate
from engrain.runtime.consolidation.rules.probes import WordIndex
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.settings import ConsolidationSettings
from engrain.runtime.consolidation.state_pass import state_pass
from engrain.runtime.schema import Change, MemoryRecord, Relation, Status
from engrain.runtime.storage.changes import LINKS
from engrain.runtime.storage.protocol import Store

RULES = "rules-2"
"""Name of the rules in the store's marks; raised when they may find what they did not find before."""
_FLUSH = 200
"""Targets without a change that are marked together."""
LONGEST_READ = 2_000
"""Characters of a record that the rules read: longer ones are no statements but documents, and take minutes."""


class PairModel(Protocol):
    """Decides over the active records of one scope: SLICE-Mem's relations or DimMem's update."""

    def run(self, store: Store, user_id: str, records: Sequence[MemoryRecord], report: Report) -> None:
        """Ask about what is new, and apply what holds."""


class Consolidator:
    """Consolidates one store's users. Keeps what it has read of a record for the next run."""

    def __init__(
        self,
        store: Store,
        settings: ConsolidationSettings | None = None,
        models: Sequence[PairModel] = (),
    ) -> None:
        self._store, self._models = store, models
        self.settings = settings or ConsolidationSettings()
        self._readings: dict[str, Reading] = {}

    def run(self, user_id: str) -> Report:
        """Compare all that is new of a user with everything, and apply what holds.

        Raises `ModelServiceError` when the model's service fails (A.4: never silently rules alone); what was decided
        before stays.
        """
        report = Report()
        for records in self._scopes(user_id):
            _Run(self._store, user_id, records, self._readings, self.settings, report).rules()
        for model in self._models:
            for records in self._scopes(user_id):
                model.run(self._store, user_id, records, report)
        self._check(user_id, report)
        return report

    def _scopes(self, user_id: str) -> list[list[MemoryRecord]]:
        """Active records by agent and run: what one agent was told says nothing about another's records."""
        groups: dict[tuple[str | None, str | None], list[MemoryRecord]] = {}
        for record in self._store.records(user_id):
            groups.setdefault((record.scope.agent_id, record.scope.run_id), []).append(record)
        return list(groups.values())

    def _check(self, user_id: str, report: Report) -> None:
        """A.4: the final stored state is checked once more. What does not hold is undone, newest first."""
        for change in reversed(broken(self._store, user_id, report.changes)):
            report.counts["undone_inconsistent"] += len(self._store.undo(user_id, change.id, change.decided_at))
            report.changes = [kept for kept in report.changes if kept.id != change.id]


@dataclass
class _Run:
    """The passes without a model, over the records of one scope."""

    store: Store
    user_id: str
    records: Sequence[MemoryRecord]
    known: dict[str, Reading]
    settings: ConsolidationSettings
    report: Report
    hidden: set[str] = field(default_factory=set)
    struck: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    linked: set[tuple[str, str, str]] = field(default_factory=set)
    waiting: list[str] = field(default_factory=list)

    def rules(self) -> None:
        """Alignment, state pass and rules for what was not compared yet."""
        done = self.store.consolidated(self.user_id, RULES)
        fresh = {record.id for record in self.records if record.id not in done}
        if not fresh:
            return
        for record in self.records:
            self.struck[record.id] = [(span.start, span.end) for span in record.superseded_spans]
            self.linked.update((record.id, link.relation, link.record_id) for link in record.links)
        self._align(fresh)
        shown = [record for record in self.records if record.id not in self.hidden]
        # Everything is read by patterns; a document of that size would take minutes and states nothing.
        readings = [self._read(record) for record in shown if len(record.content) <= LONGEST_READ]
        if unread := sum(record.id in fresh and len(record.content) > LONGEST_READ for record in shown):
            self.report.counts["too_long"] += unread
        for decision in state_pass(readings):
            if {decision.older.id, decision.newer.id} & fresh:
                self._apply([decision])
        if self.settings.rules:
            self._classify(readings, fresh)
        self._flush([record.id for record in self.records if record.id in fresh])

    def _align(self, fresh: set[str]) -> None:
        changes = [c for c in find_duplicates(self.records) if c.record_id in fresh or c.other_id in fresh]
        if changes:
            self._written(self.store.apply(self.user_id, changes), len(changes))

    def _classify(self, readings: Sequence[Reading], fresh: set[str]) -> None:
        """Every target against the records that its probes select, in time order, the latest candidate first."""
        index = WordIndex()
        for newer in sorted(readings, key=lambda reading: reading.record.source_time):
            if newer.record.id not in self.hidden:
                self._apply(self._decisions(newer, index, fresh))
            self.waiting.append(newer.record.id)
            if len(self.waiting) >= _FLUSH:
                self._flush([name for name in self.waiting if name in fresh])
            index.add(newer)

    def _decisions(self, newer: Reading, index: WordIndex, fresh: set[str]) -> list[Decision]:
        found: list[Decision] = []
        settled = False
        for place in reversed(index.candidates(newer)):
            older = index.readings[place]
            if older.record.id in self.hidden or not {older.record.id, newer.record.id} & fresh:
                continue
            self.report.counts["pairs"] += 1
            finding = relate(older, newer)
            if finding is None or (finding.latest_only and settled) or self._is_struck(older.record.id, finding.part):
                continue
            settled = settled or finding.latest_only
            found.append(
                Decision(
                    finding.relation, older.record, newer.record, finding.basis, finding.scope, finding.anchor,
                    finding.evidence, finding.part,
                )
            )  # fmt: skip
            if finding.relation is Relation.DEDUP:
                # What is a copy changes nothing by itself: the copied record had its say.
                return [found[-1]]
        return found

    def _is_struck(self, record_id: str, part: tuple[int, int] | None) -> bool:
        return part is not None and any(s <= part[0] and part[1] <= e for s, e in self.struck.get(record_id, []))

    def _apply(self, decisions: Sequence[Decision]) -> None:
        changes = [d.change() for d in decisions if not {d.older.id, d.newer.id} & self.hidden]
        changes = [change for change in changes if not self._is_known(change)]
        if changes:
            self._written(self.store.apply(self.user_id, changes), len(changes))

    def _is_known(self, change: Change) -> bool:
        """Qualified by an earlier run that was interrupted before it marked its target."""
        link = (change.record_id, LINKS[change.relation][0], change.other_id or "")
        return change.relation is Relation.QUALIFY and link in self.linked

    def _written(self, applied: Sequence[Change], offered: int) -> None:
        self.report.changes.extend(applied)
        self.report.counts["skipped_changed"] += offered - len(applied)
        self.report.counts.update(Counter(change.relation.value for change in applied))
        for change in applied:
            if change.after is not Status.ACTIVE:
                self.hidden.add(change.record_id)
            if change.part is not None:
                self.report.counts["in_part"] += 1
                self.struck.setdefault(change.record_id, []).append(change.part)

    def _flush(self, done: Sequence[str]) -> None:
        if done:
            self.store.apply(self.user_id, (), method=RULES, done=done)
        self.waiting.clear()

    def _read(self, record: MemoryRecord) -> Reading:
        known = self.known.get(record.id)
        if known is None or known.record != record:
            known = self.known[record.id] = Reading(record)
        return known
