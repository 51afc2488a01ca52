"""Units of a turn: near-duplicates dropped, units that lean on each other merged, at most K_t left (A.3, B.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from engrain.runtime.extraction.dependency.coverage import near_duplicates, words
from engrain.runtime.extraction.dependency.lexicons import ANAPHORIC_CUES, CONTRAST_CUES
from engrain.runtime.extraction.dependency.realization import NOTED
from engrain.runtime.extraction.dependency.settings import DependencySettings

_USER = re.compile(r"\bUser\b")


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement and the source tokens [start, end) it comes from; `predicates` are the lemmas it asserts."""

    text: str
    start: int
    end: int
    kind: str
    predicates: tuple[str, ...] = ()
    connective: str = ""
    score: float = 0.0
    comment: bool = False
    """Says nothing that a better unit of the turn would not outweigh (`trimming.py`)."""
    aside: bool = False
    """Only announces what a unit beside it says (`trimming.py`)."""


def combine(units: list[Unit], settings: DependencySettings) -> list[Unit]:
    """The units that are stored, in extraction order."""
    units = _with_connectives(drop_duplicates(units, settings))
    if len(units) > 1 and (len(units) > settings.units_per_turn or _has_cue(units)):
        return [_merged(units)]
    return units


def attributed(units: list[Unit]) -> list[Unit]:
    """Units of which at least one speaks of the user: a statement about the world is something that the user noted."""
    if units and not any(_USER.search(unit.text) for unit in units):
        return [replace(units[0], text=attribute(units[0].text)), *units[1:]]
    return units


def attribute(text: str) -> str:
    """The text, led by `User noted:` when it does not speak of the user."""
    return text if not text or _USER.search(text) else NOTED + text


def drop_duplicates(units: list[Unit], settings: DependencySettings) -> list[Unit]:
    """Of two near-duplicates the longer stays, in the place of the first."""
    kept: list[Unit] = []
    for unit in units:
        for place, other in enumerate(kept):
            if near_duplicates(unit.text, other.text, settings.duplicate_overlap):
                kept[place] = other if len(other.text) >= len(unit.text) else unit
                break
        else:
            kept.append(unit)
    return kept


def _with_connectives(units: list[Unit]) -> list[Unit]:
    """A unit after another one keeps the word that joined it: "But User can't stand the cold"."""
    return [
        replace(unit, text=f"{unit.connective.capitalize()} {unit.text}")
        if place and unit.connective and unit.text.startswith("User") and unit.kind != "noted"
        else unit
        for place, unit in enumerate(units)
    ]


def _has_cue(units: list[Unit]) -> bool:
    later = {word for unit in units[1:] for word in words(unit.text)}
    return bool(later & ANAPHORIC_CUES) or any(set(words(unit.text)) & CONTRAST_CUES for unit in units)


def _merged(units: list[Unit]) -> Unit:
    texts: list[str] = []
    for place, unit in enumerate(units):
        text = unit.text
        if place and unit.kind == "noted" and units[place - 1].kind == "noted":
            text = text.removeprefix(NOTED)
        if texts and (shared := _shared_subject(texts[-1], text)):
            texts[-1] = shared
        else:
            texts.append(text)
    return Unit(
        text=" ".join(texts),
        start=units[0].start,
        end=max(unit.end for unit in units),
        kind="merged",
        predicates=tuple(lemma for unit in units for lemma in unit.predicates),
        score=max(unit.score for unit in units),
    )


_CONTRASTED = re.compile(r"But User (?=[a-z])(?!asks|noted|suggests)")
_TOLD = re.compile(
    r"User(?:'s|(?: \w+)? (?:thinks|guesses|says|said|heard|hopes|feels|believes|supposes|asks|noted)\b)"
)


def _shared_subject(first: str, second: str) -> str:
    """ "User used to row. But User swims now." as one statement with one subject; empty where that could mislead.

    A report or belief in front keeps its own sentence, so that nobody reads the contrast as a part of it.
    """
    match = _CONTRASTED.match(second)
    if match is None or not first.startswith("User ") or _TOLD.match(first) or first[-1:] != "." or ". " in first:
        return ""
    return f"{first[:-1]} but {second[match.end() :]}"
