"""The relation of two records by rules alone: what changed, on what evidence, and in which part.

The rules would rather miss a change than hide a fact: whatever they do not recognise is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.agents import acts_for_user, by_stranger
from engrain.runtime.consolidation.rules.alignment import match_change
from engrain.runtime.consolidation.rules.completions import match_completion
from engrain.runtime.consolidation.rules.contrast import match_contrast
from engrain.runtime.consolidation.rules.corrections import match_correction
from engrain.runtime.consolidation.rules.coverage import residue, trim
from engrain.runtime.consolidation.rules.endings import match_ending
from engrain.runtime.consolidation.rules.equal import event_like, same_statement
from engrain.runtime.consolidation.rules.flips import match_flip
from engrain.runtime.consolidation.rules.goals import match_goal
from engrain.runtime.consolidation.rules.matching import Struck, match
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.retold import told_again
from engrain.runtime.consolidation.rules.states import ends, states
from engrain.runtime.consolidation.rules.support import other_season, rivals, shares_topic, untouched
from engrain.runtime.consolidation.rules.takebacks import Kind
from engrain.runtime.consolidation.rules.values import match_setting, new_settings
from engrain.runtime.consolidation.rules.vetoes import speaks_against, unmeant
from engrain.runtime.schema import Relation


@dataclass(frozen=True, slots=True)
class Finding:
    """A relation of the newer record to the older. `part` is the outdated stretch when it is not the whole record."""

    relation: Relation
    basis: str
    scope: str
    anchor: str
    evidence: str
    part: tuple[int, int] | None = None
    exclusive: bool = False
    """A state that has one value at a time by what it is (residence): no other word need be shared."""
    latest_only: bool = False
    """The newer record speaks of one earlier statement, the latest that fits; others are other things' values."""


def relate(older: Reading, newer: Reading) -> Finding | None:
    """The newer record's relation to the older, or None when the rules see none (SLICE-Mem A.4: ignore)."""
    if newer.record.source_time < older.record.source_time or newer.foreign or other_person(older, newer):
        return None
    if same_statement(older, newer) or told_again(older, newer):
        basis = "same_event" if event_like(newer) else "same_fact"
        return Finding(Relation.DEDUP, basis, _scope(newer), newer.text, "the same statement in equal content words")
    if newer.record.source_time > older.record.source_time:
        found = _superseded(older, newer)
        if found is not None and _supported(older, newer, found):
            return _spared(older, newer, found)
    return _qualified(older, newer)


def _supported(older: Reading, newer: Reading, found: Finding) -> bool:
    """A second signal besides the cue: one topic, and nothing that speaks against a change."""
    if not found.exclusive and not shares_topic(older, newer):
        return False
    if found.latest_only and not found.exclusive and (rivals(older, newer) or other_season(older, newer, found.part)):
        return False
    start = max(0, newer.text.find(found.anchor))
    anchor = newer.clause(start, start + len(found.anchor))
    if found.basis == "event_correction":
        return not unmeant(newer, anchor)
    if by_stranger(older, newer, anchor):
        return False
    return speaks_against(older, newer, anchor, may_return=found.evidence.startswith("residence")) is None


def _spared(older: Reading, newer: Reading, found: Finding) -> Finding:
    """With a fact in the older record that the newer does not speak of, only the other part is outdated."""
    if found.part is not None or found.basis == "event_correction" or not untouched(older, newer):
        return found
    best = max(older.parts, key=lambda part: len(part.norms & newer.norms))
    return replace(found, part=trim(older, best.start, best.end))


def _superseded(older: Reading, newer: Reading) -> Finding | None:
    for retraction in newer.retractions:
        if struck := match(retraction, older, newer):
            basis = "event_correction" if retraction.kind is Kind.CORRECTED else "state_change"
            found = _finding(older, struck, retraction.anchor, basis, f"the older record is {retraction.kind.value}")
            return replace(found, latest_only=retraction.kind in (Kind.REPLACED, Kind.CORRECTED))
    if correction := match_correction(older, newer):
        found = _finding(older, correction[0], correction[1], "event_correction", "a correction with another value")
        return replace(found, latest_only=True)
    if state := _changed_state(older, newer):
        return replace(_finding(older, state[0], state[1], "state_change", state[2]), exclusive=True)
    for setting in new_settings(newer):
        if struck := match_setting(setting, older, newer):
            found = _finding(older, struck, setting.anchor, "state_change", "the attribute has another value now")
            return replace(found, latest_only=True)
    if goal := match_goal(older, newer):
        found = _finding(older, *goal, "state_change", "the goal has another value now")
        return replace(found, latest_only=True)
    if contrast := match_contrast(older, newer):
        basis = "event_correction" if event_like(older) else "state_change"
        found = _finding(older, *contrast, basis, "the old value is denied, another stands beside it")
        return replace(found, latest_only=True)
    if done := match_completion(older, newer):
        return _finding(older, done[0], done[1], "state_change", "what was to do is done")
    if ended := match_ending(older, newer):
        return _finding(older, ended[0], ended[1], "state_change", "it ended")
    if aligned := match_change(older, newer):
        found = _finding(older, aligned.struck, aligned.anchor, "state_change", aligned.why)
        return replace(found, latest_only=True, exclusive=aligned.framed)
    if struck := match_flip(older, newer):
        anchor = newer.clause(0, len(newer.text))
        return replace(_finding(older, struck, anchor, "state_change", "the opposite is said now"), exclusive=True)
    return None


def _changed_state(older: Reading, newer: Reading) -> tuple[Struck, Clause, str] | None:
    for new in states(newer):
        for old in states(older):
            if ends(new, old, newer):
                struck = Struck(old.start, old.end, not residue(older, old.start, old.end, newer))
                return struck, newer.clause(new.start, new.end), f"{new.attribute}: {old.value}, now {new.value}"
    return None


def _finding(older: Reading, struck: Struck, anchor: Clause, basis: str, evidence: str) -> Finding:
    part = None if struck.whole else (struck.start, struck.end)
    scope = " ".join(["user", *(token.norm for token in older.clause(struck.start, struck.end).tokens)][:8])
    return Finding(Relation.SUPERSEDE, basis, scope, anchor.text.strip(), evidence, part)


def _qualified(older: Reading, newer: Reading) -> Finding | None:
    """Compatible information: the newer says more of the same thing, or adds a second one beside it."""
    shared = older.norms & newer.norms - wording.FRAME_WORDS
    refined = older.norms < newer.norms and bool(older.norms)
    second = bool(wording.SECOND.search(newer.masked)) and bool(shared - wording.GENERIC_NOUNS)
    if event_like(newer) or not (refined or second):
        return None
    evidence = "it says all of the older record and more" if refined else "it adds another beside the older"
    return Finding(Relation.QUALIFY, "", _scope(newer), newer.text, evidence)


def other_person(older: Reading, newer: Reading) -> bool:
    """Whether the two are about different people. A person who is named on both sides is one."""
    if acts_for_user(newer.masked, older):
        return False
    mine, theirs = newer.subject_people, older.subject_people
    if mine != theirs:
        return not (mine <= older.norms and theirs <= newer.norms)
    return bool(mine) and not (newer.subject_names <= older.norms and older.subject_names <= newer.norms)


def _scope(reading: Reading) -> str:
    return " ".join(["user", *(token.norm for token in reading.tokens)][:8])
