"""Weak records: what the rules of the dependency extractor state about a turn, as extraction examples.

No teacher is called. A turn gives one record for each statement: the rules' own units, or the sentences in which a
source sums the turn up (MSC's persona summaries), read by the same rules. The content says "The user", as records by
people and teachers do, where the rules of SLICE-Mem write "User".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.runtime.extraction.dependency.extractor import TurnEntry
from engrain.runtime.extraction.prompts import PROMPT_HASH
from engrain.runtime.schema import Dimensions, ExtractedRecord, ExtractionExample, Role, Split, Turn, WindowStyle

TEACHER = "rules"
_USER = re.compile(r"\bUser\b")
_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NOTED = "User noted: "
_PREPOSITIONS = "on|in|by|until|since|from|before|after"
_LEAST_WORDS = 3


class WeakReject(StrEnum):
    """Why a statement gave no record."""

    SKIPPED = "rules_skipped"
    NOT_STATED = "question_or_note"
    TOO_SHORT = "too_short"
    UNSUPPORTED = "not_in_the_message"
    FIRST_PERSON = "first_person_left"
    REPEATED = "repeated"


class Rules(Protocol):
    """The part of `DependencyExtractor` that is used."""

    def extract_turns(self, turns: Sequence[Turn]) -> list[TurnEntry]:
        """One entry a turn, in order."""
        ...


@dataclass(frozen=True)
class WeakTurn:
    """A message and the first-person sentences that sum it up; without any, the rules split the message itself."""

    turn: Turn
    statements: tuple[str, ...] = ()


def weak_turns(sessions: Iterable[LabelledSession], *, sums_up: bool) -> Iterator[WeakTurn]:
    """The user messages that their corpus marks: by a note where it has notes, else by a positive label.

    `sums_up` says that a note is first-person sentences that sum the message up, as MSC's persona summaries are.
    """
    for labelled in sessions:
        notes = labelled.metadata.get("notes")
        for turn in labelled.session.turns:
            if turn.role is not Role.USER:
                continue
            if notes is None:
                label = labelled.labels.get(turn.id)
                if label is not None and label.keep:
                    yield WeakTurn(turn)
            elif note := str(notes.get(turn.id, "")).strip():
                yield WeakTurn(turn, _sentences(note) if sums_up else ())


def _sentences(note: str) -> tuple[str, ...]:
    """The sentences of a note, each with a capital and a full stop."""
    found = [part.strip() for part in _SENTENCE_END.split(note) if part.strip()]
    return tuple(part[0].upper() + part[1:] + ("" if part[-1] in ".!?" else ".") for part in found)


@dataclass
class WeakReport:
    """What became of every statement."""

    messages: int = 0
    records: int = 0
    rejected: Counter[WeakReject] = field(default_factory=Counter)


def weak_examples(
    turns: Iterable[WeakTurn],
    rules: Rules,
    *,
    prompt: str,
    split: Mapping[str, Split] | None = None,
    support: float = 0.5,
    batch: int = 256,
) -> tuple[list[ExtractionExample], WeakReport]:
    """One example a message, a window of its own, in order; messages that give no record are left out.

    `support` is the least share of a record's content words that must stand in its message. `split` maps session ids
    to splits, train without one. Statements that give nothing are counted by reason.
    """
    report, examples, waiting = WeakReport(), [], list[WeakTurn]()
    for turn in turns:
        waiting.append(turn)
        if len(waiting) == batch:
            examples += _convert(waiting, rules, prompt, split, support, report)
            waiting = []
    examples += _convert(waiting, rules, prompt, split, support, report)
    return examples, report


def _convert(
    turns: Sequence[WeakTurn],
    rules: Rules,
    prompt: str,
    split: Mapping[str, Split] | None,
    support: float,
    report: WeakReport,
) -> list[ExtractionExample]:
    split_turns = _statements(turns, rules)
    asked = [
        weak.turn.model_copy(update={"text": statement})
        for weak, statements in zip(turns, split_turns, strict=True)
        for statement in statements
    ]
    entries = iter(rules.extract_turns(asked))
    examples = []
    for weak, statements in zip(turns, split_turns, strict=True):
        report.messages += 1
        records = _records(weak.turn, [next(entries) for _ in statements], support, report)
        if records:
            report.records += len(records)
            where = Split.TRAIN if split is None else split[weak.turn.session_id]
            examples.append(_example(weak.turn, records, prompt, where))
    return examples


def _statements(turns: Sequence[WeakTurn], rules: Rules) -> list[tuple[str, ...]]:
    """The sentences of each turn: its source's, or the source words of each of the rules' units."""
    own = [weak.turn for weak in turns if not weak.statements]
    entries = iter(rules.extract_turns(own))
    return [weak.statements or _units(next(entries)) for weak in turns]


def _units(entry: TurnEntry) -> tuple[str, ...]:
    analysis = entry.analysis
    if analysis.route != "units" or analysis.parse is None:
        return ()
    return tuple(analysis.parse.slice(unit.start, unit.end) for unit in analysis.units)


def _records(
    turn: Turn, entries: Sequence[TurnEntry], support: float, report: WeakReport
) -> tuple[ExtractedRecord, ...]:
    spoken = set(_words(turn.text))
    records: dict[str, ExtractedRecord] = {}
    for entry in entries:
        content = name_the_user(_with_date(entry))
        reject = _reject(entry, content, spoken, support)
        if reject is None and content in records:
            reject = WeakReject.REPEATED
        if reject is not None:
            report.rejected[reject] += 1
            continue
        dimension = entry.located.dimensions if entry.located else None
        assert dimension is not None
        records[content] = ExtractedRecord(source_id=1, content=content, dimension=_named(dimension))
    return tuple(records.values())


def _reject(entry: TurnEntry, content: str, spoken: set[str], support: float) -> WeakReject | None:
    if entry.located is None or not content:
        return WeakReject.SKIPPED
    if entry.entry.startswith((_NOTED, "User asks")) or "?" in content or "user" not in content.lower():
        return WeakReject.NOT_STATED
    words = [word for word in _words(content) if word not in ("the", "user", "a", "an", "s", "is", "has", "of", "to")]
    if len(words) < _LEAST_WORDS:
        return WeakReject.TOO_SHORT
    if {"i", "my", "me", "we", "our"} & set(_words(content)):
        return WeakReject.FIRST_PERSON
    stems = {word[:5] for word in spoken}
    if sum(word[:5] in stems for word in words) < support * len(words):
        return WeakReject.UNSUPPORTED
    return None


def name_the_user(text: str) -> str:
    """`User` of the rules as `The user` at the start of a sentence, `the user` elsewhere."""

    def named(match: re.Match[str]) -> str:
        before = text[: match.start()].rstrip()
        return "The user" if not before or before[-1] in ".!?" else "the user"

    return _USER.sub(named, text)


def _with_date(entry: TurnEntry) -> str:
    """The entry with its relative time ("last night") written as the date that the rules resolved it to."""
    located = entry.located
    date = _spoken_date(located.dimensions.time) if located else None
    if located is None or date is None or "time" not in located.spans:
        return entry.entry
    start, end = located.spans["time"]
    phrase = re.escape(entry.turn.text[start:end].strip())
    found = re.search(rf"\b(?:({_PREPOSITIONS})\s+)?(?:the\s+)?{phrase}(?!\w)", entry.entry, re.IGNORECASE)
    if found is None or not phrase:
        return entry.entry
    lead = found[1] or date[0]
    lead = lead.capitalize() if found.start() == 0 else lead
    return f"{entry.entry[: found.start()]}{lead} {date[1]}{entry.entry[found.end() :]}"


def _spoken_date(time: str) -> tuple[str, str] | None:
    """A record's time as a preposition and words: ("on", "3 May 2026"); None when it is not a day, month or year."""
    for form, lead, words in (("%Y-%m-%d", "on", "{0.day} {0:%B} {0.year}"), ("%Y-%m", "in", "{0:%B} {0.year}")):
        try:
            return lead, words.format(datetime.strptime(time, form))
        except ValueError:
            continue
    return ("in", time) if re.fullmatch(r"\d{4}", time) else None


def _named(dimension: Dimensions) -> Dimensions:
    changed = {name: _USER.sub("the user", getattr(dimension, name)) for name in ("location", "reason", "purpose")}
    return dimension.model_copy(update={name: value.rstrip(".") for name, value in changed.items()})


def _example(turn: Turn, records: tuple[ExtractedRecord, ...], prompt: str, split: Split) -> ExtractionExample:
    return ExtractionExample(
        id=f"{TEACHER}/{turn.id}",
        split=split,
        style=WindowStyle.LONGMEMEVAL,
        window=(turn,),
        overlap=0,
        records=records,
        teacher=TEACHER,
        prompt_hash=PROMPT_HASH[prompt],
    )


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
