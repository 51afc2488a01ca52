"""Evidence before hiding (SLICE-Mem A.4): a model's claim is checked against the two records; what fails is ignored.

The paper's checks: anchor, basis, same event, strict order. Beyond the paper: the words of others and words about the
memory itself are no evidence (prompt injection), nor are wishes and questions; two people are two; a copy may hide
nothing that only it says; the pair must speak of one thing, and the anchor must say something that the candidate does
not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from engrain.runtime.consolidation.answers import Claim
from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.classify import other_person
from engrain.runtime.consolidation.rules.coverage import residue, trim
from engrain.runtime.consolidation.rules.equal import event_like, shares_date, shares_source
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.schema import Relation

BASES: dict[Relation, frozenset[str]] = {
    Relation.DEDUP: frozenset({"same_fact", "same_event"}),
    Relation.SUPERSEDE: frozenset({"event_correction", "state_change"}),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A claim about a pair. `older` is the candidate, `newer` the target."""

    claim: Claim
    older: Reading
    newer: Reading

    @property
    def relation(self) -> Relation:
        """What is claimed."""
        return self.claim.relation

    def anchor(self) -> Clause | None:
        """The claimed anchor's place in the target, spaces and case aside; None when the target does not hold it."""
        wanted = _plain(self.claim.anchor)
        found = _plain(self.newer.text).find(wanted) if wanted else -1
        return None if found < 0 else self.newer.clause(found, found + len(wanted))


def _plain(text: str) -> str:
    """Case and kinds of space and quotation mark aside, length kept."""
    folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in text.strip())
    table = {ord("’"): "'", ord("‘"): "'", ord("“"): '"', ord("”"): '"', ord("\u00a0"): " ", ord("\n"): " "}
    return unicodedata.normalize("NFC", folded).translate(table)


def _anchor_missing(case: Case) -> bool:
    anchor = case.anchor()
    return anchor is None or not anchor.tokens


def _basis_unsupported(case: Case) -> bool:
    return case.claim.basis not in BASES[case.relation]


def _scope_missing(case: Case) -> bool:
    return not any(character.isalnum() for character in case.claim.scope)


def _order_unknown(case: Case) -> bool:
    earlier = case.older.record.source_time < case.newer.record.source_time
    return case.relation is Relation.SUPERSEDE and not earlier


def _event_not_shared(case: Case) -> bool:
    """An episodic duplicate needs a same-event basis, and a shared source or an explicit shared date."""
    if case.relation is not Relation.DEDUP or not (event_like(case.older) or event_like(case.newer)):
        return False
    shared = shares_source(case.older, case.newer) or shares_date(case.older, case.newer)
    return case.claim.basis != "same_event" or not shared


def _event_not_corrected(case: Case) -> bool:
    """What happened is not outdated by what happened later; only an explicit correction outdates an event."""
    if case.relation is not Relation.SUPERSEDE or case.claim.basis != "state_change":
        return False
    past = event_like(case.older) and not any(sentence.due for sentence in case.older.sentences)
    return past and bool(wording.EVENTIVE.search(case.older.masked))


def _not_own_words(case: Case) -> bool:
    return case.newer.foreign


def _not_stated(case: Case) -> bool:
    """Wished, asked, possible: the sentence of the anchor does not state it."""
    anchor = case.anchor()
    if anchor is None or case.relation is not Relation.SUPERSEDE:
        return False
    return any(s.hedged for s in case.newer.sentences if s.start <= anchor.start < s.end)


def _other_person(case: Case) -> bool:
    return other_person(case.older, case.newer)


def _nothing_shared(case: Case) -> bool:
    """Two records that share no word of their own are not about one thing."""
    shared = case.older.norms & case.newer.norms - wording.FRAME_WORDS
    return not shared - wording.GENERIC_NOUNS and not (case.older.norms <= case.newer.norms)


def _would_lose(case: Case) -> bool:
    """A copy that is dropped must say nothing, by name or number, that the kept one does not say."""
    if case.relation is not Relation.DEDUP:
        return False
    kept = case.older.norms
    return any(token.named and not token.date and token.norm not in kept for token in case.newer.tokens[1:])


def _polarity_differs(case: Case) -> bool:
    if case.relation is not Relation.DEDUP:
        return False
    first, second = (reading.clause(0, len(reading.text)) for reading in (case.older, case.newer))
    return first.liking * second.liking == -1 or (not first.liking and first.negative != second.negative)


def _nothing_new(case: Case) -> bool:
    """The anchor of a change says something that the older record does not say, or denies it."""
    anchor = case.anchor()
    if anchor is None or case.relation is not Relation.SUPERSEDE:
        return False
    return anchor.norms <= case.older.norms and not anchor.negative


VALIDATORS: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    ("anchor_missing", _anchor_missing),
    ("basis_unsupported", _basis_unsupported),
    ("scope_missing", _scope_missing),
    ("order_unknown", _order_unknown),
    ("event_not_shared", _event_not_shared),
    ("event_not_corrected", _event_not_corrected),
    ("not_own_words", _not_own_words),
    ("not_stated", _not_stated),
    ("other_person", _other_person),
    ("nothing_shared", _nothing_shared),
    ("would_lose", _would_lose),
    ("polarity_differs", _polarity_differs),
    ("nothing_new", _nothing_new),
)
"""Name of the refusal, and whether it applies. Every one is counted under its name."""


def refusal(case: Case) -> str | None:
    """Why a claim that would hide a record is not followed; None when every check holds."""
    if case.relation not in BASES:
        return None
    return next((name for name, applies in VALIDATORS if applies(case)), None)


def outdated_part(case: Case) -> tuple[int, int] | None:
    """The one part of the candidate that the target is about, when the candidate says more than that; else None."""
    about = case.newer.norms | frozenset(case.claim.scope.lower().split())
    scores = [len(part.norms & about - wording.FRAME_WORDS) for part in case.older.parts]
    if not scores or max(scores) == 0:
        return None
    best = case.older.parts[scores.index(max(scores))]
    start, end = trim(case.older, best.start, best.end)
    return (start, end) if residue(case.older, start, end, case.newer) else None
