"""The propositions of one clause: chosen by score, given their spans, realised and checked (SLICE-Mem A.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from engrain.runtime.extraction.dependency.clauses import Clause
from engrain.runtime.extraction.dependency.frames import question_frame
from engrain.runtime.extraction.dependency.general import general_end
from engrain.runtime.extraction.dependency.lexicons import (
    CONTRAST_CUES,
    CUE_WORDS,
    DANGLING,
    KEPT_CONNECTIVES,
    NEGATIONS,
    STOP_WORDS,
)
from engrain.runtime.extraction.dependency.merging import Unit
from engrain.runtime.extraction.dependency.parse import Parse
from engrain.runtime.extraction.dependency.predicates import Candidate, find_candidates, ordered
from engrain.runtime.extraction.dependency.propositions import expressed, is_embedded, predicate_lemma
from engrain.runtime.extraction.dependency.realization import NOTED, Realised, opens_question, realise
from engrain.runtime.extraction.dependency.recovery import amounts, append, missing
from engrain.runtime.extraction.dependency.settings import DependencySettings
from engrain.runtime.extraction.dependency.spans import complete_brackets, interval, reach, widen
from engrain.runtime.extraction.dependency.trimming import is_aside, is_comment, without_tail

_KEPT_WORDS = CUE_WORDS | NEGATIONS


@dataclass(slots=True)
class Chosen:
    """A selected proposition: its candidate, the tokens that its relations reach, and its span."""

    candidate: Candidate
    kept: set[int]
    span: tuple[int, int]
    heads: list[int]


@dataclass(slots=True)
class ClauseTrace:
    """What happened to one clause: for explanations and diagnostics."""

    clause: Clause
    candidates: list[Candidate] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    trimmed: set[int] = field(default_factory=set)
    """Tokens that trimming left out of a unit's end."""


def clause_units(parse: Parse, clause: Clause, quoted: frozenset[int], settings: DependencySettings) -> ClauseTrace:
    trace = ClauseTrace(clause)
    if clause.discourse_only:
        trace.notes.append("discourse only")
        return trace
    trace.candidates = find_candidates(parse, clause, settings)
    chosen = _select(parse, clause, trace, settings)
    spans = _final_spans(parse, clause, chosen, quoted)
    if len(spans) == 1 and clause.question and opens_question(parse, clause.start, clause.end):
        spans = [((clause.start, spans[0][0][1]), *spans[0][1:])]
    if settings.trim:
        spans = [_trimmed(parse, span, heads, score, quoted, trace) for span, heads, score in spans]
    for span, heads, score in spans:
        unit = _unit(parse, clause, span, heads, score, quoted, settings, is_last=span == spans[-1][0])
        if span != spans[0][0] and (joined := _connective(parse, clause, span[0])):
            unit = replace(unit, connective=joined)
        why = _unsound(unit, parse)
        if why:
            trace.notes.append(f"rejected '{unit.text}': {why}")
        else:
            trace.units.append(unit)
    if not trace.units:
        _keep_whole(parse, clause, trace, quoted, settings)
    elif recovered := missing(parse, clause, " ".join(unit.text for unit in trace.units), quoted):
        last = trace.units[-1]
        trace.units[-1] = Unit(
            append(last.text, recovered), last.start, last.end, last.kind, last.predicates, last.connective, last.score
        )
        trace.notes.append("recovered " + "; ".join(recovered))
    return trace


def _select(parse: Parse, clause: Clause, trace: ClauseTrace, settings: DependencySettings) -> list[Chosen]:
    """Up to K_c propositions by order; what overlaps a chosen one expands it, and a matrix predicate takes the place of
    the action under it, so that attitude, belief, report and negation stay (A.3)."""
    kept_by_head: dict[int, set[int]] = {}
    for candidate in trace.candidates:
        if candidate.filtered:
            continue
        if candidate.head != candidate.token and is_embedded(parse, candidate.head):
            candidate.filtered = "restrictive or nominal modifier"
            continue
        if candidate.head not in kept_by_head:
            kept_by_head[candidate.head] = reach(parse, candidate.head, clause, settings) | {candidate.token}
        candidate.span = interval(parse, kept_by_head[candidate.head], clause)
    chosen: list[Chosen] = []
    for candidate in ordered(trace.candidates):
        same = next((one for one in chosen if _overlap(one.span, candidate.span)), None)
        if same is not None:
            if candidate.head not in same.heads:
                same.heads.append(candidate.head)
            same.kept |= kept_by_head[candidate.head]
            same.span = (min(same.span[0], candidate.span[0]), max(same.span[1], candidate.span[1]))
        elif len(chosen) < settings.units_per_clause:
            chosen.append(Chosen(candidate, set(kept_by_head[candidate.head]), candidate.span, [candidate.head]))
        else:
            candidate.filtered = f"more than {settings.units_per_clause} a clause"
    return chosen


def _overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def _final_spans(
    parse: Parse, clause: Clause, chosen: list[Chosen], quoted: frozenset[int]
) -> list[tuple[tuple[int, int], list[int], float]]:
    """Spans widened and in source order; neighbours that a contrast joins, or that overlap, become one."""
    spans: list[tuple[tuple[int, int], list[int], float]] = []
    for one in sorted(chosen, key=lambda item: item.span):
        taken = {index for other in chosen if other is not one for index in other.kept}
        start, end = widen(parse, one.span, one.kept, clause, taken, quoted)
        start, end = complete_brackets(parse, start, end, clause, quoted)
        if spans and (start < spans[-1][0][1] or _contrast(parse, spans[-1][0][1], start)):
            before = spans.pop()
            start, end = min(before[0][0], start), max(before[0][1], end)
            spans.append(((start, end), before[1] + one.heads, max(before[2], one.candidate.score)))
        else:
            spans.append(((start, end), list(one.heads), one.candidate.score))
    return spans


def _trimmed(
    parse: Parse, span: tuple[int, int], heads: list[int], score: float, quoted: frozenset[int], trace: ClauseTrace
) -> tuple[tuple[int, int], list[int], float]:
    start, end = span
    core = general_end(parse, start, end, heads, quoted, asks=trace.clause.question)
    shorter = without_tail(parse, start, core, heads, quoted)
    if shorter < end:
        trace.trimmed.update(range(shorter, end))
        trace.notes.append(f"left out '{parse.slice(shorter, end)}'")
    return (start, shorter), heads, score


def _connective(parse: Parse, clause: Clause, start: int) -> str:
    """The word that joins a span to what stands before it in its clause: "…, so we can plan" stays a consequence."""
    for index in range(start - 1, max(clause.start, start - 4) - 1, -1):
        if (word := parse.tokens[index].lower) in KEPT_CONNECTIVES:
            return word
    return ""


def _contrast(parse: Parse, end: int, start: int) -> bool:
    return any(parse.tokens[index].lower in CONTRAST_CUES for index in range(end, start)) and start - end <= 3


def _unit(
    parse: Parse,
    clause: Clause,
    span: tuple[int, int],
    heads: list[int],
    score: float,
    quoted: frozenset[int],
    settings: DependencySettings,
    *,
    is_last: bool,
) -> Unit:
    start, end = span
    realised = realise_span(parse, clause, start, end, quoted, settings, is_last=is_last)
    lemmas = tuple(predicate_lemma(parse, index) for index in expressed(parse, start, end, heads))
    comment = settings.trim and is_comment(
        parse, start, end, heads, quoted, asks=realised.kind in ("question", "request")
    )
    aside = settings.trim and realised.kind != "request" and is_aside(parse, start, end, heads, quoted)
    return Unit(realised.text, start, end, realised.kind, lemmas, clause.connective, score, comment, aside)


def realise_span(
    parse: Parse,
    clause: Clause,
    start: int,
    end: int,
    quoted: frozenset[int],
    settings: DependencySettings,
    *,
    is_last: bool,
) -> Realised:
    question = (
        clause.question
        and is_last
        and (
            opens_question(parse, start, end)
            or parse.tokens[start].lower not in ("i", "we", "my", "our")
            or question_frame(parse, start, end)[0] > start
        )
    )
    return realise(parse, start, end, quoted, question=question, trim=settings.trim)


def _unsound(unit: Unit, parse: Parse) -> str:
    """Integrity checks of A.3 on a realisation; an empty string when it is sound."""
    count = len(unit.text.removeprefix(NOTED).split())
    if count < 2 or (count < 3 and unit.kind == "noted"):
        return "very short"
    last = parse.tokens[unit.end - 1]
    if last.lower in DANGLING and last.tag in ("DT", "PRP$", "CC"):
        return "ends in the middle of a phrase"
    return ""


def _keep_whole(
    parse: Parse, clause: Clause, trace: ClauseTrace, quoted: frozenset[int], settings: DependencySettings
) -> None:
    """A clause without a sound unit is noted when it is a phrase with content, or holds what must not be lost."""
    start, end = clause.start, clause.end
    tokens = parse.tokens[start:end]
    content = [token for token in tokens if token.text[0].isalnum() and token.lower not in STOP_WORDS]
    anchored = any(token.tag in ("NNP", "NNPS", "CD", "$") or token.lower in _KEPT_WORDS for token in tokens) or bool(
        amounts(parse.slice(start, end))
    )
    verbless = not trace.candidates
    if (verbless and len(content) >= 2) or (anchored and content):
        unit = _unit(
            parse, clause, (start, end), [c.token for c in trace.candidates], 0.0, quoted, settings, is_last=True
        )
        # A name alone is a vocative ("Maria!"): left out beside anything better.
        trace.units.append(replace(unit, comment=True) if len(content) < 2 and len(tokens) < 4 else unit)
        trace.notes.append("kept whole")
    elif not trace.notes:
        trace.notes.append("no usable predicate")
