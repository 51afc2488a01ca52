"""The rules in order, on one parsed turn: clauses, candidates, spans, statements, merging, coverage (A.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engrain.runtime.extraction.dependency.clauses import Clause, split_clauses
from engrain.runtime.extraction.dependency.coverage import cleaned_tokens, retained_share, words
from engrain.runtime.extraction.dependency.lexicons import STOP_WORDS
from engrain.runtime.extraction.dependency.merging import Unit, attribute, attributed, combine
from engrain.runtime.extraction.dependency.parse import Parse
from engrain.runtime.extraction.dependency.propositions import (
    expressed,
    is_embedded,
    is_predicate,
    predicate_lemma,
    proposition_head,
)
from engrain.runtime.extraction.dependency.quotation import quoted_tokens
from engrain.runtime.extraction.dependency.realization import NOTED
from engrain.runtime.extraction.dependency.selection import ClauseTrace, clause_units, realise_span
from engrain.runtime.extraction.dependency.settings import DependencySettings
from engrain.runtime.extraction.dependency.surface import leads_to_question

Route = Literal["units", "fallback", "surface", "skipped"]
"""`units`: the rules; `fallback`: coverage too low or no unit; `surface`: no parse; `skipped`: no entry."""


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
    traces = [clause_units(parse, clause, quoted, settings) for clause in clauses]
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
        return _discourse(parse, traces, clauses, quoted, settings)
    reason = f"coverage {share:.2f}" if units else "no usable unit"
    text = attribute(_joined(whole))
    merged = Unit(text, whole[0].start, whole[-1].end, "surface", tuple(p for u in whole for p in u.predicates))
    return Analysis(parse.text, parse, traces, [merged], text, "fallback", retained_share(tokens, text), reason)


def _discourse(
    parse: Parse, traces: list[ClauseTrace], clauses: list[Clause], quoted: frozenset[int], settings: DependencySettings
) -> Analysis:
    """A turn of greetings and thanks alone, if it was admitted nevertheless: what it asks or says, else nothing.

    Keeping such turns out is the gate's task (3.1); the extractor leaves 0.51% of admitted turns empty (C.4).
    """
    spoken = [unit for unit in _whole(parse, clauses, quoted, settings, discourse=True) if unit.predicates]
    if not spoken:
        return Analysis(parse.text, parse, traces, [], "", "skipped", 0.0, "discourse only")
    return Analysis(parse.text, parse, traces, spoken, attribute(_joined(spoken)), "units", 1.0, "discourse only")


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
    kept = kept or _fullest([unit for unit in units if "User" in unit.text] or units)
    kept = [unit for unit in kept if not unit.aside] or kept
    if kept[-1:] and kept[-1].kind in ("question", "request"):
        kept = [unit for unit in kept[:-1] if not leads_to_question(unit.text)] + kept[-1:]
    return kept


def _fullest(units: list[Unit]) -> list[Unit]:
    """Of comments alone the one with most to say: words that are no function words."""
    said = [sum(word not in STOP_WORDS for word in words(unit.text)) for unit in units]
    return [units[said.index(max(said))]] if units else []


def _cleaned_words(parse: Parse, clauses: list[Clause]) -> int:
    return sum(len(parse.slice(one.start, one.end).split()) for one in clauses if not one.discourse_only)


def _whole(
    parse: Parse,
    clauses: list[Clause],
    quoted: frozenset[int],
    settings: DependencySettings,
    *,
    discourse: bool = False,
) -> list[Unit]:
    """The surface route: every clause that says anything, realised whole; with `discourse` greetings and thanks too."""
    units = []
    for clause in clauses:
        if (clause.discourse_only and not discourse) or clause.start >= clause.end:
            continue
        heads = [index for index in range(clause.start, clause.end) if parse.tokens[index].tag.startswith("VB")]
        realised = realise_span(parse, clause, clause.start, clause.end, quoted, settings, is_last=True)
        lemmas = _top_predicates(parse, clause, heads)
        if realised.text:
            units.append(Unit(realised.text, clause.start, clause.end, realised.kind, lemmas, clause.connective))
    return units


def _top_predicates(parse: Parse, clause: Clause, heads: list[int]) -> tuple[str, ...]:
    tops = {proposition_head(parse, index, clause) for index in heads if is_predicate(parse, index)}
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
