"""The same fact or event told twice: equal content words, equal polarity, equal standing."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.duplicates import normalised_body
from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.rules.tokens import of_one_root
from engrain.runtime.consolidation.rules.vetoes import crossed
from engrain.runtime.schema import MemoryType

LIGHT = wording.words(
    "pay take have go make use get still turn becom was start do date work be call name own contain includ consist end "
    "measur list come put keep run give cost find also total full alreadi currently usual general type kind person "
    "done abl happen occur hold stay set sinc subject topic someth somebodi"
)
"""Words that may stand on one side only: they carry grammar more than meaning."""
LIKING = wording.words("love enjoy dislik hate ador prefer fond stand detest fan")
_ORDER = re.compile(
    r"\b(?:than|prefer\w*\b.*\bto|prefer\w*\b.*\bover|instead|rather|before|after|from\b.*\bto|because)\b|'s\b.*'s\b",
    re.IGNORECASE,
)
_DIRECTED = wording.words(
    "lend borrow owe give send sell pay tell ask beat defeat help teach invit visit hire fire forgiv trust follow report "
    "drive take bring cook kiss hit chase attack push hug thank bite call manag adopt love hate"
)
"""Verbs between two people, where order says who did it to whom."""
_DUE = re.compile(
    r"\b(?:need|has|have|still|plan|going|want|got)\w*\s+to\b|\bwill\b|'ll\b|\bmust\b|\bon (?:my|the|their) list\b|\bto[ -]?do:|\bto-?do\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\W*(?:user noted: )?(?:this|that|it|it's|these|those|here|there(?! (?:is|are)\b))\b", re.IGNORECASE
)
_NEWS = re.compile(
    r"\b(?:again|another|back|now|new|second|third|this time|no longer|any ?more|instead|once more|other|not|never|"
    r"changed|moved|switched|became|stopped|quit|cancel\w*|finished|(?<!be )done|removed|deleted|replaced|off|out of|(?:is|are|was) over|gone|sold|"
    r"lost|ended(?! up)|expired|gave up|given up|instead|dropped|closed|without|hardly|rarely|seldom|most|few|(?<!and a )half(?! past| an| a)|both|none|almost|nearly|all|only)\b|n't\b",
    re.IGNORECASE,
)
_DENIALS = {"not", "n't", "never"}


def same_statement(older: Reading, newer: Reading) -> bool:
    """Whether the newer record says what the older says, and nothing else."""
    if not _same_occasion(older, newer):
        return False
    if _POINTING.match(newer.masked) and not shares_source(older, newer):
        return False  # "This is for work" says the same of another thing
    if older.text.rstrip().endswith("?") != newer.text.rstrip().endswith("?"):
        return False
    if normalised_body(older.text) == normalised_body(newer.text):
        return True
    return bool(older.norms - LIGHT) and signature(older) == signature(newer) and _same_words(older, newer)


def event_like(reading: Reading) -> bool:
    """Something that happens at a time, and may happen again: equal words are then no proof of one event.

    A record without a type (a turn as it was given) may be one.
    """
    return reading.record.memory_type in (MemoryType.EPISODIC, None)


def shares_source(older: Reading, newer: Reading) -> bool:
    """Whether both come from one message."""
    return bool(set(older.record.source_turn_ids) & set(newer.record.source_turn_ids))


def shares_date(older: Reading, newer: Reading) -> bool:
    """Whether both name the same day (A.4: an explicit shared event date)."""
    first, second = older.record.time, newer.record.time
    return len(first) >= len("2026-01-01") and first == second


def _same_occasion(older: Reading, newer: Reading) -> bool:
    if older.record.time and newer.record.time and older.record.time != newer.record.time:
        return False
    if event_like(older) or event_like(newer):
        return shares_source(older, newer) or shares_date(older, newer)
    return True


def _same_words(older: Reading, newer: Reading) -> bool:
    mine, theirs = (reading.norms - LIGHT - LIKING for reading in (older, newer))
    told_again = event_like(older) and shares_source(older, newer)
    if not same_standing(older, newer):
        return False
    if _other_verb(older, newer) or (_happened(older) and not (told_again or shares_date(older, newer))):
        return False
    if not mine or not (mine == theirs or _restated(mine, theirs, newer)):
        return False
    if not told_again and (_has_order(older) or _has_order(newer)) and _sequence(older) != _sequence(newer):
        return False
    return not _two_people(older) or (_opens(older) == _opens(newer) and _names(older) == _names(newer))


def same_standing(older: Reading, newer: Reading) -> bool:
    """Both of the same things in the same direction and of one owner, both as over or as going on, both quoted or not."""
    if crossed(older.clause(0, len(older.text)), newer.clause(0, len(newer.text))) or _owners(older, newer):
        return False
    lasting = not shares_source(older, newer) and not event_like(older)
    if lasting and bool(_FORMER.search(older.masked)) != bool(_FORMER.search(newer.masked)):
        return False
    return not _one_is_done(older, newer) and not _one_quotes(older, newer)


_VERBS = wording.words("work go stay run come keep give hold set find end start call make take get use put turn")
_BEING, _HAVING = wording.words("work go stay"), wording.words("get keep own hold")
_EVENT = re.compile(
    r"\b(?:bought|spent|paid|walked|ran|met|visited|saw|watched|attended|ordered|went|drove|flew|drank|ate|slept|scored|"
    r"donated|played|took|received|sent|won|lost|had (?:a|an|lunch|dinner|breakfast|coffee|\d+)|booked|called)\b",
    re.IGNORECASE,
)
_UNDER_WAY = re.compile(r"\b(?:is|are|am|'m|'re)\s+(?:\w+ly\s+|still\s+)?\w+ing\b", re.IGNORECASE)
_PERFECT = re.compile(
    r"\b(?:has|have|'ve|is|are|was|were)(?: been| now| just| already| finally)*\s+(?:\w+ed|\w+en|read|built|made|done|sold)\b|\b(?:user|i|we)\s+(?:\w+ly\s+)?\w+ed\b",
    re.I,
)
_FORMER = re.compile(r"\b(?:was|were|had|lived|worked|studied|owned|played|drove|taught|kept|rented)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s$")
_COPULA = re.compile(r"\b(?:is|are|am|'s|'m|has|have|likes?|loves?|enjoys?|prefers?|hates?)\b|:", re.IGNORECASE)


_PLACING = wording.words("insid befor after under until dure insid near around first")


def _restated(mine: frozenset[str], theirs: frozenset[str], newer: Reading) -> bool:
    """Words of one root on both sides (deep, depth), or a word of place that the newer record leaves out."""
    lost, gained = mine - theirs, theirs - mine
    if len(mine & theirs) < 2 or event_like(newer):
        return False
    if len(mine & theirs) > 2 and (not gained or not lost) and lost | gained <= _PLACING:
        return True
    return len(lost) == len(gained) == 1 and of_one_root(*lost, *gained) and not min(*lost, *gained).isdigit()


def _other_verb(older: Reading, newer: Reading) -> bool:
    """Working at the library is not going to the library; being there may be either."""
    mine, theirs = older.norms & _VERBS, newer.norms & _VERBS
    if mine == theirs:
        return False
    bare, verbs = (older, theirs) if theirs else (newer, mine)
    if (mine and theirs) or not _COPULA.search(bare.masked):
        return True
    return not verbs <= (
        _HAVING
        if re.search(r"\b(?:has|have)\b", bare.masked)
        else _VERBS - _HAVING
        if bare.parts[0].liking
        else _BEING | _HAVING
    )


def _owners(older: Reading, newer: Reading) -> bool:
    """Ana's boss Ben is not Ben's boss Ana."""
    mine, theirs = (
        {t.norm for t in r.tokens if t.named and _POSSESSIVE.search(r.text[t.start : t.end])} for r in (older, newer)
    )
    return bool(mine and theirs) and mine != theirs


def _one_is_done(older: Reading, newer: Reading) -> bool:
    """Assembling is not having assembled."""
    first, second = (bool(_UNDER_WAY.search(reading.masked)) for reading in (older, newer))
    return first != second and bool(_PERFECT.search((newer if first else older).masked))


_NAMED_IN_QUOTES = re.compile(r"\b(?:called|named)\s+['\"“‘*]_+['\"”’*]")


def _one_quotes(older: Reading, newer: Reading) -> bool:
    """What stands on a list or in a diary is not what was done."""
    quoted = ["___" in _NAMED_IN_QUOTES.sub("", reading.masked) for reading in (older, newer)]
    return quoted[0] != quoted[1]


def _happened(reading: Reading) -> bool:
    """An event by its verb, whatever type the record has."""
    clause = reading.clause(0, len(reading.text))
    return (
        bool(_EVENT.search(reading.masked))
        and not clause.due
        and not re.search(r"\b(?:called|named) [A-Z]", reading.masked)
    )


def _two_people(reading: Reading) -> bool:
    """A verb between two people, or between a person and the user."""
    others = reading.norms & wording.PEOPLE or [t for t in reading.tokens[1:] if t.named and t.norm.isalpha()]
    return bool(reading.norms & _DIRECTED) and bool(others)


_PASSIVE = re.compile(
    r"\b(?:is|are|am|was|were|been|being|got)\s+(?:still |now |just )?(?:\w+ed|lent|sent|given|paid|told|taken|driven|bitten|taught)\b[^.]*\bby\b",
    re.I,
)


def _opens(reading: Reading) -> bool:
    """Whether the user acts: comes first, or behind a "by"."""
    if _PASSIVE.search(reading.masked):
        return bool(re.search(r"\bby (?:the )?(?:user|me)\b", reading.masked, re.IGNORECASE))
    return bool(re.match(r"\W*(?:on [^,]{3,20},? )?(?:user|i|my)\b", reading.masked, re.IGNORECASE))


def _has_order(reading: Reading) -> bool:
    """Words whose order decides the meaning: comparisons, directions, denials of one part of several."""
    return bool(_ORDER.search(reading.masked)) or (
        reading.clause(0, len(reading.text)).negative and len(reading.parts) > 1
    )


def _sequence(reading: Reading) -> list[str]:
    return [token.norm for token in reading.tokens if token.norm not in LIGHT | LIKING]


def _names(reading: Reading) -> list[str]:
    """Names in their order where a clause has two and a verb between: who did it to whom."""
    people = [token.norm for token in reading.tokens[1:] if token.named and token.norm.isalpha() and not token.date]
    return people if len(people) == 2 and not re.search(r"'s| and ", reading.text) else []


def signature(reading: Reading) -> tuple[object, ...]:
    """Polarity, liking, whether it is due, former or hedged, and words that make one of two statements news."""
    due = bool(_DUE.search(reading.masked))
    clause = reading.clause(0, len(reading.text))
    news = sorted(
        {match[0].casefold().replace("n't", "not") for match in _NEWS.finditer(reading.masked)}
        - (_DENIALS if clause.liking or clause.negative else set())
    )
    negative = clause.negative and not clause.liking
    return negative, clause.liking, due, clause.past_habit, clause.hedged, news
