"""From admitted turns to memory records: as given, or through an extractor with its windows and its fallback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError
from engrain.runtime.extraction.windows import Window, cut_windows, select_turns
from engrain.runtime.schema import ExtractedRecord, MemoryRecord, Role, Scope, Turn, WindowStyle
from engrain.runtime.storage.protocol import Admission, Failure, NewTurn, Store
from engrain.runtime.timestamps import record_interval

if TYPE_CHECKING:
    from engrain.runtime.extraction.extractor import Extractor
    from engrain.runtime.extraction.parsing import ParseResult

AS_GIVEN = "as_given"
NOT_REMEMBERED = "source_not_remembered"
"""Reason of a record whose source turn is of a role that is not remembered."""

_KEEPING = frozenset({Admission.ADMITTED, Admission.AS_GIVEN})


@dataclass(slots=True)
class Drafts:
    """Records to be written, what could not be used, and how many turns fell back to their own words."""

    records: list[MemoryRecord] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    fell_back: int = 0


@dataclass(frozen=True, slots=True)
class Drafter:
    """Makes records of one add. `roles` are those that are remembered; `metadata` goes into every record."""

    store: Store
    scope: Scope
    extractor: Extractor | None
    roles: Sequence[Role]
    metadata: Mapping[str, Any]

    def draft(self, judged: Sequence[NewTurn]) -> Drafts:
        """Records of the turns that are kept, in the order of their turns.

        With an extractor, windows of each session that hold a kept turn are read, with the last earlier messages as
        context (DimMem section 3.2); records may come from every remembered turn of a window. A turn falls back to
        its own words when it was admitted by the gate, or its window's answer failed, and no record came from it:
        without a gate the extractor alone decides what a readable window is worth.
        """
        if self.extractor is None:
            kept = [new.turn for new in judged if new.admission in _KEEPING]
            return Drafts([self._as_given(turn) for turn in kept])
        drafts = Drafts()
        windows = [window for window in self._windows(judged) if self._is_wanted(window, judged)]
        failed: set[str] = set()
        for window, result in zip(windows, self.extractor.extract(windows), strict=True):
            self._take(drafts, window, result)
            if result.rejects or result.truncated or not result.valid_json:
                failed.update(turn.id for turn in window.new_turns)
        self._fall_back(drafts, judged, failed)
        return drafts

    def _windows(self, judged: Sequence[NewTurn]) -> Iterator[Window]:
        assert self.extractor is not None
        style, overlap = self.extractor.style, self.extractor.overlap
        shown = (Role.USER,) if style is WindowStyle.LONGMEMEVAL else tuple(Role)
        turns = sorted((new.turn for new in judged), key=lambda turn: turn.session_id)
        for session_id, group in groupby(turns, key=lambda turn: turn.session_id):
            new = select_turns(list(group), style)
            if not new:
                continue
            stored = self.store.recent_turns(self.scope, session_id, new[0].timestamp, overlap, shown)
            earlier = [stored_turn.turn for stored_turn in stored]
            cut = cut_windows([*earlier, *new], style=style, size=self.extractor.size, overlap=overlap)
            yield from [Window(cut[0].turns, len(earlier)), *cut[1:]]

    def _is_wanted(self, window: Window, judged: Sequence[NewTurn]) -> bool:
        kept = {new.turn.id for new in judged if new.admission in _KEEPING}
        return any(turn.id in kept for turn in window.new_turns)

    def _take(self, drafts: Drafts, window: Window, result: ParseResult) -> None:
        session_id, identity = window.turns[0].session_id, self._identity
        for reject in result.rejects:
            drafts.failures.append(Failure(session_id, str(reject.reason), reject.raw, identity))
        for extracted in result.records:
            turn = window.turns[extracted.source_id - 1]
            if turn.role in self.roles:
                drafts.records.append(self._extracted(extracted, turn, len(drafts.records)))
            else:
                failure = Failure(session_id, NOT_REMEMBERED, extracted.model_dump_json(), identity)
                drafts.failures.append(failure)

    def _fall_back(self, drafts: Drafts, judged: Sequence[NewTurn], failed: set[str]) -> None:
        covered = {turn_id for record in drafts.records for turn_id in record.source_turn_ids}
        for new in judged:
            due = new.admission is Admission.ADMITTED or (new.admission in _KEEPING and new.turn.id in failed)
            if due and new.turn.id not in covered:
                drafts.records.append(self._as_given(new.turn))
                drafts.fell_back += 1
        order = {new.turn.id: place for place, new in enumerate(judged)}
        drafts.records.sort(key=lambda record: order[record.source_turn_ids[0]])

    @property
    def _identity(self) -> str:
        return self.extractor.identity if self.extractor else AS_GIVEN

    def _as_given(self, turn: Turn) -> MemoryRecord:
        return self._record(turn, turn.text, AS_GIVEN, 0)

    def _extracted(self, extracted: ExtractedRecord, turn: Turn, number: int) -> MemoryRecord:
        dimension = extracted.dimension
        start, end = event_interval(dimension.time, turn.timestamp)
        return self._record(turn, extracted.content, self._identity, number).model_copy(
            update={
                "memory_type": dimension.memory_type,
                "time": dimension.time,
                "location": dimension.location,
                "reason": dimension.reason,
                "purpose": dimension.purpose,
                "keywords": dimension.keywords,
                "event_start": start,
                "event_end": end,
            }
        )

    def _record(self, turn: Turn, content: str, extractor: str, number: int) -> MemoryRecord:
        owner = (self.scope.user_id, self.scope.agent_id or "", self.scope.run_id or "")
        return MemoryRecord(
            id=text_hash("record", *owner, turn.id, extractor, content, str(number))[:32],
            scope=self.scope,
            content=content,
            source_time=turn.timestamp,
            source_speaker=turn.speaker,
            ingest_time=datetime.now(UTC),
            source_turn_ids=(turn.id,),
            extractor=extractor,
            embedder=self.store.embedder,
            metadata=dict(self.metadata),
        )


def event_interval(time: str, source_time: datetime) -> tuple[datetime | None, datetime | None]:
    """The half-open interval that a record's time field names, in the zone of its message; none when it names none."""
    if not time.strip():
        return None, None
    try:
        return record_interval(time, source_time.tzinfo or UTC)
    except InputError:
        return None, None
