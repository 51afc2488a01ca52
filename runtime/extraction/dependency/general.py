"""General statements and questions without their examples, comparisons and consequences (ours; 3.2: concise entries).

What somebody says of kinds of things, or asks about the world, is kept to its core: "User asks about festivals" needs
no ", like the ones in spring". Statements about the user or about definite things are left whole.
"""

from __future__ import annotations

from engrain.runtime.extraction.dependency.lexicons import FIRST_PERSON, POLARITY
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.propositions import own_subject
from engrain.runtime.extraction.dependency.trimming import is_anchored


def _is_general(parse: Parse, start: int, end: int, heads: list[int]) -> bool:
    """A statement about kinds of things or people at large: no first person but "I think", no definite subject."""
    told = start + 2 if parse.tokens[start].lower == "i" and parse.tokens[start + 1].lemma in _BELIEFS else start
    if not heads or any(parse.tokens[index].lower in FIRST_PERSON for index in range(told, end)):
        return False
    for head in heads:
        subject = own_subject(parse, head)
        if subject is None or subject < told:
            continue
        token = parse.tokens[subject]
        inner = {parse.tokens[edge.dependent].lower for edge in parse.outgoing[subject]}
        if token.lower in _GENERAL_PRONOUNS or token.tag == "VBG":
            continue
        if not token.tag.startswith("NN") or token.tag.startswith("NNP") or inner & _DEFINITE:
            return False
    return True


def general_end(
    parse: Parse, start: int, end: int, heads: list[int], quoted: frozenset[int], *, asks: bool = False
) -> int:
    """Where a general statement, or a question (`asks`), ends without the first tail behind its predicate and object.

    A tail that holds a name, number, cue, quotation, negation, hedge or first person stays, and so does a list.
    """
    if not asks and not _is_general(parse, start, end, heads):
        return end
    floor = max([start + 4, *(head + 3 for head in heads if start <= head < end)])
    for index in range(floor, end - 2):
        token, before = parse.tokens[index], parse.tokens[index - 1]
        behind_comma = before.text == ","
        opens = token.lower in _TAILS or (behind_comma and (token.lower in _LOOSE_TAILS or token.tag == "VBG"))
        cut = index - 1 if behind_comma else index
        if opens and _is_unanchored(parse, cut, end, quoted) and not _is_listed(parse, start, cut, end):
            return cut
    return end


def _is_unanchored(parse: Parse, start: int, end: int, quoted: frozenset[int]) -> bool:
    tail = {parse.tokens[index].lower for index in range(start, end)}
    return not tail & (POLARITY | FIRST_PERSON) and not is_anchored(parse, start, end, quoted)


def _is_listed(parse: Parse, start: int, cut: int, end: int) -> bool:
    """Whether a list reaches over the cut."""
    return any(
        edge.role is Role.COORDINATION and start <= edge.head < cut and edge.dependent >= cut
        for index in range(cut, end)
        for edge in parse.incoming[index]
    )


_BELIEFS = frozenset({"think", "guess", "believe", "suppose", "imagine", "say", "see"})
_GENERAL_PRONOUNS = frozenset({"it", "that", "this", "these", "those", "there", "you", "they", "one", "people", "what"})
_DEFINITE = frozenset({"the", "this", "these", "those", "our", "my", "his", "her", "their"})
_TAILS = frozenset({"while", "whereas", "because"})
_LOOSE_TAILS = frozenset({"like", "such", "especially", "particularly", "where", "which", "rather", "compared", "as"})
