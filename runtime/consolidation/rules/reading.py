"""What a record says, clause by clause: who it is about, whether it is stated as true, liked or disliked, due or done.

Quoted words are masked before any cue is looked for, so that a task called 'cancel the gym contract' cancels nothing.
"""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from engrain.runtime.consolidation.rules import preferences, wording
from engrain.runtime.consolidation.rules.tokens import Token, tokens
from engrain.runtime.schema import MemoryRecord

if TYPE_CHECKING:
    from engrain.runtime.consolidation.rules.retractions import Retraction

_QUOTED = re.compile(
    r"(?<!\w)(?P<open>['\"“‘*])(?P<text>[^'\"“”‘’*]{2,400}?(?:['’]\w[^'\"“”‘’*]{0,400}?)*)['\"”’*](?!\w)"
)
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\bDr\.)(?<!\bProf\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bSt\.)\s+(?=[^a-z])|;\s+|\n+")
_PART = re.compile(
    r"\s*(?:,\s*(?:and|but|or|so|while|though|although|which|because)?\s+|\s(?:and|but|while|though|although|because)\s|"
    r"[:;]\s)\s*",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:not|never|no longer|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't|wasn't|hasn't|haven't|without|no)\b",
    re.IGNORECASE,
)
_SUBJECT_END = re.compile(
    r"\s(?:is|are|was|were|has|have|had|does|did|will|would|lives?|works?|wants?|needs?|no longer|still|also|now|"
    r"moved|got|switched|said|told|teaches|broke|turned|became|[a-z]+ed|[a-z]+s)\b"
)


_POSSESSED = re.compile(r"\W*(?:User['’]s|The user['’]s|My|Our|The) [\w-]+", re.IGNORECASE)
"""The noun that the user has is never the verb: "User's parents live" ends behind the parents."""


@dataclass(frozen=True)
class Clause:
    """A stretch of a record, from `start` to `end` (exclusive), with what can be read off it."""

    start: int
    end: int
    text: str
    masked: str
    tokens: tuple[Token, ...]

    @cached_property
    def norms(self) -> frozenset[str]:
        """Normalised content words."""
        return frozenset(token.norm for token in self.tokens)

    @cached_property
    def named(self) -> frozenset[str]:
        """Those that name something: capitalised words, numbers, weekdays."""
        return frozenset(token.norm for token in self.tokens if token.named)

    @cached_property
    def negative(self) -> bool:
        """Whether the clause denies what it says."""
        return bool(_NEGATIVE.search(self.masked))

    @cached_property
    def past_habit(self) -> bool:
        """A former state: what somebody used to do."""
        return bool(wording.PAST_HABIT.search(self.masked))

    @cached_property
    def hedged(self) -> bool:
        """Wished, asked, possible or conditional: not stated as true."""
        text = wording.OWN_REQUEST.sub(lambda match: " " * len(match[0]), self.masked)
        return bool(wording.HEDGE.search(text)) or self.masked.rstrip().endswith("?")

    @cached_property
    def due(self) -> bool:
        """A task, plan or wish that is not done yet."""
        return bool(wording.OBLIGATION.search(self.masked)) and not self.past_habit

    @cached_property
    def liking(self) -> int:
        """1 liked, -1 disliked, 0 neither."""
        return preferences.liking(self.masked)


class Reading:
    """One record, read once."""

    def __init__(self, record: MemoryRecord) -> None:
        self.record = record
        self.text = record.content
        self.masked = mask_quotes(self.text)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Content words of the whole record."""
        return tuple(tokens(self.text))

    @cached_property
    def norms(self) -> frozenset[str]:
        """Their normalised forms."""
        return frozenset(token.norm for token in self.tokens)

    @cached_property
    def foreign(self) -> bool:
        """Words of a story, a mail or a system, or about the memory itself: no evidence of anything."""
        return bool(wording.CONTAINERS.search(self.text))

    @cached_property
    def retractions(self) -> tuple[Retraction, ...]:
        """What the record takes back."""
        from engrain.runtime.consolidation.rules.retractions import retractions

        return tuple(retractions(self))

    @cached_property
    def sentences(self) -> tuple[Clause, ...]:
        """The record's sentences."""
        return self._cut(_SENTENCE, 0, len(self.text))

    @cached_property
    def parts(self) -> tuple[Clause, ...]:
        """The smallest stretches that can hold a fact: sentences cut at commas and conjunctions."""
        return tuple(part for sentence in self.sentences for part in self._cut(_PART, sentence.start, sentence.end))

    @cached_property
    def subject_people(self) -> frozenset[str]:
        """People other than the user that the record is about, from its grammatical subject."""
        return people(self.masked)

    @cached_property
    def subject_names(self) -> frozenset[str]:
        """Names in the grammatical subject."""
        head = _subject(self.masked)
        return frozenset(token.norm for token in tokens(head) if token.named and not token.number)

    def clause(self, start: int, end: int) -> Clause:
        """Any stretch of the record as a clause."""
        inside = tuple(token for token in self.tokens if start <= token.start and token.end <= end)
        return Clause(start, end, self.text[start:end], self.masked[start:end], inside)

    def _cut(self, pattern: re.Pattern[str], start: int, end: int) -> tuple[Clause, ...]:
        pieces: list[Clause] = []
        begin = start
        for match in pattern.finditer(self.masked, start, end):
            if match.start() > begin:
                pieces.append(self.clause(begin, match.start()))
            begin = match.end()
        if begin < end:
            pieces.append(self.clause(begin, end))
        return tuple(pieces)


def mask_quotes(text: str) -> str:
    """The text with quoted words replaced by as many underscores, the marks kept."""
    return _QUOTED.sub(lambda match: match[0][0] + "_" * (len(match[0]) - 2) + match[0][-1], text)


def _subject(masked: str) -> str:
    possessed = _POSSESSED.match(masked)
    end = _SUBJECT_END.search(masked, possessed.end() if possessed else 0)
    return masked[: end.start()] if end else masked


def people(masked: str) -> frozenset[str]:
    """People other than the user in the grammatical subject of a text whose quotations are masked."""
    head = _subject(masked)
    if re.match(r"(?:User|I|We)\s*$|(?:On |In |At )?(?:User|I|We|the user)\b(?!['’]s| and )", head):
        return frozenset()
    # "User's manager is Ana" and "User's trainer is now Lena" name the user's manager; they are not about Ana.
    if re.match(r"User's [a-z ]+? (?:at [\w ]+? )?(?:is|are) (?:now )?[A-Z]", masked):
        return frozenset()
    return frozenset(token.norm for token in tokens(head) if token.norm in wording.PEOPLE)
