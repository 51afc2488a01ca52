"""DimMem's update (section 3.4): pairs by type and keywords, then cosine, then MERGE, SUPERSEDE or KEEP_BOTH.

A merge never rewrites: it adds a record that links to both and supersedes them, so every original stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np

from engrain.runtime.consolidation import prompts
from engrain.runtime.consolidation.answers import parse_object
from engrain.runtime.consolidation.candidates import filtered_pairs
from engrain.runtime.consolidation.decisions import Decision, Report
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.settings import ConsolidationSettings
from engrain.runtime.consolidation.update_checks import UpdateCase, update_refusal
from engrain.runtime.embedding import Embedder
from engrain.runtime.errors import ModelServiceError
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, ModelClient, Outcome, Stage
from engrain.runtime.retrieval.surface import dense_text
from engrain.runtime.schema import Change, MemoryRecord, Relation, Status
from engrain.runtime.storage.protocol import Store, Vectors

Pair = tuple[MemoryRecord, MemoryRecord]


class DimensionUpdater:
    """Asks a model about every pair that the dimensions let through and that has a record not compared before."""

    def __init__(self, client: ModelClient, embedder: Embedder, settings: ConsolidationSettings | None = None) -> None:
        self._client, self._embedder = client, embedder
        self.settings = settings or ConsolidationSettings()
        self.method = f"update/{client.name}/{prompts.UPDATE_HASH}"

    def run(self, store: Store, user_id: str, records: Sequence[MemoryRecord], report: Report) -> None:
        """Decide over the active records of one scope. Raises `ModelServiceError` when a call failed for good."""
        done = store.consolidated(user_id, self.method)
        fresh = {record.id for record in records if record.id not in done}
        if not fresh:
            return
        ordered = sorted(records, key=lambda record: record.source_time)
        pairs = candidate_pairs(ordered, fresh, self._embedder, self.settings, report)
        _Update(self._client, self._embedder, self.settings, store, user_id, report).run(pairs)
        store.apply(user_id, (), method=self.method, done=sorted(fresh))


def candidate_pairs(
    ordered: Sequence[MemoryRecord],
    fresh: set[str],
    embedder: Embedder,
    settings: ConsolidationSettings,
    report: Report,
) -> list[Pair]:
    """Pairs (older, newer) that pass the filter and the cosine. Only records of filtered pairs are embedded."""
    places = [
        (older, newer)
        for older, newer in filtered_pairs(ordered, settings.dimensions)
        if {ordered[older].id, ordered[newer].id} & fresh
    ]
    needed = sorted({place for pair in places for place in pair})
    report.counts["filtered_pairs"] += len(places)
    report.counts["embedded"] += len(needed)
    if not needed:
        return []
    vectors = embedder.embed([dense_text(ordered[place]) for place in needed])
    rows = {place: row for row, place in enumerate(needed)}
    near = [
        (ordered[older], ordered[newer])
        for older, newer in places
        if float(vectors[rows[older]] @ vectors[rows[newer]]) >= settings.dimensions.min_cosine
    ]
    report.counts["near_pairs"] += len(near)
    return near


@dataclass
class _Update:
    client: ModelClient
    embedder: Embedder
    settings: ConsolidationSettings
    store: Store
    user_id: str
    report: Report
    hidden: set[str] = field(default_factory=set)

    def run(self, pairs: Sequence[Pair]) -> None:
        calls = [
            Call(prompts.update_request(newer, older, self.settings.relations), Stage.CONSOLIDATE)
            for older, newer in pairs
        ]
        outcomes = answer_all(self.client, calls)
        failed = [outcome for outcome in outcomes if outcome.answer is None]
        for (older, newer), outcome in zip(pairs, outcomes, strict=True):
            if outcome.answer is not None and not {older.id, newer.id} & self.hidden:
                self._settle(older, newer, outcome)
        if failed:
            why = failed[0].failure.message if failed[0].failure else "no answer"
            raise ModelServiceError(
                f"endpoint {self.client.name!r}: {len(failed)} update requests failed ({why}); what was decided is "
                "kept, run consolidation again to go on"
            )

    def _settle(self, older: MemoryRecord, newer: MemoryRecord, outcome: Outcome) -> None:
        assert outcome.answer is not None
        document = parse_object(outcome.answer.text, self.settings.relations.longest_answer)
        action = str(document.get("action", "")).strip().upper() if document else ""
        if action not in ("MERGE", "SUPERSEDE", "KEEP_BOTH"):
            self.report.counts["unparseable"] += 1  # unparseable is KEEP_BOTH
            return
        if action == "KEEP_BOTH":
            self.report.counts["keep_both"] += 1
            return
        given = document.get("content") if document else None
        content = given.strip() if isinstance(given, str) and given.strip() else _joined(older, newer)
        case = UpdateCase(action, Reading(older), Reading(newer), content)
        if reason := update_refusal(case):
            self.report.counts[f"refused_{reason}"] += 1
            return
        self._write(case, older, newer)

    def _write(self, case: UpdateCase, older: MemoryRecord, newer: MemoryRecord) -> None:
        if case.action == "SUPERSEDE":
            changes: Sequence[Change] = self.store.apply(self.user_id, [self._supersession(older, newer)])
        else:
            record = merged_record(older, newer, case.content, self.client.name, self.embedder.identity)
            [vector] = self.embedder.embed([dense_text(record)])
            changes = self._merge(record, vector, older, newer)
        self.report.changes.extend(changes)
        self.report.counts[case.action.lower()] += bool(changes)
        self.hidden.update(change.record_id for change in changes)

    def _supersession(self, older: MemoryRecord, newer: MemoryRecord) -> Change:
        evidence = f"same type and keywords: {', '.join(sorted(_shared(older, newer)))}"
        return Decision(
            Relation.SUPERSEDE, older, newer, "state_change", evidence=evidence, decided_by=self.client.name
        ).change()

    def _merge(
        self, record: MemoryRecord, vector: Vectors, older: MemoryRecord, newer: MemoryRecord
    ) -> Sequence[Change]:
        at = datetime.now(UTC)
        evidence = f"same type and keywords: {', '.join(sorted(_shared(older, newer)))}"
        changes = [
            Change(
                id=uuid4().hex, record_id=merged.id, other_id=record.id, before=Status.ACTIVE, after=Status.SUPERSEDED,
                relation=Relation.MERGE, basis="same_fact", evidence=evidence, decided_by=self.client.name,
                decided_at=at,
            )
            for merged in (older, newer)
        ]  # fmt: skip
        return self.store.merge(self.user_id, record, vector, changes)


def merged_record(older: MemoryRecord, newer: MemoryRecord, content: str, model: str, embedder: str) -> MemoryRecord:
    """The record that says what both say; where a field is single, the newer one's, or the older's when it has none."""
    return newer.model_copy(
        update={
            "id": uuid4().hex,
            "content": content,
            "time": newer.time or older.time,
            "location": newer.location or older.location,
            "reason": newer.reason or older.reason,
            "purpose": newer.purpose or older.purpose,
            "keywords": tuple(dict.fromkeys((*newer.keywords, *older.keywords))),
            "event_start": newer.event_start or older.event_start,
            "event_end": newer.event_end or older.event_end,
            "ingest_time": datetime.now(UTC),
            "source_turn_ids": tuple(dict.fromkeys((*older.source_turn_ids, *newer.source_turn_ids))),
            "superseded_spans": (),
            "links": (),
            "extractor": f"merge/{model}",
            "embedder": embedder,
            "metadata": {**older.metadata, **newer.metadata},
        }
    )


def _joined(older: MemoryRecord, newer: MemoryRecord) -> str:
    """Both texts, one after the other: what a merge keeps when the model gave none of its own."""
    return f"{older.content.rstrip()} {newer.content.lstrip()}"


def _shared(older: MemoryRecord, newer: MemoryRecord) -> frozenset[str]:
    first, second = (frozenset(word.lower() for word in record.keywords) for record in (older, newer))
    return first & second


def embed_all_pairs(
    ordered: Sequence[MemoryRecord], embedder: Embedder, min_cosine: float = 0.85
) -> tuple[list[Pair], int]:
    """The baseline of DimMem's table 5: everything embedded, every pair of that cosine; and how much was embedded."""
    vectors = embedder.embed([dense_text(record) for record in ordered])
    pairs: list[Pair] = []
    for place in range(1, len(ordered)):
        near = np.flatnonzero(vectors[:place] @ vectors[place] >= min_cosine)
        pairs.extend((ordered[int(earlier)], ordered[place]) for earlier in near)
    return pairs, len(ordered)
