"""Checks of DimMem's decisions, which carry no anchor: type, order, values, and that a merge keeps and adds nothing.

Rules by type (DimMem 3.4): facts are superseded when values differ and merged when complementary; episodes are merged
when they are one event, and outdated only by a correction or while still planned; profiles are merged per preference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.classify import other_person
from engrain.runtime.consolidation.rules.corrections import CUE
from engrain.runtime.consolidation.rules.equal import shares_date, shares_source
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.rules.takebacks import Kind
from engrain.runtime.consolidation.rules.tokens import tokens
from engrain.runtime.schema import MemoryType


@dataclass(frozen=True, slots=True)
class UpdateCase:
    """A decision about a pair; `content` is the text of the merged record."""

    action: str
    older: Reading
    newer: Reading
    content: str


def _types_differ(case: UpdateCase) -> bool:
    return case.older.record.memory_type is not case.newer.record.memory_type


def _order_unknown(case: UpdateCase) -> bool:
    return case.action == "SUPERSEDE" and case.newer.record.source_time <= case.older.record.source_time


def _not_own_words(case: UpdateCase) -> bool:
    return case.newer.foreign


def _other_person(case: UpdateCase) -> bool:
    return other_person(case.older, case.newer)


def _not_stated(case: UpdateCase) -> bool:
    return case.action == "SUPERSEDE" and all(sentence.hedged for sentence in case.newer.sentences)


def _event_stays(case: UpdateCase) -> bool:
    """What happened is outdated by a correction only; what was planned, also by a change of plan."""
    if case.action != "SUPERSEDE" or case.older.record.memory_type is not MemoryType.EPISODIC:
        return False
    taken_back = any(retraction.kind is not Kind.DONE for retraction in case.newer.retractions)
    return not (CUE.search(case.newer.masked) or taken_back or any(s.due for s in case.older.sentences))


def _other_event(case: UpdateCase) -> bool:
    """Two episodes are one event only with a shared source or date, and never with two dates."""
    if case.action != "MERGE" or case.older.record.memory_type is not MemoryType.EPISODIC:
        return False
    times = {case.older.record.time, case.newer.record.time} - {""}
    return len(times) > 1 or not (shares_source(case.older, case.newer) or shares_date(case.older, case.newer))


def _nothing_differs(case: UpdateCase) -> bool:
    """A supersession needs a difference: another word, or the opposite."""
    if case.action != "SUPERSEDE":
        return False
    clause = case.newer.clause(0, len(case.newer.text))
    return case.newer.norms <= case.older.norms and not clause.negative


def _would_lose(case: UpdateCase) -> bool:
    """Every name, number and date of both must stand in the merged text."""
    if case.action != "MERGE":
        return False
    kept = {token.norm for token in tokens(case.content)}
    named = {token.norm for reading in (case.older, case.newer) for token in reading.tokens if token.named}
    return not named <= kept


def _would_invent(case: UpdateCase) -> bool:
    """The merged text says nothing that neither says."""
    if case.action != "MERGE":
        return False
    known = case.older.norms | case.newer.norms
    new = [token for token in tokens(case.content) if token.norm not in known | wording.FRAME_WORDS]
    return any(token.named or token.number for token in new) or len(new) > max(1, len(known) // 6)


def _would_turn(case: UpdateCase) -> bool:
    """Two records of opposite meaning are no merge."""
    first, second = (reading.clause(0, len(reading.text)) for reading in (case.older, case.newer))
    return case.action == "MERGE" and (
        first.liking * second.liking == -1 or (not first.liking and first.negative != second.negative)
    )


UPDATE_CHECKS: tuple[tuple[str, Callable[[UpdateCase], bool]], ...] = (
    ("types_differ", _types_differ),
    ("order_unknown", _order_unknown),
    ("not_own_words", _not_own_words),
    ("other_person", _other_person),
    ("not_stated", _not_stated),
    ("event_stays", _event_stays),
    ("other_event", _other_event),
    ("nothing_differs", _nothing_differs),
    ("would_lose", _would_lose),
    ("would_invent", _would_invent),
    ("would_turn", _would_turn),
)
"""Name of the refusal, and whether it applies."""


def update_refusal(case: UpdateCase) -> str | None:
    """Why a decision is not followed; None when every check holds."""
    return next((name for name, applies in UPDATE_CHECKS if applies(case)), None)
