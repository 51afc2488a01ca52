"""An end told in any wording: a word of ending beside every word of the older statement, with no other thing between."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.agents import other_agent
from engrain.runtime.consolidation.rules.coverage import HEADS, TIME_WORDS, residue, trim
from engrain.runtime.consolidation.rules.equal import LIGHT
from engrain.runtime.consolidation.rules.matching import Struck, one_off, recurs_once
from engrain.runtime.consolidation.rules.reading import Clause, Reading, people
from engrain.runtime.consolidation.rules.support import names_topic
from engrain.runtime.consolidation.rules.tokens import Token
from engrain.runtime.consolidation.rules.vetoes import compound
from engrain.runtime.schema import MemoryType

_END = cues.END_CUE
_DENIED = re.compile(
    r"(?:\bnot|\bnever|n't|\bwithout|\bhardly|\balmost|\bnearly|\bto|\bif|\bwill|\bwould|\bcould|\bmight)\s+(?:\w+\s+)?$",
    re.IGNORECASE,
)
_ONCE = re.compile(r"(?:finished|completed)$", re.IGNORECASE)
_UNDER_WAY = re.compile(
    r"\b(?:is|are|am|'m|'re)\s+\w+ing\b|\b(?:project|course|degree|studies|training|therapy|lease|contract)\b"
)
_ANOTHERS = re.compile(r"\s+(?:its|his|her|(?:a|an|one|some)\s)", re.IGNORECASE)
_OFF_ROUTE = re.compile(
    r"\bstopped\s+(?:at|by|in|off|for|to|on|near|outside)\b|\bran\s+out\s+of\b|\boff\s+(?:the|a|an|my|their|user's)\b|\bover\s+(?:the|a|an|my|their|\d)|\bover to\b",
    re.IGNORECASE,
)


def match_ending(older: Reading, newer: Reading) -> tuple[Struck, Clause] | None:
    """The older statement when the newer tells that it ended."""
    if one_off(newer, older) or recurs_once(older, newer) or cues.PARTLY.search(newer.masked):
        return None
    for unit in older.sentences:
        if unit.negative or unit.past_habit or unit.hedged or unit.liking or _happened(older, unit):
            continue
        needed = _needed(unit)
        for sentence in newer.sentences:
            if needed and needed <= sentence.norms and _ends(needed, sentence, older, newer):
                start, end = trim(older, unit.start, unit.end)
                return Struck(start, end, whole=not residue(older, start, end, newer)), sentence
    return None


def _happened(older: Reading, unit: Clause) -> bool:
    """What happened stays true; what is planned or lasts may end."""
    if unit.due or wording.FUTURE.search(unit.masked):
        return False
    return older.record.memory_type is MemoryType.EPISODIC and not re.search(
        r"\b(?:is|are|am|'m|'re)\s+\w+ing\b", unit.masked
    )


def _needed(unit: Clause) -> frozenset[str]:
    """Every word of the statement but its verb: two at least, or a name, or the only one there is."""
    tokens = [token for token in unit.tokens if token.norm not in LIGHT | wording.FRAME_WORDS | TIME_WORDS]
    if (
        tokens
        and not tokens[0].named
        and len(tokens) > 1
        and re.match(r"\W*(?:user|i|we)\b(?!'s)", unit.masked, re.IGNORECASE)
    ):
        tokens = tokens[1:]
    words = frozenset(token.norm for token in tokens)
    enough = len(words) > 1 or any(token.named and not token.number and not token.date for token in tokens)
    return words if enough else frozenset()


def _ends(needed: frozenset[str], sentence: Clause, older: Reading, newer: Reading) -> bool:
    if sentence.hedged or sentence.past_habit or other_agent(older, newer, sentence):
        return False
    if people(sentence.masked) - people(older.masked):
        return False  # an uncle who retired is an uncle still
    for cue in _END.finditer(sentence.masked):
        if _ONCE.match(cue[0]) and not any(unit.due or _UNDER_WAY.search(unit.masked) for unit in older.sentences):
            continue  # what one does again and again is finished each time
        denied = _DENIED.search(sentence.masked[: cue.start()]) or _OFF_ROUTE.match(sentence.masked, cue.start())
        if not denied and _beside(needed, cue, sentence, older):
            return True
    return False


def _beside(needed: frozenset[str], cue: re.Match[str], sentence: Clause, older: Reading) -> bool:
    """From the start of the clause to the farthest word of the statement stands no other thing, and none behind it."""
    places = [(t.start - sentence.start, t.end - sentence.start) for t in sentence.tokens if t.norm in needed]
    first, last = min(cue.start(), places[0][0]), max(cue.end(), places[-1][1])
    if re.search(r"[;:]|,\s", sentence.masked[first:last]) or _ANOTHERS.match(sentence.masked, cue.end()):
        return False
    stop = next((m.start() for m in re.finditer(r"[,;:]\s", sentence.masked[last:])), None)
    end = len(sentence.masked) if stop is None else last + stop
    after = [t for t in sentence.tokens if cue.end() <= t.start - sentence.start < end and t.norm not in older.norms]
    if any(names_topic(t, sentence.text.rjust(sentence.end)) and not _when(t, sentence) for t in after):
        return False  # "no longer have a dog" is about the dog
    begin = max((m.end() for m in re.finditer(r"[,;:]\s", sentence.masked[:first])), default=0)
    behind = next((t for t in sentence.tokens if t.start - sentence.start == cue.end() + 1), None)
    if behind is not None and behind.norm not in older.norms | TIME_WORDS and not behind.date:
        return False  # "quit smoking" has an object of its own
    before: Token | None = None
    for token in sentence.tokens:
        start, end = token.start - sentence.start, token.end - sentence.start
        own = token.norm in older.norms or cue.start() <= start < cue.end()
        joined = before is not None and before.norm in older.norms and compound(before, token, sentence)
        if (
            not own
            and begin <= start
            and (start < last or joined)
            and not _light(token.norm, sentence.text[start:end], joined)
        ):
            return False
        before = token
    return True


def _when(token: Token, sentence: Clause) -> bool:
    """A word of time, of a kind of thing, or of how."""
    surface = sentence.text[token.start - sentence.start : token.end - sentence.start]
    return token.norm in TIME_WORDS | HEADS or surface.endswith(("ly", "ing", "ed"))


def _light(norm: str, surface: str, joined: bool) -> bool:
    """Words that name no other thing; behind a noun of the statement, only those that name its kind."""
    if norm in TIME_WORDS or surface.endswith("ly"):
        return True
    return norm in HEADS if joined else norm in LIGHT | HEADS or surface.endswith("ed")
