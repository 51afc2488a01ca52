"""The same statement with another value: equal topic, a value of the same kind in the same slot, and a word of change.

The topic is what both records share; the value is what the older has and the newer has not. Doubt is a veto.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.agents import acts_for_user
from engrain.runtime.consolidation.rules.coverage import DAY_PARTS, residue, trim
from engrain.runtime.consolidation.rules.equal import LIGHT, event_like
from engrain.runtime.consolidation.rules.frames import changed_label, counts_again, is_verb, same_frame
from engrain.runtime.consolidation.rules.matching import Struck, one_off
from engrain.runtime.consolidation.rules.narrowing import OPPOSITE, acts, is_quantity, narrowed, not_opposite, plays
from engrain.runtime.consolidation.rules.reading import Clause, Reading, people
from engrain.runtime.consolidation.rules.support import UNITS, names_topic
from engrain.runtime.consolidation.rules.tokens import Token, normalise
from engrain.runtime.consolidation.rules.vetoes import crossed
from engrain.runtime.schema import MemoryType

_PROGRESS = re.compile(r"\b(?:is|are|am|'m|'re)\s+\w+ing\b", re.IGNORECASE)
_LATER = re.compile(rf"{wording.FUTURE.pattern}", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|n't|hasn't|didn't|isn't|won't|without)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
_TOPICAL = re.compile(
    r"\b(?:with|for|about|of|between|against|from|and)\s+(?:the\s+|a\s+|my\s+|user's\s+)?$", re.IGNORECASE
)
_LABELS = wording.words(
    "room gate platform seat floor hall chapter page version line bus tram track row grade level step"
)
_OCCASION = re.compile(
    r"\b(?:today|tomorrow|tonight|yesterday|this \w+|next \w+|last \w+|(?:mon|tues|wednes|thurs|fri|satur|sun)day)'s\b",
    re.I,
)
SINGLE = wording.words("goal target budget limit rent salari weigh password pin age curfew dosag dose allow")
"""Attributes that have one value at a time, so that another value later needs no word of change."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """The older stretch that is outdated, and the newer clause that says so."""

    struck: Struck
    anchor: Clause
    why: str
    framed: bool = False
    """The two clauses are alike up to the value: no other word need be shared."""


def match_change(older: Reading, newer: Reading) -> Aligned | None:
    """The older statement when the newer gives its slot another value."""
    if wording.SECOND.search(newer.masked) or one_off(newer, older) or _past_event(older):
        return None
    for sentence, explicit in _changed_sentences(newer):
        for unit in (*older.sentences, *older.parts):
            if _WISHED.search(unit.masked) and _DONE.search(sentence.masked) and "instead" not in sentence.masked:
                continue  # What was wished for may still come; something else happened.
            if _same_slot(unit, sentence, older, newer, explicit):
                start, end = trim(older, unit.start, unit.end)
                struck = Struck(start, end, whole=not residue(older, start, end, newer))
                return Aligned(struck, sentence, "another value in the same slot", same_frame(unit, sentence))
    return None


_WISHED = re.compile(r"\b(?:wants?|hopes?|wishes|would like|dreams? of|aims?)\b", re.IGNORECASE)
_DONE = re.compile(
    r"\b(?:User|I) (?:\w+ed|went|saw|took|did|ran|ate|bought|got|made|met|won|swam|rode|drove|flew|read|wrote)\b"
)


def _past_event(older: Reading) -> bool:
    """Something that happened has no later value; something planned has."""
    return older.record.memory_type is MemoryType.EPISODIC and not any(
        s.due or _PROGRESS.search(s.masked) or _LATER.search(s.masked) for s in older.sentences
    )


def _changed_sentences(newer: Reading) -> Iterator[tuple[Clause, bool]]:
    """Sentences that speak of a change as a fact; and whether they do so by a verb of change."""
    for sentence in newer.sentences:
        if sentence.hedged or sentence.past_habit or sentence.negative:
            continue
        found = cues.TURN_CUE.search(sentence.masked)
        turned = found is not None and not _NOT.search(sentence.masked[: found.start()])
        turned = turned or bool(cues.HENCEFORTH.search(sentence.masked))
        if turned or cues.NOW_CUE.search(sentence.masked):
            yield sentence, turned
        elif not event_like(newer):
            yield sentence, False


def _same_slot(unit: Clause, sentence: Clause, older: Reading, newer: Reading, explicit: bool) -> bool:
    if unit.hedged or unit.negative or unit.past_habit or not unit.tokens:
        return False
    topic = (unit.norms & newer.norms) - UNITS
    if people(unit.masked) != people(sentence.masked) and not acts_for_user(sentence.masked, older):
        return False
    if crossed(unit, sentence) or _OCCASION.search(sentence.masked):
        return False
    lost = [
        token
        for token in unit.tokens
        if token.norm not in newer.norms and token.norm not in LIGHT | wording.FRAME_WORDS
    ]
    gained = [token for token in sentence.tokens if token.norm not in older.norms]
    if changed_label(lost, unit, sentence, older) and explicit:
        return True
    if lost and cues.NOW_CUE.search(sentence.masked) and same_frame(unit, sentence):
        return True
    if (explicit or bool(cues.NOW_CUE.search(sentence.masked))) and any(is_quantity(t) for t in lost):
        lost = [t for t in lost if is_quantity(t) or not (is_verb(t, unit) or t.norm in DAY_PARTS)]
        if not explicit and not all(is_quantity(t) or t.norm in UNITS for t in lost):
            return False  # a flight that lands is not one that takes off
    about = any(t.norm in sentence.norms and names_topic(t, older.text) for t in unit.tokens)
    if not lost or not about or not stands_together(lost, unit):
        return False
    if not topic <= sentence.norms | wording.FRAME_WORDS or narrowed(lost, gained, topic, unit, sentence):
        return False
    present = bool(cues.NOW_CUE.search(sentence.masked))
    if (explicit or present) and _about_else(lost, gained, sentence):
        return False
    if not same_kind(lost, gained, unit, sentence, explicit):
        return False
    if not explicit and topic & cues.MANY and not _quantity(lost):
        return False
    if explicit or present:
        return explicit or _quantity(lost) or not any(t.named for t in lost) or bool(cues.EXCLUSIVE.search(unit.masked))
    # Without any word of change: the very same attribute, of one value at a time, with another number or day.
    rest = {t.norm for t in gained if not is_quantity(t)} - wording.FRAME_WORDS - LIGHT
    if any(t.date for t in lost):
        return False
    if counts_again(lost, gained, unit, sentence):
        return not event_like(older)
    return (
        _quantity(lost) and bool(topic & SINGLE) and not rest - _after_value(sentence, gained) and not event_like(older)
    )


_SCHEDULE = wording.words(
    "meet fall hold leav arriv due date time place start end begin move chang cost amount back forward earlier later"
)


def _about_else(lost: list[Token], gained: list[Token], sentence: Clause) -> bool:
    """A verb of change with a noun of its own before the new value changes that thing, not the older record's."""
    values = [t for t in gained if is_quantity(t)] if _quantity(lost) else [t for t in gained if t.named]
    values = values or [t for t in gained if t not in not_opposite(gained, lost)]
    first = values[0].start if values else sentence.end
    rest = (t for t in gained if t.start < first and not t.named)
    return any(not (plays(t) or acts(t, sentence) or t.norm in _SCHEDULE or _turns(t, sentence)) for t in rest)


def _turns(token: Token, sentence: Clause) -> bool:
    surface = sentence.text[token.start - sentence.start : token.end - sentence.start]
    return bool(cues.TURN_CUE.match(surface)) or surface.endswith(("ly", "ed"))


def _after_value(sentence: Clause, gained: list[Token]) -> set[str]:
    """Words behind a comma after the value: reasons, which belong to no attribute."""
    comma = re.search(r"[,;]\s", sentence.masked)
    return {t.norm for t in gained if comma and t.start > sentence.start + comma.start()}


def stands_together(lost: list[Token], unit: Clause) -> bool:
    """One stretch of the older clause, with nothing between that the newer repeats."""
    inside = [t for t in unit.tokens if lost[0].start < t.start < lost[-1].start]
    gone = {token.norm for token in lost}
    return all(t.norm in gone | wording.FRAME_WORDS | LIGHT or t.number for t in inside)


def _quantity(found: list[Token]) -> bool:
    return any(is_quantity(token) for token in found)


def same_kind(lost: list[Token], gained: list[Token], unit: Clause, sentence: Clause, explicit: bool) -> bool:
    """Numbers and days for numbers and days, a name for a name, a word for its opposite."""
    names = [t for t in lost if t.named and not is_quantity(t)]
    if _quantity(lost):
        before = unit.text[: lost[0].start - unit.start]
        if any(t.date for t in lost) and re.search(r"\b(?:for|of|from)\s+(?:the\s+)?$", before):
            return False  # the rent for May
        between = unit.masked[lost[0].end - unit.start : lost[-1].start - unit.start]
        if re.search(r"\b(?:is|are|was|were|starts?|begins?|meets?)\b", between):
            return False  # the class on Monday is not the class on Thursday
        if counted(lost, unit) and counted(gained, sentence) and not counted(lost, unit) & counted(gained, sentence):
            return False  # litres of water are not cups of coffee
        if names or not kinds(lost, unit) <= kinds(gained, sentence):
            return False
        return not _joined_names(gained, sentence)
    if names:
        inside = unit.masked[names[0].end - unit.start : names[-1].start - unit.start]
        between = unit.masked[lost[0].end - unit.start : lost[-1].start - unit.start]
        if re.search(r"\b(?:in|at|on|with|for)\b", inside) or re.search(r"\b(?:is|are|was|were)\b|:", between):
            return False  # two names: a place and a value
        before = unit.text[: lost[0].start - unit.start]
        if _TOPICAL.search(before) and not cues.EXCLUSIVE.search(unit.masked):
            return False
        return any(
            (t.named or sentence.text[t.start - sentence.start].isupper()) and not is_quantity(t) for t in gained
        )
    words = {t.norm for t in lost}
    return any(words & group and {t.norm for t in gained} & group - words for group in OPPOSITE)


def counted(found: list[Token], clause: Clause) -> set[str]:
    """The nouns right behind the numbers: what they count."""
    numbers = [token for token in found if token.number and ":" not in token.norm]
    ends, starts = {token.end for token in numbers}, {token.start for token in numbers}
    return {
        token.norm
        for token in clause.tokens
        if not token.number
        and not token.date
        and token.norm not in wording.FRAME_WORDS | LIGHT
        and (
            token.start in starts
            or any(
                clause.text[end - clause.start : token.start - clause.start] == " "
                for end in ends
                if end <= token.start
            )
        )
    }


def kinds(found: list[Token], clause: Clause) -> set[str]:
    """Clock times, dates, numbers, and numbers behind a noun that they count off: room 4, gate 7."""
    sorts = {"clock" for t in found if ":" in t.norm} | {"date" for t in found if t.date}
    for token in found:
        before = re.search(r"(\w+)\s+$", clause.text[: token.start - clause.start])
        if not token.number or ":" in token.norm:
            continue
        if (
            before
            and before[1].lower() in {"at", "to", "until", "till"}
            and token.norm.isdigit()
            and int(token.norm) < 25
        ):
            sorts |= {"clock", "number"} - ({"number"} if before[1].lower() == "at" else set())
        elif before and normalise(before[1].lower()) in _LABELS:
            sorts.add(before[1].lower())
        elif "date" not in sorts:
            sorts.add("number")
    return sorts


def _joined_names(gained: list[Token], sentence: Clause) -> bool:
    """A name behind a preposition is another topic: the budget for Porto."""
    names = [t for t in gained if t.named and not is_quantity(t)]
    return any(_TOPICAL.search(sentence.text[: t.start - sentence.start]) for t in names)
