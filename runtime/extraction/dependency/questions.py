"""Questions as indirect ones where no word has to change its place: "User asks about …", "User asks how …" (ours).

A question whose verb stands before its subject otherwise stays as it was asked, behind `User asks: ` (A.3 prints the
form of requests only).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engrain.runtime.extraction.dependency.inflection import third_person
from engrain.runtime.extraction.dependency.lexicons import ASKED_FOR, BE_FORMS, NEGATIONS, POLARITY, WH_WORDS
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.propositions import is_predicate

_PARTITIVES = (("some", "of"), ("some",), ("any",))


@dataclass(frozen=True, slots=True)
class Indirect:
    """`lead` replaces tokens [start, begin); `edits` replace tokens behind it."""

    lead: str
    begin: int
    edits: dict[int, str] = field(default_factory=dict)


def indirect_question(parse: Parse, start: int, end: int) -> Indirect | None:
    """The indirect form of the question that tokens [start, end) ask, or None when it must stay direct."""
    if end - start < 4:
        return None
    words = [parse.tokens[index].lower.replace("’", "'") for index in range(start, end)]
    if words[0] in ("what", "how") and words[1] == "about":
        return Indirect("User asks about ", start + 2)
    if words[0] == "what" and words[1] == "if":
        return Indirect("User asks ", start)
    if words[0] == "what" and words[1] in BE_FORMS:
        return _about(parse, start + 1, end)
    if words[:3] in (["do", "you", "have"], ["have", "you", "got"]):
        begin = _behind_partitive(parse, start + 3, end)
        asked = next((at for at in range(begin, min(begin + 2, end)) if parse.tokens[at].lower in ASKED_FOR), None)
        return Indirect("User asks for ", begin) if asked is not None else None
    if words[0] in WH_WORDS and words[1] in ("do", "does") and words[2] not in NEGATIONS:
        return _without_support(parse, start, end)
    return None


def _about(parse: Parse, copula: int, end: int) -> Indirect | None:
    """ "What are the risks of …?" asks about the risks of …: one noun phrase is all that the copula has behind it."""
    if not is_predicate(parse, copula) or parse.tokens[end - 1].tag in ("IN", "VBG", "VBN"):
        return None
    first = parse.tokens[copula + 1]
    if first.tag in ("PRP", "EX", "RB", "JJ", "WDT", "IN") or first.lower in ("this", "that", "these", "those"):
        return None
    for index in range(copula + 1, end):
        if parse.tokens[index].tag in ("IN", "WDT", "WP", "WRB", "TO") or parse.tokens[index].text == ",":
            break
        if parse.tokens[index].tag.startswith("V"):
            return None  # "What are the kids doing": the copula is an auxiliary, whatever the parser says.
    for edge in parse.outgoing[copula]:
        if edge.dependent < copula:
            continue
        if edge.role is Role.COORDINATION or is_predicate(parse, edge.dependent):
            return None
        if parse.tokens[edge.dependent].lower in POLARITY:
            return None
    return Indirect("User asks about ", _behind_partitive(parse, copula + 1, end))


def _without_support(parse: Parse, start: int, end: int) -> Indirect | None:
    """ "How do hubs differ …?" asks how hubs differ: only the auxiliary goes."""
    support = start + 1
    verb = next((edge.head for edge in parse.incoming[support] if edge.role is Role.FUNCTION), None)
    if verb is None or not support < verb < end or parse.tokens[verb].tag not in ("VB", "VBP"):
        return None
    between = [parse.tokens[index].lower for index in range(support + 1, verb)]
    if not between or any(word in POLARITY or word in ("i", "we", "you") for word in between):
        return None
    edits = {support: ""}
    if parse.tokens[support].lower == "does":
        edits[verb] = third_person(parse.tokens[verb].text)
    return Indirect("User asks ", start, edits)


def _behind_partitive(parse: Parse, index: int, end: int) -> int:
    """Behind "some of" and the like, which ask for no less than the whole."""
    for partitive in _PARTITIVES:
        stop = index + len(partitive)
        if stop < end and tuple(parse.tokens[at].lower for at in range(index, stop)) == partitive:
            return stop
    return index
