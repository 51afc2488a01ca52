"""From a span to a user-attributed statement by fixed surface rules (SLICE-Mem 3.2, A.3).

Words keep their order and spelling; only first-person words, the verb that agrees with them, and the frame of a
request change. Quotations are left as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engrain.runtime.extraction.dependency.inflection import CLITICS, INVARIANT_PAST, third_person
from engrain.runtime.extraction.dependency.lexicons import (
    AUXILIARIES,
    FILLERS,
    FIRST_PERSON_INDEPENDENT,
    FIRST_PERSON_OBJECTS,
    FIRST_PERSON_POSSESSIVES,
    FIRST_PERSON_REFLEXIVES,
    FIRST_PERSON_SUBJECTS,
    GIVING_VERBS,
    INTENSIFIERS,
    QUESTION_AUXILIARIES,
    WH_WORDS,
)
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.predicates import is_predicate, own_subject
from engrain.runtime.extraction.dependency.frames import question_frame, request_frame
from engrain.runtime.extraction.dependency.surface import collapse
from engrain.runtime.extraction.dependency.trimming import is_filler

NOTED = "User noted: "
ASKS = "User asks: "
_CONTRACTED = {"im": "User is", "ive": "User has", "id": "User would", "ill": "User will", "i'm": "User is",
               "i've": "User has", "i'd": "User would", "i'll": "User will", "we're": "User is", "we've": "User has",
               "we'll": "User will", "we'd": "User would"}  # fmt: skip
"""First person and verb in one token, as parsers without an English tokenizer or chat spelling leave them."""
_MADE_TO_WONDER = re.compile(r"^(?:it|that|this|which)(?: \w+ly)? (makes|made) User (wonder|think)\b", re.IGNORECASE)
"""A causative frame around a thought of the user: "It makes me wonder about …"."""
_PARTITIVE = re.compile(r"^((?:what|which)(?: \w+)? (?:are|were|is|would be)) some(?: of)?\b", re.IGNORECASE)
"""A vague partitive of a question: "what are some of the …" asks what the … are."""
_STRESSES = FILLERS | INTENSIFIERS
_WAS_WONDERING = re.compile(r"^User (?:was|is|has been) (?:just )?wondering\b")
_HABIT_WORDS = frozenset({"every", "always", "usually", "often", "sometimes", "never", "each", "daily", "weekly", "mostly"})
_LOOSE_MARK = re.compile(r"\s+([,.;!?])")
_HAD_FOLLOWERS = frozenset({"better", "been", "already"})


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
    if kind == "noted":
        return Realised(_sentence(NOTED + body), kind)
    return Realised(_sentence(body), kind)


def _question(parse: Parse, start: int, end: int, quoted: frozenset[int], trim: bool) -> str:
    """`User asks: …?`, behind what only leads up to the question."""
    begin, inserted = question_frame(parse, start, end)
    if trim and inserted == (begin, begin + 3):
        return _sentence("User asks if " + _lower_first(rewrite(parse, begin + 3, end, quoted), parse, begin + 3))
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
        for edge in parse.outgoing[verb]:
            subject = edge.role is Role.ACTOR or edge.label in ("nsubjpass", "csubjpass", "expl")
            if subject and edge.label not in ("control", "agent") and start <= edge.dependent < end:
                return "own"
    first = verbs[0]
    if any(_nominal(parse, index) for index in range(start, first)) and any(
        parse.tokens[index].tag in ("MD", "VBP", "VBZ", "VBD") for index in range(start, end)
    ):
        return "own"
    leading = all(
        parse.tokens[index].tag.startswith(("RB", "MD", "VB", "TO", "UH")) for index in range(start, first)
    )
    return "supplied" if leading else "noted"


def _nominal(parse: Parse, index: int) -> bool:
    return parse.tokens[index].tag in ("NN", "NNS", "NNP", "NNPS", "PRP", "EX", "DT", "CD")


def _supply_subject(parse: Parse, start: int, body: str) -> str:
    """Put the default subject in front of a bare verb phrase: "started piano", "working from home", "want tea"."""
    token = parse.tokens[start]
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


def rewrite(
    parse: Parse, start: int, end: int, quoted: frozenset[int], *, lead: str = "", trim: bool = True
) -> str:
    """The source text of [start, end) with first-person words and the verbs that agree with them turned round."""
    edits: dict[int, str] = {}
    about_user = lead.startswith("User")
    others = False
    for index in range(start, end):
        if index in quoted:
            continue
        token = parse.tokens[index]
        word = token.lower.replace("’", "'")
        if word in FIRST_PERSON_SUBJECTS and _is_pronoun(parse, index):
            edits[index] = "User"
            about_user = about_user or not others
            if word == "we" and index + 1 < end and parse.tokens[index + 1].lower in ("all", "both"):
                edits[index + 1] = ""
            _agree(parse, index, start, end, edits)
        elif word in FIRST_PERSON_OBJECTS and token.text != "US":
            implied = trim and about_user and index == start + 1 < end - 1 and lead.endswith("to ")
            edits[index] = "" if implied and parse.tokens[start].lemma in GIVING_VERBS else "User"
        elif word in FIRST_PERSON_POSSESSIVES:
            edits[index] = "their" if about_user and not others else "User's"
        elif word in FIRST_PERSON_INDEPENDENT and token.tag != "NN":
            edits[index] = "User's"
        elif word in FIRST_PERSON_REFLEXIVES:
            edits[index] = "themselves"
        elif word in _CONTRACTED and _contracts(parse, index, end):
            edits[index] = _CONTRACTED[word]
            about_user = about_user or not others
        elif token.tag in ("NNP", "NNPS", "NNS") or word in ("they", "them", "he", "she", "you"):
            others = others or token.tag == "NNS" or word in ("they", "them", "he", "she", "you") or _is_person(parse, index)
        elif trim and word in _STRESSES and is_filler(parse, index, start, end):
            edits[index] = ""
    return _splice(parse, start, end, edits)


def _contracts(parse: Parse, index: int, end: int) -> bool:
    """Chat spellings that are also words ("ill", "id") count only in front of a verb or adverb."""
    word = parse.tokens[index].lower
    if word in ("ill", "id"):
        return index + 1 < end and parse.tokens[index + 1].tag in ("VB", "VBP", "RB") and parse.tokens[index].tag != "JJ"
    return True


def _is_pronoun(parse: Parse, index: int) -> bool:
    """Not the numeral of "World War I" or "Elizabeth I"."""
    token = parse.tokens[index]
    if token.tag.startswith("NNP") and index and parse.tokens[index - 1].tag.startswith("NNP"):
        return index + 1 < len(parse.tokens) and parse.tokens[index + 1].tag.startswith(("VB", "MD"))
    return True


def _is_person(parse: Parse, index: int) -> bool:
    return any(one.label == "PERSON" and one.start <= index < one.end for one in parse.entities)


def _agree(parse: Parse, subject: int, start: int, end: int, edits: dict[int, str]) -> None:
    """Inflect the finite verb of a first-person subject, after it or, in a question, before it."""
    before = subject - 1
    if before >= start and parse.tokens[before].lower in ("do", "am", "have", "are", "were") and _inverted(parse, before, start):
        edits[before] = _cased(third_person(parse.tokens[before].lower), parse.tokens[before].text)
        return
    past = before >= start and parse.tokens[before].lower in ("was", "were", "did", "had")
    if before >= start and (past or parse.tokens[before].tag == "MD") and _inverted(parse, before, start):
        return  # "How long should I marinate": the verb keeps its base form.
    verb = _finite_after(parse, subject, end)
    if verb is None:
        return
    token = parse.tokens[verb]
    word = token.lower.replace("’", "'")
    negated = verb + 1 < end and parse.tokens[verb + 1].lower in ("nt", "n't", "n’t")
    if token.tag == "MD" or word in ("'d", "d", "'ll", "ll"):
        _expand_modal(parse, verb, word, end, edits)
        return
    if token.tag == "VBD" and word not in ("were", "'d", "d"):
        return
    if word in ("'s", "was", "has", "is", "does") or (word in INVARIANT_PAST and not _is_habit(parse, verb, end)):
        return
    edits[verb] = third_person(token.lower) if word in CLITICS else _cased(third_person(token.text), token.text)
    if negated and parse.tokens[verb + 1].lower == "nt":
        edits[verb + 1] = "n't"
    if word == "wan" and verb + 1 < end and parse.tokens[verb + 1].lower == "na":
        edits[verb + 1] = "to"
    main = verb if is_predicate(parse, verb) else _governor(parse, verb)
    for other in _coordinated(parse, main, end):
        edits[other] = third_person(parse.tokens[other].text)


def _is_habit(parse: Parse, verb: int, end: int) -> bool:
    """Whether a form that is present and past alike tells a habit: "I read every night", not "I quit in 2019"."""
    around = parse.tokens[max(0, verb - 2) : min(end, verb + 12)]
    return any(token.lower in _HABIT_WORDS for token in around)


def _inverted(parse: Parse, auxiliary: int, start: int) -> bool:
    before = parse.tokens[auxiliary - 1] if auxiliary > start else None
    return before is None or before.lower in WH_WORDS or before.text in (",", ":") or before.tag in ("CC", "NN", "NNS", "JJ", "RB", "UH")


def _expand_modal(parse: Parse, verb: int, word: str, end: int, edits: dict[int, str]) -> None:
    if word in ("'ll", "ll"):
        edits[verb] = "will"
    elif word in ("'d", "d"):
        following = next(
            (parse.tokens[index] for index in range(verb + 1, end) if not parse.tokens[index].tag.startswith("RB")), None
        )
        had = following is not None and (following.tag == "VBN" or following.lower in _HAD_FOLLOWERS)
        had = had or (verb + 1 < end and parse.tokens[verb + 1].lower == "better")
        edits[verb] = "had" if had else "would"
    if verb + 1 < end and parse.tokens[verb + 1].lower == "nt":
        edits[verb + 1] = "n't"


def _finite_after(parse: Parse, subject: int, end: int) -> int | None:
    """The verb that agrees: the next one, over adverbs and asides of a few words."""
    tokens = parse.tokens
    for index in range(subject + 1, min(end, subject + 7)):
        tag, word = tokens[index].tag, tokens[index].lower.replace("’", "'")
        if word in CLITICS and tokens[index].start == tokens[index - 1].end:
            return index
        if tag in ("MD", "VBP", "VBD", "VBZ", "VB") or word == "like":
            return index  # "like" after a first-person subject is a verb, whatever its tag.
        if tag.startswith(("RB", "CC", "UH")) or tokens[index].text in (",", "(", ")") or word in ("and", "all", "both", "myself"):
            continue
        # A verb whose tag is wrong still governs the pronoun.
        governs = any(edge.dependent == subject and edge.role is Role.ACTOR for edge in parse.outgoing[index])
        if governs and tag in ("NN", "JJ", "IN") and index == subject + 1:
            return index if tokens[index].text.isalpha() and not word.endswith(("ed", "ing")) else None
        if tag in ("PRP", "IN") and index == subject + 1 and tag == "PRP":
            return None
        if tag.startswith(("NN", "DT", "PRP", "IN", "VBG", "VBN", "TO")):
            return None
    return None


def _governor(parse: Parse, auxiliary: int) -> int:
    return next((edge.head for edge in parse.incoming[auxiliary] if edge.role is Role.FUNCTION), auxiliary)


def _coordinated(parse: Parse, verb: int, end: int) -> list[int]:
    """Further present-tense verbs that share the subject ("I live in Bath and work in Bristol", "… but am moving")."""
    found = []
    for index in sorted(e.dependent for e in parse.outgoing[verb] if e.role is Role.COORDINATION):
        if not verb < index < end:
            continue
        helper = next(
            (e.dependent for e in parse.outgoing[index] if e.role is Role.FUNCTION and verb < e.dependent < index), None
        )
        if helper is not None and parse.tokens[helper].lower in ("am", "have", "do", "are"):
            if own_subject(parse, index) is None:
                found.append(helper)
            continue
        if parse.tokens[index].tag not in ("VBP", "VB"):
            continue
        helped = parse.tokens[index - 1].tag in ("TO", "MD") or any(
            edge.role is Role.FUNCTION and parse.tokens[edge.dependent].tag in ("TO", "MD", "VBP", "VBD", "VBZ")
            for edge in parse.outgoing[index]
        )
        if not helped and own_subject(parse, index) is None:
            found.append(index)
    return found


def _splice(parse: Parse, start: int, end: int, edits: dict[int, str]) -> str:
    """The source with the edited tokens replaced; what was written together with a pronoun is set apart from it."""
    pieces: list[str] = []
    at = parse.tokens[start].start
    for index in sorted(edits):
        token = parse.tokens[index]
        gap = parse.text[at : token.start]
        replacement = edits[index]
        if not gap and pieces and index - 1 in edits and replacement[:1].isalpha():
            gap = " "
        pieces += [gap, replacement]
        at = token.end
    pieces.append(parse.text[at : parse.tokens[end - 1].end])
    text = _MADE_TO_WONDER.sub(r"User \2s", collapse("".join(pieces)))
    text = _WAS_WONDERING.sub("User wonders", text)
    return _tidy(text) if "" in edits.values() else text


def _tidy(text: str) -> str:
    """Marks that a left-out word leaves behind: " ,", ", ,", a comma in front."""
    return _LOOSE_MARK.sub(r"\1", text).replace(",,", ",").lstrip(", ")


def _cased(word: str, like: str) -> str:
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def _lower_first(body: str, parse: Parse, index: int) -> str:
    """The body with a sentence's capital taken away, unless the word is a name, an acronym or "User"."""
    token = parse.tokens[index]
    keeps = token.tag in ("NNP", "NNPS") or body.startswith("User") or not token.text[1:].islower() and len(token.text) > 1
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
