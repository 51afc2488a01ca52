"""The bare opposite of a lasting habit or preference, said later in the same words."""

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.coverage import trim
from engrain.runtime.consolidation.rules.matching import Struck
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.schema import MemoryType

_LIKING = wording.words("love enjoy dislik hate ador prefer fond stand detest fan keen care")
DROPPED = _LIKING | wording.words(
    "come grow start day everi often regular usual alway frequent general anymor normal typic"
)
_PAST = re.compile(r"\b(?:did|was|were|had|\w+ed)\b", re.IGNORECASE)


def match_flip(older: Reading, newer: Reading) -> Struck | None:
    """The older statement when the newer is its negation: equal words, lasting on both sides, nothing beside."""
    for reading in (older, newer):
        if reading.record.memory_type is MemoryType.EPISODIC or len(reading.parts) != 1:
            return None
        clause = reading.parts[0]
        if clause.hedged or clause.past_habit or clause.due or _PAST.search(clause.masked):
            return None
    if wording.ONE_OFF.search(newer.masked) and not wording.ONE_OFF.search(older.masked):
        return None
    if older.norms - DROPPED != newer.norms - DROPPED or not older.norms - DROPPED - wording.GENERIC_NOUNS:
        return None
    mine, theirs = newer.parts[0], older.parts[0]
    opposite = mine.liking * theirs.liking == -1
    denied = not mine.liking and not theirs.liking and mine.negative != theirs.negative
    return Struck(*trim(older, 0, len(older.text)), whole=True) if opposite or denied else None
