"""From a predicate to a contiguous stretch of its clause (SLICE-Mem A.3, span construction)."""

from __future__ import annotations

from engrain.runtime.extraction.dependency.clauses import Clause
from engrain.runtime.extraction.dependency.lexicons import (
    AUXILIARIES,
    DANGLING,
    DISCOURSE_WORDS,
    EVALUATIVE,
    FILLERS,
    MODALS,
    NEGATIONS,
    POLARITY,
    POLARITY_TAILS,
)
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.propositions import own_subject
from engrain.runtime.extraction.dependency.settings import DependencySettings

FOLLOWED = frozenset(
    {Role.PATIENT, Role.ACTOR, Role.TIME, Role.PURPOSE, Role.LOCATION, Role.MODIFIER, Role.NOMINAL, Role.FUNCTION}
)
"""Relations that expand a span; asides are never followed, coordination only without a subject of its own."""
_CARRIED_TAGS = frozenset({"DT", "PDT", "PRP$", "IN", "TO", "MD", "RP", "$", "POS", "EX", "WDT", "WP", "WRB", "CD"})
_CLAUSAL = "VB"
_VERB_GROUP = AUXILIARIES | MODALS | POLARITY | {"gon", "na", "wan", "got", "ta"}
_POLARITY_OR_AUXILIARY = AUXILIARIES | POLARITY | {"gon", "na", "wan", "got", "ta"}


def reach(parse: Parse, index: int, clause: Clause, settings: DependencySettings) -> set[int]:
    """The tokens of the clause that permitted relations lead to from `index`, at most `clause_depth` clauses and
    `phrase_depth` noun-phrase relations deep (B.1)."""
    low, high = clause.start, clause.end
    kept = {index}
    stack = [(index, 0, 0)]
    while stack:
        at, clauses, phrases = stack.pop()
        for edge in parse.outgoing[at]:
            to = edge.dependent
            if to in kept or not low <= to < high:
                continue
            is_clause = parse.tokens[to].tag.startswith(_CLAUSAL)
            if edge.role is Role.COORDINATION:
                if is_clause and own_subject(parse, to) is not None and own_subject(parse, to) > at:  # type: ignore[operator]
                    continue
            elif edge.role not in FOLLOWED or _is_aside(parse, at, to):
                continue
            depth = (clauses + 1, 0) if is_clause else (clauses, phrases + (edge.role is Role.NOMINAL))
            if depth[0] <= settings.clause_depth and depth[1] <= settings.phrase_depth:
                kept.add(to)
                stack.append((to, *depth))
    return kept


def _is_aside(parse: Parse, head: int, index: int) -> bool:
    """A discourse adverb set off by a comma ("honestly, …", "…, though")."""
    token = parse.tokens[index]
    if token.lower not in _ASIDES or parse.outgoing[index]:
        return False
    before = parse.tokens[index - 1].text if index else ""
    after = parse.tokens[index + 1].text if index + 1 < len(parse.tokens) else ""
    return token.tag in ("RB", "UH", "NN", "IN") and (before in (",", "-", "–", "—") or after == ",")


def interval(parse: Parse, kept: set[int], clause: Clause) -> tuple[int, int]:
    """The contiguous range from the first to the last kept token, with the function words that cling to its edges."""
    start, end = min(kept), max(kept) + 1
    start = _carry_left(parse, start, clause.start)
    end = _short_rest(parse, end, clause.end)
    return _trim(parse, start, _carry_right(parse, end, clause.end))


_BELIEFS = frozenset({"think", "guess", "believe", "suppose", "imagine", "feel", "doubt", "hope", "suspect", "assume"})
_ASIDES = DISCOURSE_WORDS - POLARITY - EVALUATIVE
SHORT_REST = 3
"""Tokens up to the next mark that a span takes along rather than end in the middle of a phrase (ours)."""


def _short_rest(parse: Parse, end: int, high: int) -> int:
    for index in range(end, min(end + SHORT_REST + 1, high)):
        if not parse.tokens[index].text[0].isalnum() and parse.tokens[index].text[0] not in "'’":
            return index
        if parse.tokens[index].tag == "CC":
            return end
    return high if high - end <= SHORT_REST else end


def _carry_left(parse: Parse, start: int, low: int) -> int:
    """Prepositions, determiners, auxiliaries and negations that the graph leaves without an edge (PSD)."""
    while start > low:
        token = parse.tokens[start - 1]
        if token.end == parse.tokens[start].start and "-" in (token.text, parse.tokens[start].text):
            start -= 1  # A compound stays whole: "re-write".
            continue
        if start - 2 >= low and _is_belief(parse, start - 1):
            start -= 2
            continue
        clings = token.tag in _CARRIED_TAGS or token.lower in _VERB_GROUP
        elsewhere = bool(parse.incoming[start - 1]) and all(edge.head < start for edge in parse.incoming[start - 1])
        if not clings or (elsewhere and token.lower not in _POLARITY_OR_AUXILIARY):
            break
        start -= 1
    return start


def _is_belief(parse: Parse, verb: int) -> bool:
    """ "I think" right in front, which a parser may leave without an edge to what is thought: a belief is no fact."""
    return parse.tokens[verb].lower in _BELIEFS and parse.tokens[verb - 1].lower in ("i", "we")


def _carry_right(parse: Parse, end: int, high: int) -> int:
    """Particles, "anymore", and a closing unit or bracket; a preposition left at the end takes its phrase along."""
    while end < high:
        token, last = parse.tokens[end], parse.tokens[end - 1]
        clings = (
            token.tag in ("RP", "POS", "%")
            or token.lower in POLARITY_TAILS
            or token.text in ("%", "€", "£")
            or (token.start == last.end and (token.text[0].isalnum() or (token.text == "-" and end + 1 < high)))
        )
        if not clings and last.lower in DANGLING and last.tag in ("IN", "TO", "DT", "PRP$", "CC"):
            clings = token.text not in (",", ".", "!", "?", ";")
        if not clings:
            break
        end += 1
    return end


def _trim(parse: Parse, start: int, end: int) -> tuple[int, int]:
    """Leave out punctuation and joining words at the edges, but keep quotation marks and brackets whole."""
    tokens = parse.tokens
    while start < end - 1 and (tokens[start].text in _LEADING or tokens[start].lower in _JOINING):
        start += 1
    while end > start + 1 and (
        tokens[end - 1].text in _TRAILING
        or tokens[end - 1].tag == "CC"
        or (tokens[end - 1].lower in FILLERS and tokens[end - 2].text in _BEFORE_LOOSE)
    ):
        end -= 1
    return start, end


_BEFORE_LOOSE = frozenset({",", "but", "and", "so", "-", "–", "—"})
_JOINING = frozenset({"and", "so", "then", "also", "plus"})
_LEADING = frozenset({",", ".", ";", ":", "!", "?", "-", "–", "—", "…", "...", ")", "/"})
_TRAILING = frozenset(
    {",", ".", ";", ":", "!", "?", "-", "–", "—", "…", "...", "(", "/", "!!", "??", "?!", "!?", "!!!"}
)


def widen(
    parse: Parse, span: tuple[int, int], kept: set[int], clause: Clause, taken: set[int], quoted: frozenset[int]
) -> tuple[int, int]:
    """Widen over entities, proper nouns, numbers, money, quotations, negations and hedges of the clause that belong to
    no other chosen proposition (A.3). `taken` holds the tokens of the others."""
    start, end = span
    anchors = _anchors(parse, clause, quoted)
    for index in anchors:
        if index in taken or start <= index < end:
            continue
        path = _path(parse, index, kept)
        if path is None:
            continue
        # A negation brings the words it hangs on: "not" without its verb would say something else.
        reached = path if parse.tokens[index].lower in POLARITY else [index]
        start = min(start, *(at for at in reached if at >= clause.start), index)
        end = max(end, *(at + 1 for at in reached if at < clause.end), index + 1)
    return start, end


def _anchors(parse: Parse, clause: Clause, quoted: frozenset[int]) -> list[int]:
    entity = {
        index
        for one in parse.entities
        if one.start < clause.end and one.end > clause.start
        for index in range(max(one.start, clause.start), min(one.end, clause.end))
    }
    return [
        index
        for index in range(clause.start, clause.end)
        if index in entity
        or index in quoted
        or (token := parse.tokens[index]).tag in ("NNP", "NNPS", "CD", "$")
        or token.lower in POLARITY
    ]


def _path(parse: Parse, index: int, kept: set[int]) -> list[int] | None:
    """The tokens from `index` up to a kept one, over any relations; only itself when it hangs below nothing, None when
    it hangs elsewhere."""
    path: list[int] = []
    current = index
    while current not in kept:
        path.append(current)
        above = next((edge.head for edge in parse.incoming[current] if edge.head not in path), None)
        if above is None:
            return path if not parse.incoming[index] else None
        current = above
    return path


def complete_brackets(parse: Parse, start: int, end: int, clause: Clause, quoted: frozenset[int]) -> tuple[int, int]:
    """Take in the rest of a quotation or bracket that a span cuts, and the marks around it."""
    tokens = parse.tokens
    while end < clause.end and end in quoted and end - 1 in quoted:
        end += 1
    while start > clause.start and start in quoted and start - 1 in quoted:
        start -= 1
    if end < clause.end and end - 1 in quoted and end not in quoted:
        end += 1
    if start > clause.start and start in quoted:
        start -= 1
    opened = sum(tokens[index].text.count("(") - tokens[index].text.count(")") for index in range(start, end))
    if opened > 0:
        closing = next((i for i in range(end, clause.end) if ")" in tokens[i].text), None)
        end = closing + 1 if closing is not None else end
    return start, end


def has_negation(parse: Parse, start: int, end: int) -> bool:
    """Whether tokens [start, end) negate anything."""
    return any(parse.tokens[index].lower in NEGATIONS for index in range(start, end))
