"""The rules in order, on one parsed turn: clauses, candidates, spans, statements, merging, coverage (A.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from engrain.runtime.extraction.dependency.clauses import Clause, quoted_tokens, split_clauses
from engrain.runtime.extraction.dependency.coverage import cleaned_tokens, retained_share
from engrain.runtime.extraction.dependency.lexicons import CONTRAST_CUES, CUE_WORDS, DANGLING, KEPT_CONNECTIVES, NEGATIONS, STOP_WORDS
from engrain.runtime.extraction.dependency.frames import question_frame
from engrain.runtime.extraction.dependency.merging import Unit, attribute, attributed, combine
from engrain.runtime.extraction.dependency.parse import Parse
from engrain.runtime.extraction.dependency.predicates import (
    Candidate,
    expressed,
    find_candidates,
    is_embedded,
    ordered,
    predicate_lemma,
)
from engrain.runtime.extraction.dependency.realization import NOTED, Realised, opens_question, realise
from engrain.runtime.extraction.dependency.recovery import amounts, append, missing
from engrain.runtime.extraction.dependency.settings import DependencySettings
from engrain.runtime.extraction.dependency.surface import leads_to_question
from engrain.runtime.extraction.dependency.spans import complete_brackets, interval, reach, widen
from engrain.runtime.extraction.dependency.trimming import is_comment, without_tail

Route = Literal["units", "fallback", "surface", "skipped"]
"""`units`: the rules; `fallback`: coverage too low or no unit; `surface`: no parse; `skipped`: no entry."""


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


@dataclass(slots=True)
class Analysis:
    """The whole way of one turn. `entry` is empty when the route is `skipped`, `reason` says why."""

    text: str
    parse: Parse | None
    traces: list[ClauseTrace]
    units: list[Unit]
    entry: str
    route: Route
    coverage: float = 1.0
    reason: str = ""

    @property
    def predicates(self) -> tuple[str, ...]:
        """Lemmas that the entry asserts, in order."""
        return tuple(lemma for unit in self.units for lemma in unit.predicates)


def analyse(parse: Parse, settings: DependencySettings) -> Analysis:
    """Run every rule on one turn."""
    quoted = quoted_tokens(parse)
    clauses = split_clauses(parse, settings, quoted)
    traces = [_clause_units(parse, clause, quoted, settings) for clause in clauses]
    found = [unit for trace in traces for unit in trace.units]
    kept = _without_comments(found)
    remarks = {i for unit in found if unit not in kept for i in range(unit.start, unit.end)}
    remarks |= {i for trace in traces for i in trace.trimmed}
    tokens = cleaned_tokens(parse, clauses, frozenset(remarks))
    units, entry, share = _combined(kept, tokens, settings)
    if units and (share >= settings.coverage or _cleaned_words(parse, clauses) < settings.coverage_words):
        return Analysis(parse.text, parse, traces, units, entry, "units", share)
    whole = _whole(parse, clauses, quoted, settings)
    if not whole:
        return Analysis(parse.text, parse, traces, [], "", "skipped", 0.0, "discourse only")
    reason = f"coverage {share:.2f}" if units else "no usable unit"
    text = attribute(_joined(whole))
    merged = Unit(text, whole[0].start, whole[-1].end, "surface", tuple(p for u in whole for p in u.predicates))
    return Analysis(parse.text, parse, traces, [merged], text, "fallback", retained_share(tokens, text), reason)


def surface_entry(parse: Parse, settings: DependencySettings) -> str:
    """What the surface route stores for a parsed turn: the cleaned source, user-attributed, nothing left out."""
    quoted = quoted_tokens(parse)
    plain = settings.model_copy(update={"trim": False})
    return attribute(_joined(_whole(parse, split_clauses(parse, settings, quoted), quoted, plain)))


def _combined(found: list[Unit], tokens: list[str], settings: DependencySettings) -> tuple[list[Unit], str, float]:
    units = attributed(combine(found, settings))
    entry = " ".join(unit.text for unit in units)
    return units, entry, retained_share(tokens, entry)


def _without_comments(units: list[Unit]) -> list[Unit]:
    """The units that say something, without the lead-in to a question; all of them when none does."""
    kept = [unit for unit in units if not unit.comment]
    kept = kept or [unit for unit in units if "User" in unit.text] or units
    if kept[-1:] and kept[-1].kind in ("question", "request"):
        kept = [unit for unit in kept[:-1] if not leads_to_question(unit.text)] + kept[-1:]
    return kept


def _cleaned_words(parse: Parse, clauses: list[Clause]) -> int:
    return sum(len(parse.slice(one.start, one.end).split()) for one in clauses if not one.discourse_only)


def _clause_units(parse: Parse, clause: Clause, quoted: frozenset[int], settings: DependencySettings) -> ClauseTrace:
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
    shorter = without_tail(parse, start, end, heads, quoted)
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
    realised = _realised(parse, clause, start, end, quoted, settings, is_last=is_last)
    lemmas = tuple(predicate_lemma(parse, index) for index in expressed(parse, start, end, heads))
    comment = settings.trim and is_comment(
        parse, start, end, heads, quoted, asks=realised.kind in ("question", "request")
    )
    return Unit(realised.text, start, end, realised.kind, lemmas, clause.connective, score, comment)


def _realised(
    parse: Parse,
    clause: Clause,
    start: int,
    end: int,
    quoted: frozenset[int],
    settings: DependencySettings,
    *,
    is_last: bool,
) -> Realised:
    question = clause.question and is_last and (
        opens_question(parse, start, end)
        or parse.tokens[start].lower not in ("i", "we", "my", "our")
        or question_frame(parse, start, end)[0] > start
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


def _keep_whole(parse: Parse, clause: Clause, trace: ClauseTrace, quoted: frozenset[int], settings: DependencySettings) -> None:
    """A clause without a sound unit is noted when it is a phrase with content, or holds what must not be lost."""
    start, end = clause.start, clause.end
    tokens = parse.tokens[start:end]
    content = [token for token in tokens if token.text[0].isalnum() and token.lower not in STOP_WORDS]
    anchored = any(
        token.tag in ("NNP", "NNPS", "CD", "$") or token.lower in _KEPT_WORDS for token in tokens
    ) or bool(amounts(parse.slice(start, end)))
    verbless = not trace.candidates
    if (verbless and len(content) >= 2) or (anchored and content):
        unit = _unit(parse, clause, (start, end), [c.token for c in trace.candidates], 0.0, quoted, settings, is_last=True)
        # A name alone is a vocative ("Maria!"): left out beside anything better.
        trace.units.append(replace(unit, comment=True) if len(content) < 2 and len(tokens) < 4 else unit)
        trace.notes.append("kept whole")
    elif not trace.notes:
        trace.notes.append("no usable predicate")


def _whole(parse: Parse, clauses: list[Clause], quoted: frozenset[int], settings: DependencySettings) -> list[Unit]:
    """The surface route: every clause that says anything, realised whole."""
    units = []
    for clause in clauses:
        if clause.discourse_only or clause.start >= clause.end:
            continue
        heads = [
            index for index in range(clause.start, clause.end) if parse.tokens[index].tag.startswith("VB")
        ]
        realised = _realised(parse, clause, clause.start, clause.end, quoted, settings, is_last=True)
        lemmas = _top_predicates(parse, clause, heads)
        if realised.text:
            units.append(Unit(realised.text, clause.start, clause.end, realised.kind, lemmas, clause.connective))
    return units


def _top_predicates(parse: Parse, clause: Clause, heads: list[int]) -> tuple[str, ...]:
    from engrain.runtime.extraction.dependency.predicates import is_predicate, proposition_head

    tops = {
        proposition_head(parse, index, clause)
        for index in heads
        if is_predicate(parse, index)
    }
    free = [index for index in tops if not is_embedded(parse, index)]
    return tuple(predicate_lemma(parse, index) for index in expressed(parse, clause.start, clause.end, free))


def _joined(units: list[Unit]) -> str:
    """Whole clauses as one text; `User noted:` stands once before a run of phrases."""
    texts: list[str] = []
    for place, unit in enumerate(units):
        follows = place > 0 and unit.kind == "noted" and units[place - 1].kind == "noted"
        text = unit.text.removeprefix(NOTED) if follows else unit.text
        if place and unit.connective and text.startswith("User") and unit.kind != "noted":
            text = f"{unit.connective.capitalize()} {text}"
        texts.append(text)
    return " ".join(texts)
