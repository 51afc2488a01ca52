"""Corrections: the same event or fact told again with one value mended."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import wording
from engrain.runtime.consolidation.rules.matching import Struck, trim
from engrain.runtime.consolidation.rules.reading import Clause, Reading

CUE = re.compile(
    r"\b(?:correct(?:s|ed|ion)|typo|misread|misspoke|mistake|mistaken(?:ly)?|got (?:\w+ ){0,3}wrong|was wrong|meant|mixed up|"
    r"mixing up|sorry|error|misremembered)\b",
    re.IGNORECASE,
)


def match_correction(older: Reading, newer: Reading) -> tuple[Struck, Clause] | None:
    """The older statement when the newer corrects it: a cue, and every word of the older but one value again.

    Only a value that names something (a number, a day, a name) may differ, and the newer must give one in its place.
    """
    sentence = next((s for s in newer.sentences if CUE.search(s.masked) and not s.hedged), None)
    if sentence is None:
        return None
    lost = older.norms - newer.norms
    gained = newer.norms - older.norms - wording.CORRECTION_WORDS
    values = {token.norm for token in older.tokens if token.named}
    # "the 85 was a typo" repeats the wrong value.
    lost = lost or frozenset(token.norm for token in older.tokens if token.number)
    if not lost or not lost <= values or not _same_kind(older, newer, lost, gained):
        return None
    if len((older.norms & newer.norms) - wording.FRAME_WORDS) < 2:
        return None
    return Struck(*trim(older, 0, len(older.text)), whole=True), sentence


def _same_kind(older: Reading, newer: Reading, lost: frozenset[str], gained: frozenset[str]) -> bool:
    numbers = {token.norm for token in (*older.tokens, *newer.tokens) if token.number}
    names = {token.norm for token in newer.tokens if token.named} - numbers
    return bool(gained & numbers) if lost & numbers else bool(gained & names)
