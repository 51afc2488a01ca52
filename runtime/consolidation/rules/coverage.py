"""Which stretch of an older record says a thing, and what the record says besides."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.tokens import normalise
from engrain.runtime.consolidation.rules.vetoes import compound

_TIME = "today yesterday tonight tomorrow morning evening afternoon night week weekend month day soon earlier recently last next year"
TIME_WORDS = frozenset(normalise(word) for word in wording.words(_TIME))
"""Normalised words of time, which say when and not what."""
DAY_PARTS = frozenset(normalise(word) for word in ("morning", "evening", "afternoon", "night", "weekend"))
HEADS = wording.words(
    "list task item to-do todo thing project plan subscript membership appoint event status time app trip visit account job idea "
    "habit degre cours lesson seat take use go do make get have need want requir"
)
"""Nouns that only say what kind of thing a name stands for."""
_HEAD_OF = {
    "account": "bank save invest account", "app": "use track app", "job": "work job employ", "subscript": "pay subscrib read watch stream use listen get",
    "membership": "member gym club join train", "appoint": "see visit meet dentist doctor", "trip": "fli travel go drive holiday visit",
    "visit": "see go travel", "degre": "studi enrol uni", "cours": "studi learn enrol", "lesson": "learn take", "seat": "sit",
}  # fmt: skip
"""Nouns that need not be repeated, and words of which one must then say what they stand for."""
_ADVERBS = wording.words(
    "sinc until dure befor after insid near around without within besid everi twice onc daili togeth alon regular abroad here too well alway onlin part-tim full-tim"
)


def covers(old: Clause, unit: Clause, optional: frozenset[str] = HEADS) -> bool:
    """Every name and number of `old` is in the unit, and every other word but `optional` nouns and words of time."""
    # Looked at for every pair: the cheapest test first.
    matched = old.norms & unit.norms
    if not matched:
        return False
    missing = old.norms - unit.norms
    if _heads_of_else(missing, unit) or _of_compound(old, unit):
        return False
    if missing & old.named or not matched - optional - TIME_WORDS:
        return False
    if not missing <= optional | TIME_WORDS:
        return False
    # One common word alone says too little, unless the unit says little else; many words must stand together.
    if len(old.norms) == 1 and not old.named and unit.tokens[0].norm not in old.norms:
        counted = frozenset(token.norm for token in unit.tokens if token.number)
        return len(unit.norms - counted - TIME_WORDS - wording.FRAME_WORDS - optional - old.norms) <= 1
    if len(old.norms) < 5:
        return True
    start, end = window(old.norms, unit)
    return sum(start <= token.start < end for token in unit.tokens) <= 1.6 * len(old.norms)


def _heads_of_else(missing: frozenset[str], unit: Clause) -> bool:
    """The Lotus app is not the yoga class at Lotus."""
    return any(not unit.norms & set(_HEAD_OF[word].split()) for word in missing if word in _HEAD_OF)


def _of_compound(old: Clause, unit: Clause) -> bool:
    """The bike is not the bike helmet: the older goes on with a noun where the newer ends."""
    last = old.tokens[-1].norm
    for first, second in zip(unit.tokens, unit.tokens[1:], strict=False):
        if first.norm != last or first.number or first.date or second.norm in old.norms | TIME_WORDS | HEADS | _ADVERBS:
            continue
        if compound(first, second, unit) and not (second.number or second.date) and first.norm != unit.tokens[0].norm:
            return True
    return False


def window(words: frozenset[str], unit: Clause) -> tuple[int, int]:
    """The shortest stretch of the unit that holds all the words it shares."""
    places = [place for place, token in enumerate(unit.tokens) if token.norm in words]
    needed = {unit.tokens[place].norm for place in places}
    best = (places[0], places[-1])
    for first in range(len(places)):
        seen: set[str] = set()
        for last in range(first, len(places)):
            seen.add(unit.tokens[places[last]].norm)
            if seen == needed:
                if places[last] - places[first] < best[1] - best[0]:
                    best = (places[first], places[last])
                break
    return unit.tokens[best[0]].start, unit.tokens[best[1]].end


def residue(older: Reading, start: int, end: int, newer: Reading) -> frozenset[str]:
    """What the record still says outside of a stretch: words that neither frame it nor occur in the newer record."""
    outside = {token.norm for token in older.tokens if token.end <= start or token.start >= end}
    return frozenset(outside - wording.FRAME_WORDS - newer.norms - wording.GENERIC_NOUNS)


def trim(older: Reading, start: int, end: int) -> tuple[int, int]:
    """Leave the subject, opening words and closing punctuation outside of a struck stretch."""
    text = older.text
    lead = re.match(r"(?:\s|User's\s|User\s|I\s|My\s|and\s|but\s)+", text[start:end], re.IGNORECASE)
    start += lead.end() if lead else 0
    while end > start and text[end - 1] in " .,;:!?\n":
        end -= 1
    return start, end
