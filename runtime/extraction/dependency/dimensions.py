"""The dimensions of a record from roles and entities, without a language model (beyond SLICE-Mem; DimMem 3.1's schema).

A dimension that the entry does not state is empty; each one that is filled tells the source characters it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from engrain.runtime.extraction.dependency.analysis import Analysis
from engrain.runtime.extraction.dependency.lexicons import (
    ATTITUDE_VERBS,
    CUE_WORDS,
    FIRST_PERSON,
    PLACE_NOUNS,
    STOP_WORDS,
    VAGUE_WORDS,
)
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.propositions import is_predicate, own_subject, predicate_lemma
from engrain.runtime.extraction.dependency.quotation import quoted_tokens
from engrain.runtime.extraction.dependency.rewriting import rewrite
from engrain.runtime.extraction.dependency.roles import PLACE_ENTITIES, TIME_ENTITIES
from engrain.runtime.extraction.dependency.times import resolve
from engrain.runtime.schema import Dimensions, MemoryType

REASON_LABELS = frozenset({"CAUS", "advcl_because", "advcl_since", "prep_because", "prep_due"})
PURPOSE_LABELS = frozenset({"AIM", "advcl_to", "advcl_so", "verb_MOD"})
_PLACE_PREPOSITIONS = frozenset({"prep_in", "prep_at", "prep_near", "prep_inside", "prep_outside", "LOC", "loc"})
_PLANNED = frozenset({"will", "'ll", "going", "gonna", "shall"})
_PLANNING = frozenset({"want", "plan", "intend", "need", "hope", "schedule", "decide", "would", "remind", "try"})
_KEYWORD_ENTITIES_LEFT_OUT = TIME_ENTITIES | {"MONEY", "CARDINAL", "ORDINAL", "PERCENT", "QUANTITY"}
_NOUNS = ("NN", "NNS", "NNP", "NNPS")

CharacterSpan = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Located:
    """Dimensions, and for each filled one the characters [start, end) of the turn that state it."""

    dimensions: Dimensions
    spans: dict[str, CharacterSpan] = field(default_factory=dict)


def find_dimensions(analysis: Analysis, moment: datetime, keywords: int) -> Located:
    """The dimensions of an entry. `moment` is the timestamp of its turn; `keywords` the most that are kept."""
    parse = analysis.parse
    if parse is None or not analysis.units:
        return Located(Dimensions(memory_type=MemoryType.FACT))
    inside = sorted({index for unit in analysis.units for index in range(unit.start, unit.end)})
    verbs = [index for index in inside if is_predicate(parse, index)]
    past = any(parse.tokens[index].tag == "VBD" for index in inside)
    values: dict[str, str] = {}
    spans: dict[str, CharacterSpan] = {}
    for name, found in (
        ("time", _time(parse, inside, moment, past)),
        ("location", _location(parse, inside)),
        ("reason", _subordinate(parse, verbs, inside, REASON_LABELS)),
        ("purpose", _subordinate(parse, verbs, inside, PURPOSE_LABELS)),
    ):
        if found is not None:
            values[name], spans[name] = found
    dimensions = Dimensions(
        memory_type=_memory_type(analysis, parse, verbs, past, dated="time" in values),
        keywords=_keywords(parse, inside, keywords),
        **values,
    )
    return Located(dimensions, spans)


def _memory_type(analysis: Analysis, parse: Parse, verbs: list[int], past: bool, *, dated: bool) -> MemoryType:
    """Requests, past, dated and planned events are episodic; what the user is, has, likes or often does is profile."""
    if any(unit.kind in ("request", "question") for unit in analysis.units):
        return MemoryType.EPISODIC
    words = {parse.tokens[i].lower for unit in analysis.units for i in range(unit.start, unit.end)}
    lemmas = {predicate_lemma(parse, index) for index in verbs}
    about_user = any(
        (subject := own_subject(parse, index)) is not None
        and (
            parse.tokens[subject].lower in FIRST_PERSON
            or any(parse.tokens[edge.dependent].lower in FIRST_PERSON for edge in parse.outgoing[subject])
        )
        for index in verbs
    )
    planned = bool(words & _PLANNED) or bool(lemmas & _PLANNING and about_user)
    event = dated and not lemmas & (ATTITUDE_VERBS | {"be", "have"})
    if planned or event or (past and "used" not in words):
        return MemoryType.EPISODIC
    if about_user or words & CUE_WORDS & {"favorite", "favourite", "allergic"}:
        return MemoryType.PROFILE
    return MemoryType.FACT


def _time(parse: Parse, inside: list[int], moment: datetime, past: bool) -> tuple[str, CharacterSpan] | None:
    covered = set(inside)
    for entity in parse.entities:
        if entity.label not in TIME_ENTITIES or entity.start not in covered:
            continue
        start = entity.start
        if start and parse.tokens[start - 1].lower in ("in", "within", "this", "last", "next", "every", "each"):
            start -= 1
        if value := resolve(parse.slice(start, entity.end), moment, past=past):
            return value, _characters(parse, start, entity.end)
        if value := resolve(parse.slice(entity.start, entity.end), moment, past=past):
            return value, _characters(parse, entity.start, entity.end)
    for index in inside:
        if parse.tokens[index].lower in ("today", "tonight", "yesterday", "tomorrow"):
            return resolve(parse.tokens[index].lower, moment, past=past), _characters(parse, index, index + 1)
    return None


def _location(parse: Parse, inside: list[int]) -> tuple[str, CharacterSpan] | None:
    covered = set(inside)
    for entity in parse.entities:
        if entity.label in PLACE_ENTITIES and entity.start in covered:
            return parse.slice(entity.start, entity.end), _characters(parse, entity.start, entity.end)
    for edge in parse.edges:
        if edge.dependent not in covered or edge.label not in _PLACE_PREPOSITIONS:
            continue
        if edge.role is Role.LOCATION and parse.tokens[edge.dependent].lemma in PLACE_NOUNS:
            start = edge.dependent
            while start - 1 in covered and parse.tokens[start - 1].tag in (*_NOUNS, "JJ", "POS"):
                start -= 1
            return parse.slice(start, edge.dependent + 1), _characters(parse, start, edge.dependent + 1)
    return None


def _subordinate(
    parse: Parse, verbs: list[int], inside: list[int], labels: frozenset[str]
) -> tuple[str, CharacterSpan] | None:
    """The clause or phrase that hangs by one of `labels`, with its marker, user-attributed."""
    covered = set(inside)
    for edge in parse.edges:
        if edge.label not in labels or edge.head not in covered or edge.dependent not in covered:
            continue
        below, stack = {edge.dependent}, [edge.dependent]
        while stack:
            for inner in parse.outgoing[stack.pop()]:
                if inner.label != "control" and inner.dependent in covered and inner.dependent not in below:
                    if inner.role is Role.ACTOR and inner.dependent < edge.head < edge.dependent:
                        continue  # A subject that the clause shares with its main verb.
                    below.add(inner.dependent)
                    stack.append(inner.dependent)
        start, end = min(below), max(below) + 1
        while start - 1 in covered and parse.tokens[start - 1].tag in ("IN", "TO", "DT") and start - 1 > edge.head:
            start -= 1
        if start <= edge.head < end:
            continue
        return rewrite(parse, start, end, quoted_tokens(parse)), _characters(parse, start, end)
    return None


def _keywords(parse: Parse, inside: list[int], most: int) -> tuple[str, ...]:
    """Entities that are no times or counts, then noun compounds, in source order, each once."""
    covered = set(inside)
    found: dict[int, str] = {}
    taken: set[int] = set()
    for entity in parse.entities:
        if entity.label not in _KEYWORD_ENTITIES_LEFT_OUT and entity.start in covered:
            found[entity.start] = parse.slice(entity.start, entity.end)
        taken.update(range(entity.start, entity.end))
    run: list[int] = []
    for index in [*inside, -1]:
        noun = index >= 0 and index not in taken and parse.tokens[index].tag in _NOUNS
        if noun and (not run or run[-1] == index - 1):
            run.append(index)
            continue
        if run and not (len(run) == 1 and parse.tokens[run[0]].lower in STOP_WORDS | VAGUE_WORDS):
            found[run[0]] = parse.slice(run[0], run[-1] + 1)
        run = [index] if noun else []
    unique = {text.lower(): text for _, text in sorted(found.items(), reverse=True) if text.strip()}
    ordered = [text for _, text in sorted(found.items()) if unique.pop(text.lower(), None) is not None]
    return tuple(ordered[:most])


def _characters(parse: Parse, start: int, end: int) -> CharacterSpan:
    return parse.tokens[start].start, parse.tokens[end - 1].end
