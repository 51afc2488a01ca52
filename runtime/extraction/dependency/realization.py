"""From a span to a user-attributed statement by fixed surface rules (SLICE-Mem 3.2, A.3).

Words keep their order and spelling; only first-person words, the verb that agrees with them, and the frame of a
request change. Quotations are left as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engrain.runtime.extraction.dependency.frames import question_frame, request_frame
from engrain.runtime.extraction.dependency.inflection import third_person
from engrain.runtime.extraction.dependency.lexicons import (
    AUXILIARIES,
    FIRST_PERSON_SUBJECTS,
    HEDGES,
    QUESTION_AUXILIARIES,
    WH_WORDS,
)
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.propositions import is_predicate
from engrain.runtime.extraction.dependency.questions import indirect_question
from engrain.runtime.extraction.dependency.rewriting import rewrite
from engrain.runtime.extraction.dependency.surface import collapse

NOTED = "User noted: "
ASKS = "User asks: "
_PARTITIVE = re.compile(r"^((?:what|which)(?: \w+)? (?:are|were|is|would be)) some(?: of)?\b", re.IGNORECASE)
"""A vague partitive of a question: "what are some of the …" asks what the … are."""


@dataclass(frozen=True, slots=True)
class Realised:
    """A statement, and what kind of subject it got: own, request, question, supplied, or noted."""

    text: str
    kind: str


def realise(
    parse: Parse, start: int, end: int, quoted: frozenset[int], *, question: bool, trim: bool = True
) -> Realised:
    """The statement of tokens [start, end). `quoted` tokens are not touched; `trim` leaves stressing adverbs out."""
    frame = request_frame(parse, start, end)
    if frame is not None:
        body = rewrite(parse, frame.action, end, quoted, lead=frame.lead, trim=trim)
        return Realised(_sentence(frame.lead + _lower_first(body, parse, frame.action)), "request")
    if question:
        return Realised(_question(parse, start, end, quoted, trim), "question")
    body = rewrite(parse, start, end, quoted, trim=trim)
    kind = _subject_kind(parse, start, end)
    if kind == "supplied":
        return Realised(_sentence(_supply_subject(parse, start, body)), kind)
    if kind == "noted" and not body.startswith("User"):
        return Realised(_sentence(NOTED + _lower_first(body, parse, start)), kind)
    return Realised(_sentence(body), kind)


def _question(parse: Parse, start: int, end: int, quoted: frozenset[int], trim: bool) -> str:
    """`User asks: …?`, behind what only leads up to the question."""
    begin, inserted = question_frame(parse, start, end)
    if trim and inserted == (begin, begin + 3):
        return _sentence("User asks if " + _lower_first(rewrite(parse, begin + 3, end, quoted), parse, begin + 3))
    indirect = indirect_question(parse, begin, end) if trim and inserted is None else None
    if indirect is not None:
        body = rewrite(parse, indirect.begin, end, quoted, trim=trim, edits=indirect.edits)
        return _sentence(indirect.lead + _lower_first(body, parse, indirect.begin).rstrip("?"))
    if inserted is None:
        text = _lower_first(rewrite(parse, begin, end, quoted, trim=trim), parse, begin)
        return _sentence(ASKS + (_PARTITIVE.sub(r"\1", text) if trim else text), "?")
    first = rewrite(parse, begin, inserted[0], quoted, trim=trim)
    second = rewrite(parse, inserted[1], end, quoted, trim=trim)
    text = f"{_lower_first(first, parse, begin)} {second}"
    return _sentence(ASKS + (_PARTITIVE.sub(r"\1", text) if trim else text), "?")


def _subject_kind(parse: Parse, start: int, end: int) -> str:
    """Subject detection (A.3): a complete subject, a bare verb phrase that lacks one, or no clause at all.

    A possessive alone is no subject, and neither is the person that another verb controls.
    """
    verbs = [index for index in range(start, end) if is_predicate(parse, index)]
    if parse.tokens[start].lower in FIRST_PERSON_SUBJECTS and end - start > 2:
        return "own"
    if not verbs:
        finite = any(parse.tokens[index].tag in ("MD", "VBP", "VBZ", "VBD") for index in range(start, end))
        return "own" if finite and any(_nominal(parse, index) for index in range(start, end)) else "noted"
    for verb in verbs:
        if any(edge.role is Role.PATIENT and start <= edge.head < verb for edge in parse.incoming[verb]):
            continue  # The subject of a complement ("can't wait to watch it grow") is not the sentence's.
        for edge in parse.outgoing[verb]:
            subject = edge.role is Role.ACTOR or edge.label in ("nsubjpass", "csubjpass", "expl")
            if subject and edge.label not in ("control", "agent") and start <= edge.dependent < end:
                return "own"
    first = verbs[0]
    if any(_nominal(parse, index) for index in range(start, first)) and any(
        parse.tokens[index].tag in ("MD", "VBP", "VBZ", "VBD") for index in range(start, end)
    ):
        return "own"
    if parse.tokens[start].lower in HEDGES and parse.tokens[start].tag == "RB":
        return "noted"  # "Perhaps features like …": what may be is not what the user does.
    leading = all(parse.tokens[index].tag.startswith(("RB", "MD", "VB", "TO", "UH")) for index in range(start, first))
    return "supplied" if leading else "noted"


def _nominal(parse: Parse, index: int) -> bool:
    return parse.tokens[index].tag in ("NN", "NNS", "NNP", "NNPS", "PRP", "EX", "DT", "CD")


def _supply_subject(parse: Parse, start: int, body: str) -> str:
    """Put the default subject in front of a bare verb phrase: "started piano", "working from home", "want tea"."""
    while parse.tokens[start].tag == "RB" and not body.lower().startswith(parse.tokens[start].lower):
        start += 1  # A stressing adverb that was left out.
    token = parse.tokens[start]
    verb = start
    while parse.tokens[verb].tag in ("RB", "RBS", "RBR") and verb + 1 < len(parse.tokens):
        verb += 1
    if verb > start and parse.tokens[verb].tag == "VBG":
        return f"User is {_lower_first(body, parse, start)}"  # "Mostly catching up on work".
    lowered = _lower_first(body, parse, start)
    if token.lower == "gon":
        return f"User is {lowered}"
    if token.lower == "wan":
        return f"User wants to {lowered.removeprefix('wanna').strip()}"
    if token.tag == "VBZ":
        return f"{NOTED}{lowered}"  # "Helps me sleep": what helps is not the user.
    if token.tag == "VBG" and token.lower not in AUXILIARIES:
        return f"User is {lowered}"
    if token.tag == "VBN" and token.lower != "been" and not _reads_as_past(parse, start):
        return f"User was {lowered}"
    if token.tag == "TO":
        return f"User noted: {lowered}"
    if token.lower == "been":
        return f"User has {lowered}"
    if token.tag in ("VB", "VBP") and token.lower not in ("is", "was", "has", "does"):
        rest = lowered[len(token.text) :]
        return f"User {third_person(token.lower)}{rest}"
    return f"User {lowered}"


def _reads_as_past(parse: Parse, index: int) -> bool:
    """A participle with an object is a past tense whose tag is wrong ("started piano lessons")."""
    return any(edge.role is Role.PATIENT for edge in parse.outgoing[index])


def _lower_first(body: str, parse: Parse, index: int) -> str:
    """The body with a sentence's capital taken away, unless the word is a name, an acronym or "User"."""
    token = parse.tokens[index]
    keeps = (
        token.tag in ("NNP", "NNPS")
        or body.startswith("User")
        or (not token.text[1:].islower() and len(token.text) > 1)
    )
    return body if keeps else body[:1].lower() + body[1:]


def _sentence(text: str, mark: str = ".") -> str:
    text = collapse(text).rstrip(" ,;:-–—")
    if not text:
        return ""
    first = next((i for i, c in enumerate(text) if c.isalnum()), 0)
    if first == 0 or not text[:first].strip("\"'“‘([*"):
        text = text[:first] + text[first : first + 1].upper() + text[first + 1 :]
    closed = text.rstrip("\"'”’)*`")
    if closed[-1:] in ".!?…。！？" and mark != "?":
        return text
    return text if closed[-1:] == "?" else text.rstrip(".!") + mark if closed == text else text + mark


def opens_question(parse: Parse, start: int, end: int) -> bool:
    """Whether the range begins like a question: a question word or an auxiliary in front."""
    first = parse.tokens[start].lower
    return first in WH_WORDS or (end - start > 1 and first in QUESTION_AUXILIARIES)
