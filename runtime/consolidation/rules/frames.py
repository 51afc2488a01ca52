"""Two statements alike but for one value: the same verb with another job, the same label with another number.

Where everything else is equal, the words of the value need no kind of their own; what is asked instead is that the verb
takes one value at a time.
"""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import cues
from engrain.runtime.consolidation.rules.narrowing import is_quantity
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.support import names_topic
from engrain.runtime.consolidation.rules.tokens import Token

_ONE_VALUE = re.compile(
    r"\W*(?:(?:User|I|We) |(?:User's|My) [\w -]+? )(?:works? as|lives? with|drives? (?=an? )|sleeps? (?:on|in)|sits? (?:at|in|by|next to)|"
    r"(?:is|are) (?:in|on|at|set to|with)|(?:is|am) (?=(?:an? )?(?P<kind>[\w-]+ [\w-]+))|banks? with|rents? (?=an? )|reports? to|stays? (?:at|in|with)|likes? (?:his|her|their|my|the) \w+|commutes? by|rehearses? in|meets? (?:in|at|on))\s+"
    r"(?:the |an? )?(?P<value>[^,.;]+)",
    re.IGNORECASE,
)
"""What holds one value at a time, behind a verb that says so."""


def same_frame(unit: Clause, sentence: Clause) -> bool:
    """Whether two clauses are alike up to one value of a thing that has one at a time: works as a waiter, as a cook."""
    now = cues.NOW_CUE.sub("", sentence.masked)
    old, new = _ONE_VALUE.match(unit.masked), _ONE_VALUE.match(re.sub(r"\s{2,}", " ", now))
    if old is None or new is None or cues.NOW_CUE.search(unit.masked):
        return False
    if unit.masked[: old.start("value")].casefold() != re.sub(r"\s{2,}", " ", now)[: new.start("value")].casefold():
        return False
    first, second = (found["value"].casefold().split() for found in (old, new))
    if first == second or len(first) > 5 or len(second) > 5:
        return False
    # "Is a white belt", "is a yellow belt": what somebody is has one value only within one kind.
    return old["kind"] is None or (len(first) == len(second) and len(first) > 1 and first[1:] == second[1:])


_HAS = re.compile(r"\W*(?:User|I|We) (?:has|have|owns?|keeps?) (?:\d+|[a-z]+) [\w-]+(?: [\w-]+)?\W*$")


def counts_again(lost: list[Token], gained: list[Token], unit: Clause, sentence: Clause) -> bool:
    """Two sentences alike but for the number that somebody has of a thing: one cat, then two."""
    numbers = len(lost) == len(gained) == 1 and lost[0].number and gained[0].number
    return bool(numbers and _HAS.match(unit.masked) and _HAS.match(sentence.masked))


def changed_label(lost: list[Token], unit: Clause, sentence: Clause, older: Reading) -> bool:
    """Desk 14, then desk 31: the same noun counts off another number, and the newer sentence is about nothing else."""
    before, after = _labels(unit), _labels(sentence)
    same = {noun for noun in before.keys() & after.keys() if before[noun] != after[noun]}
    others = {t.norm for t in sentence.tokens if not t.number and names_topic(t, sentence.text.rjust(sentence.end))}
    labels = {before[noun] for noun in same}
    others_lost = any(is_quantity(token) and token.norm not in labels for token in lost)
    numbered = any(mark.isdigit() for token in lost for mark in token.norm)
    return bool(same) and numbered and not others_lost and others <= older.norms


def _labels(clause: Clause) -> dict[str, str]:
    """Nouns right before a number, with the number: desk 31, week 34."""
    pairs = zip(clause.tokens, clause.tokens[1:], strict=False)
    return {
        first.norm: second.norm
        for first, second in pairs
        if second.number
        and not first.number
        and not first.date
        and ":" not in second.norm
        and clause.text[first.end - clause.start : second.start - clause.start] == " "
    }


def is_verb(token: Token, unit: Clause) -> bool:
    """The word right behind a bare "User" or "I"."""
    return bool(re.search(r"(?:^|\b)(?:User|I|We)\s+$", unit.text[: token.start - unit.start]))
