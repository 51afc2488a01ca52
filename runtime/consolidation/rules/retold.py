"""One event told twice in other words: it shares a message or a day, its names and numbers, and most of its words.

Equal words are no proof of one event, and other words none of two. Where both records come from one message or name
one day, what must agree is what tells events apart: names, numbers, people, denial. A verb may differ ("caught a pike",
"pulled a pike"); an object may not, and a detail that only the newer record gives is no copy.
"""
# ruff: noqa: E501  (a pattern or table reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.completions import PAST
from engrain.runtime.consolidation.rules.equal import LIGHT, event_like, shares_date, shares_source
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.rules.support import UNITS
from engrain.runtime.consolidation.rules.tokens import Token, of_one_root

_OCCASION = re.compile(
    r"\b(?:again|another|second|third|next|not|never|no longer|almost|nearly|half(?! past| marathon)|part|once more|(?<!came )(?<!come )(?<!gave )back)\b|n't\b",
    re.IGNORECASE,
)
"""Words by which one of two events is another one, or did not happen."""
_AROUND = wording.words("after befor under less until dure insid outsid becaus afterward later first around near")
_LOST, _GAINED = 2, 2
"""Words that the older record, or the newer, may have alone."""


def told_again(older: Reading, newer: Reading) -> bool:
    """Whether the newer record tells the older one's event once more, and nothing else."""
    if not (event_like(older) and event_like(newer)):
        return False
    if not (shares_source(older, newer) or shares_date(older, newer)):
        return False
    if older.record.time and newer.record.time and older.record.time != newer.record.time:
        return False
    return _same_standing(older, newer) and _same_words(older, newer)


def _same_standing(older: Reading, newer: Reading) -> bool:
    """Both as done, of the same people, and neither as another time."""
    if older.subject_people != newer.subject_people and not (older.norms | newer.norms) & wording.PEOPLE <= (
        older.norms & newer.norms
    ):
        return False
    if any(reading.clause(0, len(reading.text)).hedged for reading in (older, newer)):
        return False
    first, second = (sorted(match.casefold() for match in _OCCASION.findall(r.masked)) for r in (older, newer))
    days = [set(_days(reading).values()) for reading in (older, newer)]
    if all(days) and days[0] != days[1]:
        return False
    if bool(cues.END_CUE.search(older.masked)) != bool(cues.END_CUE.search(newer.masked)):
        return False
    return first == second and _due(older) == _due(newer)


def _due(reading: Reading) -> bool:
    return any(
        re.search(
            r"\b(?:needs?|wants?|wanted|plans?|planned|going|used|tried|hoped) to\b|\bwill\b|\b(?:sometimes|often|usually|always|every)\b",
            s.masked,
        )
        for s in reading.sentences
    )


def _same_words(older: Reading, newer: Reading) -> bool:
    mine, theirs = _content(older), _content(newer)
    shared = set(mine) & set(theirs)
    lost, gained = [mine[norm] for norm in mine if norm not in shared], [theirs[n] for n in theirs if n not in shared]
    lost, gained = _unrelated(lost, gained), _unrelated(gained, lost)
    topic = {norm for norm in mine if norm not in {t.norm for t in lost}} - UNITS
    if len(topic) < 2 or len(lost) > _LOST or len(gained) > _GAINED or len(lost) + len(gained) > len(topic):
        return False
    if any(t.number or t.named or t.norm in wording.PEOPLE for t in (*lost, *gained)):
        return False
    if gained and lost:
        return len(lost) < _LOST and all(is_verb(t, newer) for t in gained)
    return all(is_verb(t, newer) or _continues(t, newer, shared) for t in gained)


def _content(reading: Reading) -> dict[str, Token]:
    """Words that are neither light nor of a day."""
    days = _days(reading)
    return {
        token.norm: token
        for token in reading.tokens
        if token.norm not in LIGHT | _AROUND and not token.date and token.start not in days and not _is_year(token)
    }


def _days(reading: Reading) -> dict[int, str]:
    """Numbers of days by their place: beside a month, or inside of a date written in digits."""
    months = [token for token in reading.tokens if token.date]
    return {
        token.start: token.norm
        for token in reading.tokens
        if token.number
        and not _is_year(token)
        and any(token.start == m.start or abs(token.start - m.start) <= len(m.norm) + 4 for m in months)
    }


def _is_year(token: Token) -> bool:
    return token.number and len(token.norm) == 4 and token.norm[:2] in {"19", "20"}


def _unrelated(these: list[Token], those: list[Token]) -> list[Token]:
    """Without words of one root with a word of the other side: burgled and burglary, deep and depth."""
    return [t for t in these if not any(of_one_root(t.norm, other.norm) for other in those)]


def is_verb(token: Token, reading: Reading) -> bool:
    """A form of the past, or the word right behind a bare "User"."""
    if PAST.fullmatch(reading.text, token.start, token.end):
        return True
    return bool(re.search(r"(?:^|\b)(?:User|I) (?:had to |has |have |'s )?$", reading.text[: token.start]))


def _continues(token: Token, reading: Reading, shared: set[str]) -> bool:
    """The head of a name of two words of which the first is shared: root canal, root canal treatment."""
    before = next((t for t in reversed(reading.tokens) if t.end < token.start), None)
    return before is not None and before.norm in shared and reading.text[before.end : token.start] == " "
