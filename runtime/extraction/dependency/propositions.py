"""Reading propositions off a role graph: what is a predicate, whose subject it has, under which matrix it stands."""

from __future__ import annotations

from collections.abc import Iterable

from engrain.runtime.extraction.dependency.clauses import Clause
from engrain.runtime.extraction.dependency.lexicons import AUXILIARIES, BE_FORMS, LEMMA_FIXES
from engrain.runtime.extraction.dependency.parse import Edge, Parse, Role

INFORMATIVE = frozenset({Role.PATIENT, Role.TIME, Role.PURPOSE, Role.LOCATION, Role.MODIFIER})
"""Relations that make a predicate worth keeping; an actor alone does not (A.3)."""


def is_predicate(parse: Parse, index: int) -> bool:
    """A verb that is no auxiliary, or an adjective or noun that the graph gives an actor of its own (DM, PAS)."""
    known = parse.predicate_memo
    if index not in known:
        known[index] = _judge_predicate(parse, index)
    return known[index]


def _judge_predicate(parse: Parse, index: int) -> bool:
    token = parse.tokens[index]
    if token.tag.startswith("VB"):
        return not _is_auxiliary(parse, index) and not _is_half(parse, index)
    if token.tag[0] in "JN" and parse.label_set not in ("spacy", "sdp/psd"):
        return any(edge.role is Role.ACTOR for edge in parse.outgoing[index]) and copula(parse, index) is not None
    return False


def _is_half(parse: Parse, index: int) -> bool:
    """The first half of a compound whose tag is wrong ("gluten-free")."""
    if index + 2 >= len(parse.tokens):
        return False
    token, hyphen, second = parse.tokens[index : index + 3]
    return hyphen.text == "-" and token.end == hyphen.start and hyphen.end == second.start


def copula(parse: Parse, index: int) -> int | None:
    """The form of `be` in front of a predicative adjective or noun, at most four tokens back."""
    for back in range(index - 1, max(-1, index - 5), -1):
        if parse.tokens[back].lower in BE_FORMS and parse.tokens[back].tag.startswith("VB"):
            return back
    return None


def _is_auxiliary(parse: Parse, index: int) -> bool:
    if any(edge.role is Role.FUNCTION for edge in parse.incoming[index]):
        return True
    token = parse.tokens[index]
    if token.lower not in AUXILIARIES or parse.label_set == "spacy":
        return False
    if any(edge.role is not Role.COORDINATION for edge in parse.outgoing[index]):
        return False  # It governs arguments, so it is a verb of its own.
    for following in parse.tokens[index + 1 : index + 5]:
        if following.tag.startswith("VB"):
            return True
    return parse.label_set in ("sdp/dm", "sdp/pas") and not parse.incoming[index]


def predicate_lemma(parse: Parse, index: int) -> str:
    """Its lemma; a predicative adjective counts as `be`."""
    token = parse.tokens[index]
    if not token.tag.startswith("VB") or token.lower in BE_FORMS:
        return "be"
    return LEMMA_FIXES.get(token.lower, token.lemma)


def own_subject(parse: Parse, index: int) -> int | None:
    """The subject that stands to the left of a verb as its own, not one that it shares."""
    for edge in parse.outgoing[index]:
        if edge.label == "control" or edge.dependent >= index:
            continue
        is_subject = edge.role is Role.ACTOR or edge.label in ("nsubjpass", "csubjpass")
        if is_subject and not _borrowed(parse, edge):
            return edge.dependent
    return None


def _borrowed(parse: Parse, edge: Edge) -> bool:
    """In a graph with several heads, the nearest verb to the right of a subject owns it; the others share it."""
    if parse.label_set == "spacy":
        return False
    owners = [
        other.head
        for other in parse.incoming[edge.dependent]
        if other.role is Role.ACTOR
        and other.head > edge.dependent
        and parse.tokens[other.head].tag.startswith(("V", "J", "N"))
        and not _is_relative(parse, other.head)
    ]
    return bool(owners) and min(owners) != edge.head


def proposition_head(parse: Parse, index: int, clause: Clause) -> int:
    """Climb to the head of the finite proposition: through complements (hence through attitude, belief, report and
    negation above), adverbial clauses, and coordination without a subject of its own."""
    seen = {index}
    current = index
    while True:
        above = None
        for edge in parse.incoming[current]:
            if edge.head in seen or not clause.start <= edge.head < clause.end:
                continue
            if not is_predicate(parse, edge.head):
                continue
            nested = edge.role in (Role.PATIENT, Role.PURPOSE, Role.TIME, Role.MODIFIER, Role.LOCATION)
            shared = edge.role is Role.COORDINATION and own_subject(parse, current) is None
            if nested or shared:
                above = edge.head
                break
        if above is None:
            return current
        seen.add(above)
        current = above


def is_embedded(parse: Parse, index: int) -> bool:
    """Inside a noun phrase: a participle, a relative clause (A.3's restrictive and nominal-modifier embedding)."""
    for edge in parse.incoming[index]:
        if edge.role is Role.NOMINAL:
            return True
        if edge.role is Role.FUNCTION and edge.label == "appos":
            return True
    return _is_relative(parse, index)


def _is_relative(parse: Parse, index: int) -> bool:
    """A relative clause in a graph that has no edge for it: an argument, a relative pronoun after it, the verb."""
    if parse.label_set == "spacy":
        return False
    for edge in parse.outgoing[index]:
        after = edge.dependent + 1
        if edge.role in (Role.ACTOR, Role.PATIENT) and after < index and parse.tokens[after].tag in ("WP", "WDT"):
            return True
    return False


def expressed(parse: Parse, start: int, end: int, heads: Iterable[int]) -> list[int]:
    """The predicates that a span asserts: its heads and, from each, complements and subjectless coordination."""
    result: list[int] = []
    stack = list(heads)
    while stack:
        index = stack.pop()
        if index in result or not start <= index < end:
            continue
        result.append(index)
        for edge in parse.outgoing[index]:
            if edge.role in (Role.PATIENT, Role.COORDINATION) and is_predicate(parse, edge.dependent):
                stack.append(edge.dependent)
    return sorted(result)
