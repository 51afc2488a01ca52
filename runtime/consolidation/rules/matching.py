"""Does an older record say what a newer one takes back, and is that all it says?"""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re
from dataclasses import dataclass

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.agents import other_agent
from engrain.runtime.consolidation.rules.coverage import DAY_PARTS, HEADS, TIME_WORDS, covers, residue, trim, window
from engrain.runtime.consolidation.rules.equal import LIGHT
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.retractions import Retraction
from engrain.runtime.consolidation.rules.support import same_slot
from engrain.runtime.consolidation.rules.takebacks import Kind
from engrain.runtime.schema import MemoryType

_FOR_NOW = re.compile(r"\b(?:tonight|today|right now|for now|at the moment|this (?:week|morning|evening|time))\b", re.I)
_HOME = re.compile(
    r"\b(?:liv(?:es?|ing)|resid\w+|based|home|address|stay\w*|flat|house|meeting|office|class)\b", re.IGNORECASE
)
_INSTEAD = re.compile(r"\s*(?:instead|rather|in place)\b", re.IGNORECASE)
_HABIT = re.compile(
    r"\b(?:takes?|goes|go|attends?|plays?|does|eats?|drinks?|meets?|trains?|visits?|has \w+ on)\b|\d:\d\d",
    re.IGNORECASE,
)
_HELD = re.compile(r"\b(?:own(?:s|ed)?|ha(?:s|ve)|drives?|rides?|keeps?|got|plays?|uses?)\b", re.IGNORECASE)
_BELONGS = re.compile(
    r"\b(?:work(?:s|ed|ing)?|job|member|employ\w*|stud(?:y|ies|ying)|volunteer\w*|teach\w*|train\w*|team|join\w*|intern\w*|"
    r"dating|relationship|part of|belongs?|sings?|plays?|attend\w*|goes to|enrol\w*|on the|married|engaged|together|manager|boss|coach|trainer|tutor|lives?|nurse|position|role|(?:is|am|are) (?:in|on)|is an?|is the|is (?:Dr|Mr|Mrs|Ms|Prof)\b\.?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Struck:
    """The stretch of the older record that is outdated; `whole` when nothing else is left to say."""

    start: int
    end: int
    whole: bool


def match(retraction: Retraction, older: Reading, newer: Reading) -> Struck | None:
    """Where the older record says what is taken back, or None when it does not say it, or says more than that."""
    for unit in (*older.parts, *older.sentences):
        sentence = _sentence_of(older, unit)
        if (
            _says(retraction, unit)
            and not _by_another(retraction, older, newer)
            and _PREDICATES[retraction.kind](retraction, unit, sentence, older, newer)
        ):
            return _strike(retraction, unit, older, newer)
    return None


_OWN_DOING = frozenset({Kind.DONE, Kind.ENDED, Kind.PARTED, Kind.LEFT, Kind.PREFERENCE})


def _by_another(retraction: Retraction, older: Reading, newer: Reading) -> bool:
    return retraction.kind in _OWN_DOING and other_agent(older, newer, retraction.anchor)


def required(retraction: Retraction) -> frozenset[str]:
    """Words without which no older record says what is taken back."""
    optional = wording.GENERIC_NOUNS if retraction.kind is Kind.PREFERENCE else HEADS
    return retraction.old.norms - (optional - retraction.old.named) - TIME_WORDS


def _says(retraction: Retraction, unit: Clause) -> bool:
    preference = retraction.kind is Kind.PREFERENCE
    if unit.past_habit or not covers(retraction.old, unit, wording.GENERIC_NOUNS if preference else HEADS):
        return False
    return preference or not unit.hedged


def _preference(retraction: Retraction, unit: Clause, sentence: Clause, older: Reading, newer: Reading) -> bool:
    passing = _FOR_NOW.search(retraction.anchor.masked)
    compared, now = _COMPARED.search(retraction.anchor.masked), cues.NOW_CUE.search(newer.masked)
    if compared and not now and (compared[0].lower().endswith(" to") or not _FIRST.search(unit.masked)):
        return False  # liking one thing more ends no liking of the other
    return (unit.liking or sentence.liking) == retraction.liking and not passing


_COMPARED = re.compile(r"\b(?:than|over|compared to)\b|\bprefer\w*\b.*\bto\b", re.IGNORECASE)
_FIRST = re.compile(r"\b(?:prefer\w*|favou?rite|rather|sooner|most|best|only|always|number one|top)\b", re.IGNORECASE)


def _ended(retraction: Retraction, unit: Clause, sentence: Clause, older: Reading, newer: Reading) -> bool:
    if _past_event(older, sentence) or unit.negative or one_off(newer, older) or not _same_subject(retraction, older):
        return False
    if _other_times(retraction.old, unit):
        return False
    # Liking a thing survives giving it up, unless it is the liking that ended.
    return not (unit.liking or (sentence.liking and not _HELD.search(unit.masked)))


def _parted(retraction: Retraction, unit: Clause, sentence: Clause, older: Reading, newer: Reading) -> bool:
    return bool(_HELD.search(unit.masked)) and _ended(retraction, unit, sentence, older, newer)


def _left(retraction: Retraction, unit: Clause, sentence: Clause, older: Reading, newer: Reading) -> bool:
    return bool(_BELONGS.search(unit.masked)) and _ended(retraction, unit, sentence, older, newer)


def _cancelled(retraction: Retraction, unit: Clause, sentence: Clause, older: Reading, newer: Reading) -> bool:
    if unit.negative or one_off(newer, older) or not _same_subject(retraction, older):
        return False
    if wording.ONE_OFF.search(newer.masked) and _HABIT.search(unit.masked) and not sentence.due:
        return False
    if "no longer" in retraction.anchor.masked:
        return sentence.due
    return sentence.due or not _past_event(older, sentence)


def _removed(retraction: Retraction, unit: Clause, sentence: Clause, older: Reading, newer: Reading) -> bool:
    scope = retraction.context - wording.GENERIC_NOUNS - wording.FRAME_WORDS
    return not unit.negative and not recurs_once(older, newer) and (scope <= older.norms or bool(scope & older.norms))


def _done(retraction: Retraction, unit: Clause, sentence: Clause, older: Reading, newer: Reading) -> bool:
    if recurs_once(older, newer) or wording.RECURRING.search(sentence.masked):
        return False
    # The cue stands before the task: "needs to call Ana", "has the task 'call Ana'", "is reading Emma".
    if {t.norm for t in unit.tokens if t.named and not t.date} - newer.norms:
        return False  # a present for Lena is not any present
    cue = wording.OBLIGATION.search(sentence.masked)
    first = min(token.start for token in unit.tokens if token.norm in retraction.old.norms)
    return cue is not None and sentence.start + cue.start() <= first and not sentence.past_habit


def _replaced(retraction: Retraction, unit: Clause, sentence: Clause, older: Reading, newer: Reading) -> bool:
    if one_off(newer, older) or unit.negative:
        return False
    if not _same_subject(retraction, older) or (_moved_home(retraction) and not _HOME.search(unit.masked)):
        return False
    if _INSTEAD.match(retraction.anchor.masked) and _FOR_NOW.search(newer.masked):
        return False
    if retraction.stated and retraction.stated <= unit.norms:
        return False
    shared = (newer.norms & older.norms) - retraction.old.norms - wording.FRAME_WORDS
    if retraction.kind is Kind.CORRECTED:
        return _same_event(retraction, older, newer, shared)
    named = bool(retraction.old.named - frozenset(t.norm for t in retraction.old.tokens if t.number))
    if not named and not shared and len(retraction.old.norms - LIGHT) < 2:
        return False
    return not _past_event(older, sentence) and not (named and _other_object(retraction, unit, older, newer))


def _other_object(retraction: Retraction, unit: Clause, older: Reading, newer: Reading) -> bool:
    """A name for a name, but the thesis is not the report: behind the same verb each side has another plain noun."""
    return same_slot(unit.tokens, newer.tokens, older, newer)


_PREDICATES = {
    Kind.PREFERENCE: _preference,
    Kind.ENDED: _ended,
    Kind.PARTED: _parted,
    Kind.LEFT: _left,
    Kind.CANCELLED: _cancelled,
    Kind.REMOVED: _removed,
    Kind.DONE: _done,
    Kind.REPLACED: _replaced,
    Kind.CORRECTED: _replaced,
}


def _other_times(old: Clause, unit: Clause) -> bool:
    """What ended on Fridays, or in the evening, goes on on Mondays and in the morning."""
    days = {token.norm for token in unit.tokens if token.date} - old.norms
    parts = (old.norms - unit.norms) & DAY_PARTS
    return bool(parts or (days and any(token.date for token in old.tokens)))


def _same_subject(retraction: Retraction, older: Reading) -> bool:
    """What the newer clause speaks of is what the older record speaks of."""
    missing = retraction.context - wording.FRAME_WORDS - older.norms - HEADS
    # A trainer is whom one trains with, a membership what a member has.
    return all(any(len(o) > 3 and word.startswith(o) for o in older.norms) for word in missing)


def _same_event(retraction: Retraction, older: Reading, newer: Reading, shared: frozenset[str]) -> bool:
    """A correction speaks of the same event: all its other names again, and two other words or all there are."""
    rest = older.norms - retraction.old.norms - wording.FRAME_WORDS
    names = {token.norm for token in older.tokens if token.named} - retraction.old.norms
    if not names <= newer.norms or not (len(shared) >= 2 or rest <= newer.norms):
        return False
    # A concert ticket is not corrected by a theatre ticket: what is missing must not have been replaced.
    extra = {token.norm for token in newer.tokens if not token.named} - older.norms - wording.CORRECTION_WORDS
    return rest <= newer.norms or not extra - wording.FRAME_WORDS


def _moved_home(retraction: Retraction) -> bool:
    """ "User moved from A to B" ends living in A, and nothing else that happened there."""
    return not retraction.context and bool(
        re.match(r"(?:mov|relocat)\w*\s+(?:away |over )?from\b", retraction.anchor.masked, re.IGNORECASE)
    )


_FINISHED = re.compile(
    r"^\W*(?:on [^,]+, )?(?:the |my |user's |our |(?!the |my |our |user's ))(?:[\w'’-]+ ){1,3}?(?:(?:was|were|had)\b(?! (?:going|planning|due|meant|supposed|to)\b)|"
    r"(?!planned|booked|reserv|order|sign|regist|enrol|decid|agre|arrang|schedul|join|start|subscr|hir|rent|want|need|us)"
    r"(?<!is )(?<!are )(?<!has )(?<!have )(?<!am )(?<!get )[a-z]{2,}ed\b)",
    re.IGNORECASE,
)
"""A plain past: what was, or was done, once; no booking, plan or membership, which go on."""


def _past_event(older: Reading, sentence: Clause) -> bool:
    """Something that happened once stays true."""
    if _FINISHED.match(sentence.masked) and not sentence.due:
        return True
    eventive = bool(wording.EVENTIVE.search(sentence.masked)) and not sentence.due
    return eventive and older.record.memory_type in (MemoryType.EPISODIC, None)


def one_off(newer: Reading, older: Reading) -> bool:
    """One occasion does not end a habit."""
    habit = wording.RECURRING.search(older.masked) or older.record.memory_type is MemoryType.PROFILE
    return bool(habit and wording.ONE_OFF.search(newer.masked))


def recurs_once(older: Reading, newer: Reading) -> bool:
    return bool(wording.RECURRING.search(older.masked) and not wording.RECURRING.search(newer.masked))


def _sentence_of(older: Reading, unit: Clause) -> Clause:
    return next(sentence for sentence in older.sentences if sentence.start <= unit.start and unit.end <= sentence.end)


def _strike(retraction: Retraction, unit: Clause, older: Reading, newer: Reading) -> Struck:
    # A sentence matched as a whole may hold the old value in one of its parts only.
    inside = [part for part in older.parts if _within(part, unit)]
    named = retraction.old.norms - {retraction.old.tokens[0].norm}  # "plays chess and poker": the verb is not repeated
    unit = next(
        (part for part in inside if covers(retraction.old, part)),
        next((part for part in inside if named - HEADS and named - HEADS <= part.norms), unit),
    )
    start, end = trim(older, unit.start, unit.end)
    if retraction.kind is Kind.REMOVED:
        start, end = window(retraction.old.norms, unit)
        left = {token.norm for token in older.tokens if token.end <= start or token.start >= end}
        only = (
            older.masked.count("__") and not re.search(r"_[^_]+_", older.masked) and retraction.old.norms <= unit.norms
        )
        return Struck(start, end, whole=bool(only) or not left - wording.FRAME_WORDS - newer.norms)
    return Struck(start, end, whole=not residue(older, start, end, newer))


def _within(part: Clause, unit: Clause) -> bool:
    return unit.start <= part.start and part.end <= unit.end
