"""What a newer record takes back, found by cue: given up, cancelled, removed, done, replaced, no longer liked."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engrain.runtime.consolidation.rules import preferences, wording
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.takebacks import PATTERNS, Kind


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
    r"(?:\b(?:user|i|i'm|we're|they|he|she|and|but|who|that)(?: and \w+)?|\b(?:user|i|they) (?:has|have|is|are|was)|user's [^,.;]+)"
    r"(?:\s+(?:\w+ly|also|finally|now|already|just|has|have))*\s*$|^\s*$",
    re.IGNORECASE,
)
_OBLIGED = re.compile(r"\b(?:needs? to|has to|have to|must|should|ought to|wants? to)(?: be| get)?\s*$", re.IGNORECASE)
_SOME = re.compile(
    r"\s*(?:one|two|three|some|a few|half|part|most|any|either|each|another) of\b|\s*(?:a|an|another|one) (?:few|bit|little|second|different)\b",
    re.I,
)
_TOLD = re.compile(r"\b(?:not|never|said|says|that|if|whether|thinks?|thought|told)\b|n't\b", re.IGNORECASE)
_UNDONE = re.compile(
    r"\b(?:forgot|tried|trying|threatened|refused|failed|hesitat\w+|hopes?|intends?|meant|unable|plans?|planning|supposed|reluctant|afraid|"
    r"promised|offered|agreed|needs?|ought|remember\w*|reminded?|regrets?|close|regretted) (?:\w+ )?(?:to|on|about|having)\s*(?:\w+\s+)?$",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\bnot|\bnever|n't|\bwithout|\bhardly)\s+(?:\w+\s+)?$", re.IGNORECASE)
_AND = re.compile(r"\s+and\s|\s+so\s")
_PRONOUN = re.compile(r"\b(?:it|them|him|her|his|their|that|this|those|these|its)\b", re.IGNORECASE)
_THAT_ONE = re.compile(r"(?:that|this|the|another|a|which)?\s*(?:\w+\s+)?ones?\b", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"^(?:the|a|an|my|their|user's|his|her|to|that|this|in|on|at|for|(?:entry|item|task|reminder|note)(?= ['\"“‘]))\s+",
    re.IGNORECASE,
)


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
            for old in _olds(newer, *match.span("old")):
                yield Retraction(Kind.PREFERENCE, old, newer.clause(*match.span()), liking=sign or 1)
    for match in preferences.CHANGED_MIND.finditer(newer.masked, sentence.start, sentence.end):
        sign = -preferences.liking(newer.masked[match.end() :])
        old = newer.clause(*_trimmed(newer, *match.span("old")))
        if sign and old.tokens:
            yield Retraction(Kind.PREFERENCE, old, newer.clause(*match.span()), liking=sign)


def _cued(newer: Reading, sentence: Clause) -> Iterator[Retraction]:
    for kind, pattern in PATTERNS:
        for match in pattern.finditer(newer.masked, max(0, sentence.start - 2), sentence.end):
            before = newer.masked[sentence.start : match.start()]
            if _future(before, kind) or _UNDONE.search(before) or _DENIED.search(before):
                continue
            for old in _olds(newer, *match.span("old")):
                if not (kind is Kind.ENDED and not _own_end(newer, sentence, match, old)):
                    around = _surroundings(newer, sentence, match, kind)
                    yield Retraction(kind, old, newer.clause(*match.span()), 0, *around)


def _olds(newer: Reading, start: int, end: int) -> Iterator[Clause]:
    """What was, and, where another sentence may begin with an "and", the words before it."""
    for stop in (end, *(start + found.start() for found in [_AND.search(newer.masked[start:end])] if found)):
        old = newer.clause(*_trimmed(newer, start, stop))
        if (
            old.tokens
            and not _THAT_ONE.match(old.masked)
            and not _TOLD.search(old.masked)
            and not _SOME.match(newer.masked[start:stop])
        ):
            yield old


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
        return newer.clause(*match.span("what")).norms - {"down", "up", "back"}, stated
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
