"""From ranked slots to what a caller gets: records, rejected turns, outdated ones that links lead to, replies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from engrain.runtime.retrieval.ranking import Ranked
from engrain.runtime.schema import Hit, MemoryRecord, Status, assembled
from engrain.runtime.storage.protocol import Store, StoredTurn

REJECTED = "rejected"
REJECTED_PREFIX = "turn:"
"""Ids of hits that are rejected turns, not records."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """Ranked records by the store's key, and what explains each, where that was asked for.

    `details` are the matched words and the shares of the dimensions, by place.
    """

    keys: Sequence[int]
    ranked: Sequence[Ranked]
    details: Sequence[tuple[Sequence[str], Mapping[str, float]]] = ()

    def hit(self, place: int, record: MemoryRecord) -> Hit:
        """One of them as a hit."""
        one = self.ranked[place]
        why = one.why(*self.details[place]) if self.details else one.why()
        return assembled(
            Hit, record=record, score=one.score, route_scores=one.scores, why=why, reply=None, linked_from=None
        )


def record_hits(store: Store, user_id: str, found: Keyed, visible: Collection[Status] | None, limit: int) -> list[Hit]:
    """The first `limit` records that are still there, in order. `visible` None: whatever their status is now."""
    hits: list[Hit] = []
    # Nearly always the first `limit` are all there; the rest is read only where one of them has gone meanwhile.
    for first, keys in ((0, found.keys[:limit]), (limit, found.keys[limit:])):
        if keys and len(hits) < limit:
            records = store.records_by_key(user_id, keys)
            hits += [
                found.hit(place, records[key])
                for place, key in enumerate(keys, first)
                if key in records and (visible is None or records[key].status in visible)
            ]
    return hits[:limit]


def linked_hits(pairs: Sequence[tuple[MemoryRecord, MemoryRecord]], scores: Mapping[str, float]) -> list[Hit]:
    """Records that supersession links lead to, each with the score of the hit that led to it."""
    return [
        Hit(
            record=record,
            score=scores[leader.id],
            route_scores={},
            why=f"linked to {leader.id} by supersession",
            linked_from=leader.id,
        )
        for record, leader in pairs
    ]


def rejected_hits(store: Store, user_id: str, found: Sequence[tuple[int, float]], weight: float) -> list[Hit]:
    """Turns that the gate rejected, by the store's key and the share of the question's words that each holds."""
    if not found:
        return []
    turns = {turn.key: turn for turn in store.turns(user_id, keys=[key for key, _ in found])}
    return [
        Hit(
            record=turn_as_record(turns[key], store.embedder),
            score=weight * share,
            route_scores={REJECTED: share},
            why=f"rejected by the gate (p = {turns[key].gate_probability or 0.0:.2f}), {REJECTED} #{place}",
        )
        for place, (key, share) in enumerate(found, start=1)
        if key in turns
    ]


def turn_as_record(turn: StoredTurn, embedder: str) -> MemoryRecord:
    """A rejected turn in the shape of a record, so that it can be a hit. It exists in no table."""
    return MemoryRecord(
        id=REJECTED_PREFIX + turn.turn.id,
        scope=turn.scope,
        content=turn.turn.text,
        source_time=turn.turn.timestamp,
        source_speaker=turn.turn.speaker,
        ingest_time=turn.turn.timestamp,
        source_turn_ids=(turn.turn.id,),
        extractor=REJECTED,
        embedder=embedder,
        metadata=dict(turn.metadata),
    )
