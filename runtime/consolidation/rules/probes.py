"""Which older records can be affected at all: word sets that an older record must hold, for an inverted index.

Exact in the sense that the classifier finds nothing in a record that no probe selects: the rules stay linear in the
size of the memory, and need no vectors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from engrain.runtime.consolidation.duplicates import normalised_body
from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.alignment import SINGLE
from engrain.runtime.consolidation.rules.completions import outcome, past_verbs
from engrain.runtime.consolidation.rules.contrast import takes_back
from engrain.runtime.consolidation.rules.equal import LIGHT, LIKING, event_like
from engrain.runtime.consolidation.rules.flips import DROPPED
from engrain.runtime.consolidation.rules.goals import sets_goal
from engrain.runtime.consolidation.rules.matching import required
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.rules.states import states
from engrain.runtime.consolidation.rules.tokens import norms
from engrain.runtime.consolidation.rules.values import OPTIONAL, new_settings

_CUES = (cues.END_CUE, cues.TURN_CUE, cues.NOW_CUE, cues.MEND_CUE, cues.SETTLED_CUE)
COMMON = 400
"""A probe whose rarest word is in more records than this is about a word that says nothing; it is looked up among the
latest records only."""


class WordIndex:
    """Records by their words, in the order in which they were added."""

    def __init__(self) -> None:
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        self.readings: list[Reading] = []

    def add(self, reading: Reading) -> int:
        """Index one more record; returns its place."""
        place = len(self.readings)
        self.readings.append(reading)
        for word in reading.norms | _state_words(reading) | _occasions(reading):
            self._postings[word].append(place)
        return place

    def candidates(self, newer: Reading) -> list[int]:
        """Places of the records that one of the newer record's probes selects, in order."""
        found: set[int] = set()
        for probe in probes(newer):
            found.update(self._holding(probe))
        return sorted(found)

    def _holding(self, words: Iterable[str]) -> set[int]:
        lists = sorted((self._postings.get(word, []) for word in words), key=len)
        if not lists or not lists[0]:
            return set()
        places = set(lists[0][-COMMON:])
        for other in lists[1:]:
            if len(other) > 20 * len(places):
                break  # the classifier looks again; a long list costs more than it saves
            places.intersection_update(other)
        return places


def probes(newer: Reading) -> Iterator[frozenset[str]]:
    """Word sets of which an older record must hold one whole, to be a repetition, a refinement or an outdated state."""
    content = newer.norms - LIGHT - LIKING
    yield from {content, norms(normalised_body(newer.text)) - LIGHT - LIKING} - {frozenset()}
    if newer.foreign:
        return
    for retraction in newer.retractions:
        if words := required(retraction):
            yield words
    for setting in new_settings(newer):
        if words := setting.attribute - OPTIONAL:
            yield words
    yield from (frozenset({word}) for word in _state_words(newer))
    yield from (frozenset({occasion}) for occasion in _occasions(newer))
    if len(content) > 2:
        yield from (content - {word} for word in content)  # a word of one root may stand in its place
    elif plain := frozenset(word for word in content if not word.isdigit()):
        yield plain  # "two grandchildren" against "one grandchild"
    telling = newer.norms - wording.FRAME_WORDS - LIGHT
    yield newer.norms - DROPPED or content
    if any(cue.search(newer.masked) for cue in _CUES) or outcome(newer) or sets_goal(newer) or takes_back(newer):
        yield from (frozenset({word}) for word in telling)
    else:
        yield from (frozenset({word}) for word in newer.norms & SINGLE)
        yield from (frozenset({verb, word}) for verb in past_verbs(newer) for word in telling - {verb})


def _occasions(reading: Reading) -> frozenset[str]:
    """The source turns and the day of an event: told twice, it may be told in other words."""
    if not event_like(reading):
        return frozenset()
    return frozenset({*(f"turn:{turn}" for turn in reading.record.source_turn_ids), f"day:{reading.record.time}"})


def _state_words(reading: Reading) -> frozenset[str]:
    return frozenset(f"state:{state.attribute}" for state in states(reading))
