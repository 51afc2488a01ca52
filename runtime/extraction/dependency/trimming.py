"""Conciseness beyond the paper's printed rules: comments, vague units and fillers are left out (3.2: concise entries).

Nothing with a name, number, quotation, negation, attitude or cue word is touched, and a turn never loses its last unit.
Switched off by `DependencySettings.trim`.
"""

from __future__ import annotations

from engrain.runtime.extraction.dependency.lexicons import (
    ANAPHORIC_SUBJECTS,
    ATTITUDE_VERBS,
    CUE_ENTITIES,
    CUE_WORDS,
    EVALUATIVE,
    FIRST_PERSON,
    ILLUSTRATIONS,
    LINKING_VERBS,
    NEGATIONS,
    POLARITY,
    STOP_WORDS,
    VAGUE_WORDS,
)
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.propositions import own_subject, predicate_lemma
from engrain.runtime.extraction.dependency.surface import is_phatic

FEWEST_INFORMATIVE = 2
"""Informative words below which a unit is vague (ours)."""
_NAMES = ("NNP", "NNPS", "CD", "$")
_CUES_AND_NEGATIONS = CUE_WORDS | NEGATIONS
_EVALUATIVE_OR_VAGUE = EVALUATIVE | VAGUE_WORDS
_BEFORE_JUDGEMENT = frozenset({"for", "to", "is", "was", "are", "'s", "'re", "were"})
_PEOPLE = FIRST_PERSON | {"he", "she", "they"}
_UNINFORMATIVE = STOP_WORDS | VAGUE_WORDS | EVALUATIVE | POLARITY
_STRONG_VERBS = ATTITUDE_VERBS - {"like", "want"} | {"dislike", "enjoy", "adore", "miss"}


def is_anchored(parse: Parse, start: int, end: int, quoted: frozenset[int]) -> bool:
    """Whether tokens [start, end) hold a name, number, quotation, cue word, negation or attitude."""
    for index in range(start, end):
        token = parse.tokens[index]
        if index in quoted or token.tag in _NAMES:
            return True
        if token.lower == "used" and index + 1 < end and parse.tokens[index + 1].lower == "to":
            return True
        if token.lower in _CUES_AND_NEGATIONS or (token.lemma in _STRONG_VERBS and token.tag.startswith("V")):
            return True
    return any(one.label in CUE_ENTITIES and one.start < end and one.end > start for one in parse.entities)


def is_comment(parse: Parse, start: int, end: int, heads: list[int], quoted: frozenset[int], *, asks: bool) -> bool:
    """A remark on what was said ("it is fascinating to see how …"), or a unit of vague words ("some details")."""
    if is_anchored(parse, start, end, quoted):
        return False
    return (
        (not asks and not _judges(parse, start, end) and _is_remark(parse, heads))
        or _is_vague(parse, start, end, heads)
        or is_phatic(parse.slice(start, end))
    )


def is_aside(parse: Parse, start: int, end: int, heads: list[int], quoted: frozenset[int]) -> bool:
    """The mere news that a taste changed ("my tastes have shifted a bit"): what to, another unit says."""
    return bool(heads) and not is_anchored(parse, start, end, quoted) and all(_announces(parse, h, end) for h in heads)


def _announces(parse: Parse, head: int, end: int) -> bool:
    inner = next((edge.dependent for edge in parse.outgoing[head] if edge.label == "ccomp"), head)
    head = inner if predicate_lemma(parse, head) in ("guess", "think", "suppose", "feel") else head
    subject = own_subject(parse, head)
    if subject is None or predicate_lemma(parse, head) not in _CHANGES:
        return False
    if not {parse.tokens[subject].lemma, parse.tokens[subject].lower} & _TASTES:
        return False
    return all(
        parse.tokens[index].lower in _UNINFORMATIVE or not parse.tokens[index].text[0].isalnum()
        for index in range(head + 1, end)
    )


_CHANGES = frozenset({"change", "shift", "evolve", "move", "mature", "grow"})
_TASTES = frozenset({"taste", "tastes", "preference", "preferences", "interest", "interests", "view", "views", "habit"})


def _judges(parse: Parse, start: int, end: int) -> bool:
    """Whether a remark gives the user's own judgement ("too slow for me", "not to my taste"): that is worth keeping."""
    for index in range(start, end):
        word = parse.tokens[index].lower
        if word in ("i", "we", "me", "us", "myself"):
            return True
        if word in ("my", "our") and index > start and parse.tokens[index - 1].lower in _BEFORE_JUDGEMENT:
            return True
    return False


def _is_remark(parse: Parse, heads: list[int]) -> bool:
    """Every proposition links an anaphoric subject to a description, or is about the listener."""
    if not heads:
        return False
    for head in heads:
        subject = own_subject(parse, head)
        if subject is None:
            subject = next((edge.dependent for edge in parse.outgoing[head] if edge.label == "expl"), None)
        if subject is None:
            return False
        if parse.tokens[subject].lower == "you":
            continue  # What the listener does or may do.
        if predicate_lemma(parse, head) not in LINKING_VERBS or not _evaluates(parse, head):
            return False
        words = [parse.tokens[subject].lower]
        words += [parse.tokens[edge.dependent].lower for edge in parse.outgoing[subject] if edge.label == "poss"]
        if not ANAPHORIC_SUBJECTS & set(words):
            return False
    return True


def _evaluates(parse: Parse, head: int) -> bool:
    """Whether the complement holds an evaluative or vague word: "so captivating", "a great way", not "a nurse"."""
    for edge in parse.outgoing[head]:
        if edge.role not in (Role.PATIENT, Role.MODIFIER):
            continue
        inner = [edge.dependent, *(below.dependent for below in parse.outgoing[edge.dependent])]
        if any({parse.tokens[index].lower, parse.tokens[index].lemma} & _EVALUATIVE_OR_VAGUE for index in inner):
            return True
    return False


def _is_vague(parse: Parse, start: int, end: int, heads: list[int]) -> bool:
    """Fewer informative words than `FEWEST_INFORMATIVE`, or none at all where a person is the subject."""
    subjects = {own_subject(parse, head) for head in heads} - {None}
    of_a_person = any(parse.tokens[subject].lower in _PEOPLE for subject in subjects if subject is not None)
    needed = 1 if of_a_person or _judges(parse, start, end) else FEWEST_INFORMATIVE
    informative = 0
    for index in range(start, end):
        token = parse.tokens[index]
        if token.text[0].isalnum() and token.lower not in _UNINFORMATIVE and token.lemma not in _UNINFORMATIVE:
            informative += 1
            if informative >= needed:
                return False
    return True


def without_tail(parse: Parse, start: int, end: int, heads: list[int], quoted: frozenset[int]) -> int:
    """Where a span ends without its unanchored tails, the last first.

    A tail is a sentential comment (", which felt significant"), what the listener did (" that you have observed"), or
    an adjunct behind the last comma (", much like …") that no list and no finite clause of its own reaches into.
    """
    while True:
        cut = _tail_start(parse, start, end, heads, quoted)
        if cut is None:
            return end
        end = cut


def _tail_start(parse: Parse, start: int, end: int, heads: list[int], quoted: frozenset[int]) -> int | None:
    floor = max([start + 3, *(head + 2 for head in heads if start <= head < end)])
    for index in range(end - 2, floor, -1):
        token = parse.tokens[index]
        if index in quoted or token.lower in POLARITY or token.tag in _NAMES:
            return None
        if (
            token.lower in ("that", "which")
            and parse.tokens[index + 1].lower == "you"
            and token.tag in ("WDT", "IN", "WP")
        ):
            return index - 1 if parse.tokens[index - 1].text == "," else index
        if token.text in (",", "–", "—"):
            return index if _is_loose(parse, start, index, end, quoted) else None
    return None


def _is_loose(parse: Parse, start: int, comma: int, end: int, quoted: frozenset[int]) -> bool:
    first = parse.tokens[comma + 1]
    comment = first.lower == "which"
    if is_anchored(parse, comma, end, quoted) or not (comment or first.lower in ILLUSTRATIONS):
        return False
    if not comment and any(parse.tokens[index].lower in FIRST_PERSON for index in range(start, end)):
        return False  # What illustrates a statement about the user is about the user.
    for index in range(comma + 1, end):
        token = parse.tokens[index]
        if not comment and (token.lower in FIRST_PERSON or token.tag in ("VBP", "VBZ", "VBD", "MD")):
            return False
        for edge in (*parse.incoming[index], *parse.outgoing[index]):
            other = edge.head if edge.dependent == index else edge.dependent
            if start <= other < comma and (edge.role is Role.COORDINATION or edge.head == index):
                return False
    if comment:
        verb = next((i for i in range(comma + 2, end) if parse.tokens[i].tag.startswith("VB")), None)
        return verb is not None and predicate_lemma(parse, verb) in LINKING_VERBS | _COMMENT_VERBS
    return any(start <= edge.head < comma for index in range(comma + 1, end) for edge in parse.incoming[index])


_COMMENT_VERBS = frozenset({"get", "remind", "lead", "add", "give", "bring", "keep", "show"})
