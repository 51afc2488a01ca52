"""Relation decisions by a model over nearest earlier records (SLICE-Mem 3.3, A.4), through the client of every paid
call: any OpenAI-compatible server, online, by batch or replayed, with the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from engrain.runtime.consolidation import prompts
from engrain.runtime.consolidation.answers import Claim, read_claims
from engrain.runtime.consolidation.candidates import Neighbours
from engrain.runtime.consolidation.decisions import Decision, Report
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.settings import ConsolidationSettings
from engrain.runtime.consolidation.validation import Case, outdated_part, refusal
from engrain.runtime.errors import ModelServiceError
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, ModelClient, Outcome, Stage
from engrain.runtime.schema import Change, MemoryRecord, Relation, Status
from engrain.runtime.storage.protocol import Store


@dataclass(frozen=True, slots=True)
class Job:
    """One request: a target and its candidates."""

    target: MemoryRecord
    candidates: tuple[MemoryRecord, ...]


class RelationModel:
    """Asks a model about every active target that it has not asked about before."""

    def __init__(self, client: ModelClient, settings: ConsolidationSettings | None = None) -> None:
        self._client = client
        self.settings = settings or ConsolidationSettings()
        self.method = f"model/{client.name}/{prompts.RELATION_HASH}"

    def run(self, store: Store, user_id: str, records: Sequence[MemoryRecord], report: Report) -> None:
        """Decide over the active records of one scope. Raises `ModelServiceError` when a call failed for good."""
        done = store.consolidated(user_id, self.method)
        fresh = [record for record in records if record.id not in done]
        if not self.settings.paper_order:
            fresh.sort(key=lambda record: record.source_time)
        if fresh:
            _Pass(self._client, self.settings, self.method, store, user_id, records, report).run(fresh)


@dataclass
class _Pass:
    client: ModelClient
    settings: ConsolidationSettings
    method: str
    store: Store
    user_id: str
    records: Sequence[MemoryRecord]
    report: Report
    hidden: set[str] = field(default_factory=set)

    def run(self, fresh: Sequence[MemoryRecord]) -> None:
        """Waves of jobs; each wave's candidates are chosen after the answers of the wave before were applied."""
        neighbours = self._neighbours()
        width = len(fresh) if self.settings.paper_order else self.settings.wave
        for start in range(0, len(fresh), width):
            targets = [record for record in fresh[start : start + width] if record.id not in self.hidden]
            jobs = [Job(target, tuple(neighbours.of(target, self.hidden))) for target in targets]
            asked = [job for job in jobs if job.candidates]
            idle = [
                record.id for record in fresh[start : start + width] if record.id not in {j.target.id for j in asked}
            ]
            self.store.apply(self.user_id, (), method=self.method, done=idle)
            outcomes = answer_all(self.client, [self._call(job) for job in asked])
            failed = [outcome for job, outcome in zip(asked, outcomes, strict=True) if not self._settle(job, outcome)]
            if failed:
                raise self._failure(failed)

    def _neighbours(self) -> Neighbours:
        delta = self.store.changes_since(self.user_id, 0)
        assert delta is not None  # there are records, so there is a version
        rows = {record.id: row for row, record in enumerate(delta.records)}
        known = [record for record in self.records if record.id in rows]
        vectors = np.asarray(delta.vectors)[[rows[record.id] for record in known]]
        return Neighbours(known, vectors, self.settings.candidates)

    def _call(self, job: Job) -> Call:
        request = prompts.relation_request(job.target, job.candidates, self.settings.relations)
        return Call(request, Stage.CONSOLIDATE, tag=job.target.id)

    def _settle(self, job: Job, outcome: Outcome) -> bool:
        """Apply what one answer decides and mark its target; False when there is no answer."""
        if outcome.answer is None:
            self.report.counts["failed_calls"] += 1
            return False
        self.report.counts["answers"] += 1
        longest = self.settings.relations.longest_answer
        claims = read_claims(outcome.answer.text, job.candidates, longest, self.report.counts)
        target = Reading(job.target)
        changes: list[Change] = []
        for claim in claims:
            decision = self._decide(claim, target)
            if decision is not None and not {decision.older.id, decision.newer.id} & self.hidden:
                changes.append(decision.change())
                if changes[-1].after is not Status.ACTIVE:
                    self.hidden.add(changes[-1].record_id)
        # The mark goes into the transaction of the changes: a killed run never decides a target twice.
        applied = self.store.apply(self.user_id, changes, method=self.method, done=[job.target.id])
        self.report.changes.extend(applied)
        self.report.counts["skipped_changed"] += len(changes) - len(applied)
        self.report.counts.update(change.relation.value for change in applied)
        return True

    def _decide(self, claim: Claim, target: Reading) -> Decision | None:
        case = Case(claim, Reading(claim.candidate), target)
        if reason := refusal(case):
            self.report.counts[f"refused_{reason}"] += 1
            return None
        part = outdated_part(case) if claim.relation is Relation.SUPERSEDE else None
        return Decision(
            claim.relation, claim.candidate, target.record, claim.basis, claim.scope, claim.anchor,
            "the anchor stands in the target", part, self.client.name,
        )  # fmt: skip

    def _failure(self, failed: Sequence[Outcome]) -> ModelServiceError:
        first = failed[0].failure
        why = f"{first.kind}: {first.message}" if first else "no answer"
        return ModelServiceError(
            f"endpoint {self.client.name!r}: {len(failed)} relation requests failed ({why}); what was decided is kept, "
            "run consolidation again to go on"
        )
