"""What a newer record takes back, found by cue: given up, cancelled, removed, done, replaced, no longer liked."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from engrain.runtime.consolidation.rules import preferences, wording
from engrain.runtime.consolidation.rules.reading import Clause, Reading


class Kind(StrEnum):
    """How something stopped being so; each asks something else of the older record."""

    PREFERENCE = "preference"
    ENDED = "ended"
    PARTED = "parted"
    LEFT = "left"
    CANCELLED = "cancelled"
    REMOVED = "removed"
    DONE = "done"
    REPLACED = "replaced"
    CORRECTED = "corrected"


@dataclass(frozen=True, slots=True)
class Retraction:
    """`old` is what is taken back; `anchor` the newer clause that says so; `context` what it is said of.

    `liking` is the sign of the retired preference. `stated` is the new value, where the cue names one.
    """

    kind: Kind
    old: Clause
    anchor: Clause
    liking: int = 0
    context: frozenset[str] = frozenset()
    stated: frozenset[str] = frozenset()


_STOP = r"(?=\s*(?:[,.:](?!\d)|[;!?–—]|\s-\s|\bbut\b|\bbecause\b|\bsince\b|\bafter all\b|\band (?:user|i|now|they|is|has|started)\b|$))"
_LISTS = (
    r"(?:list|lists|to-?dos?|tasks?|tracker|calendar|agenda|wishlist|watchlist|reminders?|objectives?|deliverables?|"
    r"stakeholders?|attendees?|decisions?|items?|points?|recipients?|plan|schedule|basket|cart|fields?|section|"
    r"menu|itinerary|programme|team|group|notes)"
)
_CHANGE_VERBS = (
    r"(?:chang|updat|revis|mov|switch|shift|rais|increas|lower|reduc|cut|upgrad|downgrad|revert|reschedul|push|postpon|"
    r"brought|bring|extend|shorten|rebook|transfer|convert|went|adjust|modif|bump|drop|set|correct)\w*"
)

_PATTERNS: tuple[tuple[Kind, str], ...] = (
    (Kind.REMOVED, r"\bno longer (?:track\w*|need\w* to track|ha(?:s|ve)|need\w*|want\w*)\s+(?P<old>['\"“‘*]_+['\"”’*])"),
    (
        Kind.REMOVED,
        rf"\b(?:remov|delet|drop|strik|struck|cross|tak|took|eras|clear|tick|check|scratch)\w*\s+(?:out\s+)?(?P<old>[^.;!?]+?)\s+"
        rf"(?:from|off|out of)(?: of)?\s+(?P<list>[^.;!?]*?\b{_LISTS})\b",
    ),
    (
        Kind.REMOVED,
        rf"\b(?:want|wants|wanted|would like|like|ask\w* for)\s+(?P<old>[^.;!?]+?)\s+(?:taken|removed|deleted|dropped|struck|"
        rf"crossed)\s+(?:from|off|out of)\s+(?P<list>[^.;!?]*?\b{_LISTS})\b",
    ),
    (Kind.REMOVED, rf"\b(?:remov|delet|cancel)\w*\s+(?:the |a |my |their )?(?:reminder|task|entry|item|alarm)s?\s+(?:to|for|about|called)?\s*(?P<old>.+?){_STOP}"),
    (Kind.REMOVED, r"\b(?:remov|delet)\w*\s+(?P<old>['\"“‘*]_+['\"”’*])"),
    (Kind.REMOVED, rf"(?:\bnot|n't) (?:need|want)\s+(?P<old>[^.;!?]+?)\s+on\s+(?P<list>[^.;!?]*?\b{_LISTS})\s+any\s?(?:more|longer)\b"),
    (Kind.DONE, r"\bmarked\s+(?P<old>[^.;!?]+?)\s+(?:as\s+)?(?:done|complete[d]?|finished)\b"),
    (Kind.DONE, rf"\b(?:finished|completed|done|wrapped up|took care of|taken care of|checked off|crossed off|ticked off|got through)\s+(?:with\s+)?(?P<old>.+?){_STOP}"),
    (Kind.DONE, r"(?:^|[,.;!?]\s+)(?P<old>[^,.;!?]+?)\s+(?:is|are)\s+(?:now\s+|finally\s+|already\s+)?(?:done|finished|complete[d]?|taken care of)\b"),
    (Kind.CANCELLED, rf"\b(?:cancel(?:l?ed|s)?|call(?:ed)? off|scrapped|back(?:ed)? out of|pull(?:ed)? out of|decided (?:not to|against)|not going ahead with|ditched)\s+(?P<old>.+?){_STOP}"),
    (Kind.CANCELLED, rf"\b(?:won't|will not|isn't going to|is not going to|am not going to|not going to)\s+(?:be\s+)?(?P<old>.+?){_STOP}"),
    (Kind.CANCELLED, rf"\bno longer (?:going to|plan(?:s|ning)? (?:to|on)|needs? to|has to|intends? to|wants? to)\s+(?P<old>.+?){_STOP}"),
    (Kind.ENDED, rf"\bno longer\s+(?P<old>.+?){_STOP}"),
    (Kind.ENDED, r"\b(?:does not|doesn't|do not|don't|is not|isn't|has not|hasn't|not)\s+(?P<old>[^,.;!?]+?)\s+any\s?(?:more|longer)\b"),
    (Kind.ENDED, rf"\b(?:stopped|quit|quits|gave up|given up|ceased|dropped out of|withdrew from|resigned from|got rid of)\s+(?P<old>.+?){_STOP}"),
    (Kind.PARTED, rf"\b(?:sold|gave away|got rid of|returned|threw (?:away|out)|traded in)\s+(?P<old>.+?){_STOP}"),
    (Kind.LEFT, rf"\b(?:left|resigned from|retired from|quit|was laid off from|broke up with|split (?:up )?(?:with|from)|took over from|takes over from)\s+(?P<old>.+?){_STOP}"),
    (Kind.LEFT, r"(?:^|[,;.]\s+)(?:since\s+)?(?P<old>[A-Z]\w+)\s+(?:has\s+)?left\b"),
    (Kind.REPLACED, rf"\breplac(?:ed|es|ing)\s+(?P<old>.+?)\s+(?:with|by)\s+(?P<new>.+?){_STOP}"),
    (Kind.REPLACED, rf"\b{_CHANGE_VERBS}\s+(?P<what>[^.;!?]*?)\bfrom\s+(?P<old>[^.;!?]+?)\s+(?:back |up |down |over )?to\s+(?P<new>.+?){_STOP}"),
    (Kind.REPLACED, rf"\brevert\w*\s+(?P<what>[^.;!?]*?)\s*(?:back )?to\s+(?P<new>[^.;!?]+?)\s+from\s+(?P<old>.+?){_STOP}"),
    (Kind.REPLACED, rf"\b(?:instead of|rather than|in place of)\s+(?P<old>.+?){_STOP}"),
    (Kind.REPLACED, rf"\bswitched from\s+(?P<old>[^.;!?]+?)\s+to\s+(?P<new>.+?){_STOP}"),
    (Kind.CORRECTED, rf"(?:,|\band)\s+(?:and\s+)?not\s+(?:in |on |at |for )?(?P<old>[^,.;!?]+?){_STOP}"),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS)
_PAST_VERB = re.compile(
    r"\b(?:has|have|'ve|just|already|finally|actually|recently|managed to|user|i)\s+(?:just\s+|already\s+|finally\s+|actually\s+|also\s+|"
    r"recently\s+)*(?P<verb>(?!used\b|noted\b|said\b|finished\b|completed\b|done\b|had\b|did\b|need\w*|want\w*|plann?\w*|mention\w*|said\b|told\b|ask\w*|add\w*|wonder\w*|not\b)"
    r"(?:\w+ed|bought|met|ran|wrote|sent|paid|took|made|did|got|went|saw|read|had|sold|spoke|built|held|drew|gave|"
    r"found|booked|taken|done|written|gone|seen))\b(?P<rest>[^.;!?]*)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"(?:User's|The|My)\s+(?P<what>[^,;!?]+?)\s+(?:is|are|was|were|has|have|takes?|starts?|leaves?|no longer|does|do|did|"
    r"doesn't|will|won't|needs?|got|[a-z]+ed)\b"
)
_OWN_SUBJECT = re.compile(
    r"(?:\b(?:user|i|they|he|she|and|but|who|that)(?: and \w+)?|\b(?:user|i|they) (?:has|have|is|are|was)|user's [^,.;]+)"
    r"(?:\s+(?:\w+ly|also|finally|now|already|just|has|have))*\s*$|^\s*$",
    re.IGNORECASE,
)
_OBLIGED = re.compile(r"\b(?:needs? to|has to|have to|must|should|ought to|wants? to)(?: be| get)?\s*$", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|them|him|her|his|their|that|this|those|these|its)\b", re.IGNORECASE)
_LEAD_IN = re.compile(r"^(?:the|a|an|my|their|user's|his|her|to|that|this|in|on|at|for)\s+", re.IGNORECASE)


def retractions(newer: Reading) -> Iterator[Retraction]:
    """Everything the record takes back. Nothing in words of others, in questions, or only wished or possible."""
    if newer.foreign:
        return
    for sentence in newer.sentences:
        yield from _preferences(newer, sentence)
        if not sentence.hedged:
            yield from _cued(newer, sentence)
            yield from _finished(newer, sentence)


def _preferences(newer: Reading, sentence: Clause) -> Iterator[Retraction]:
    for pattern in preferences.RETIRED:
        for match in pattern.finditer(newer.masked, sentence.start, sentence.end):
            verb = match.groupdict().get("verb")
            sign = preferences.liking(verb) if verb else 1
            old = newer.clause(*_trimmed(newer, *match.span("old")))
            if old.tokens:
                yield Retraction(Kind.PREFERENCE, old, newer.clause(*match.span()), liking=sign or 1)
    for match in preferences.CHANGED_MIND.finditer(newer.masked, sentence.start, sentence.end):
        sign = -preferences.liking(newer.masked[match.end() :])
        old = newer.clause(*_trimmed(newer, *match.span("old")))
        if sign and old.tokens:
            yield Retraction(Kind.PREFERENCE, old, newer.clause(*match.span()), liking=sign)


def _cued(newer: Reading, sentence: Clause) -> Iterator[Retraction]:
    for kind, pattern in _COMPILED:
        for match in pattern.finditer(newer.masked, sentence.start, sentence.end):
            if _future(newer.masked[sentence.start : match.start()], kind):
                continue
            old = newer.clause(*_trimmed(newer, *match.span("old")))
            if not old.tokens or (kind is Kind.ENDED and not _own_end(newer, sentence, match, old)):
                continue
            yield Retraction(kind, old, newer.clause(*match.span()), 0, *_surroundings(newer, sentence, match, kind))


def _own_end(newer: Reading, sentence: Clause, match: re.Match[str], old: Clause) -> bool:
    """The user, or something of theirs, is what stopped: "the sound does not grab User any more" ends nothing."""
    if preferences.LIKED.search(match[0]) or (_PRONOUN.search(old.masked) and not old.named):
        return False
    before = newer.masked[sentence.start : match.start()]
    return bool(_OWN_SUBJECT.search(before))


def _surroundings(
    newer: Reading, sentence: Clause, match: re.Match[str], kind: Kind
) -> tuple[frozenset[str], frozenset[str]]:
    """What the old value is said of, and the new value where the cue names it."""
    groups = match.groupdict()
    stated = newer.clause(*match.span("new")).norms if groups.get("new") else frozenset()
    if groups.get("what"):
        return newer.clause(*match.span("what")).norms, stated
    if groups.get("list"):
        return newer.clause(*match.span("list")).norms, stated
    # "User's dance class is now on Wednesdays instead of Mondays": the subject must be that of the older record.
    subject = _SUBJECT.match(newer.masked, sentence.start, match.start("old"))
    return (newer.clause(*subject.span("what")).norms if subject else frozenset()), stated


def _finished(newer: Reading, sentence: Clause) -> Iterator[Retraction]:
    """Anything done, in the past tense: it finishes what was due. `old` starts at the verb."""
    if sentence.negative or sentence.past_habit:
        return
    for match in _PAST_VERB.finditer(newer.masked, sentence.start, sentence.end):
        if _future(newer.masked[sentence.start : match.start()], Kind.DONE):
            continue
        end = match.end()
        for stop in re.finditer(r",|\bso\b|\band (?:user|i|now)\b|\bbut\b", newer.masked[match.start("rest") : end]):
            end = match.start("rest") + stop.start()
            break
        old = newer.clause(match.start("verb"), end)
        if len(old.norms) > 1:
            yield Retraction(Kind.DONE, old, old)


def _future(before: str, kind: Kind) -> bool:
    """Planned only: 'plans to quit' has not quit. A request to remove or to change is made now."""
    if kind is Kind.DONE and _OBLIGED.search(before):
        return True
    if kind in (Kind.REMOVED, Kind.REPLACED, Kind.CANCELLED):
        return False
    return bool(re.search(rf"{wording.FUTURE.pattern}\s*(?:\w+\s*){{0,2}}$", before, re.IGNORECASE))


def _trimmed(newer: Reading, start: int, end: int) -> tuple[int, int]:
    while lead := _LEAD_IN.match(newer.masked[start:end]):
        start += lead.end()
    return start, end
