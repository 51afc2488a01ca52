"""First person to "User" inside a stretch of source: pronouns, possessives, and the verbs that agree (A.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engrain.runtime.extraction.dependency.inflection import CLITICS, INVARIANT_PAST, third_person
from engrain.runtime.extraction.dependency.lexicons import (
    FIRST_PERSON_INDEPENDENT,
    FIRST_PERSON_OBJECTS,
    FIRST_PERSON_POSSESSIVES,
    FIRST_PERSON_REFLEXIVES,
    FIRST_PERSON_SUBJECTS,
    GIVING_VERBS,
    PEOPLE,
    WH_WORDS,
)
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.propositions import is_predicate, own_subject
from engrain.runtime.extraction.dependency.shortening import shortenings
from engrain.runtime.extraction.dependency.surface import collapse

_CONTRACTED = {"im": "User is", "ive": "User has", "id": "User would", "ill": "User will", "i'm": "User is",
               "i've": "User has", "i'd": "User would", "i'll": "User will", "we're": "User is", "we've": "User has",
               "we'll": "User will", "we'd": "User would"}  # fmt: skip
"""First person and verb in one token, as parsers without an English tokenizer or chat spelling leave them."""


_MADE_TO_WONDER = re.compile(r"^(?:it|that|this|which)(?: \w+ly)? (makes|made) User (wonder|think)\b", re.IGNORECASE)
"""A causative frame around a thought of the user: "It makes me wonder about …"."""


_WAS_WONDERING = re.compile(r"^User (?:was|is|has been) (?:just )?wondering\b")


_HABIT_WORDS = frozenset(
    {"every", "always", "usually", "often", "sometimes", "never", "each", "daily", "weekly", "mostly"}
)


_OTHER_PRONOUNS = frozenset({"they", "them", "he", "she", "you"})
_LOOSE_MARK = re.compile(r"\s+([,.;!?])")


_HAD_FOLLOWERS = frozenset({"better", "been", "already"})


def rewrite(
    parse: Parse,
    start: int,
    end: int,
    quoted: frozenset[int],
    *,
    lead: str = "",
    trim: bool = True,
    edits: Mapping[int, str] | None = None,
) -> str:
    """The source text of [start, end) with first-person words and the verbs that agree with them turned round.

    `edits` are replacements by token that the caller has decided on.
    """
    edits = dict(edits or {})
    about_user = lead.startswith("User")
    others = False
    shorter = shortenings(parse, start, end) if trim else frozenset()
    for index in range(start, end):
        if index in quoted or index in edits:
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
            about_user = about_user or not others
        elif word in FIRST_PERSON_POSSESSIVES:
            edits[index] = "their" if about_user and not others else "User's"
            about_user = about_user or not others
        elif word in FIRST_PERSON_INDEPENDENT and token.tag != "NN":
            edits[index] = "User's"
        elif word in FIRST_PERSON_REFLEXIVES:
            edits[index] = "themselves"
        elif word in _CONTRACTED and _contracts(parse, index, end):
            edits[index] = _CONTRACTED[word]
            about_user = about_user or not others
        elif word in _OTHER_PRONOUNS or token.lemma in PEOPLE or (token.tag[:3] == "NNP" and _is_person(parse, index)):
            others = True
        elif index in shorter:
            edits[index] = ""
    return _splice(parse, start, end, edits)


def _contracts(parse: Parse, index: int, end: int) -> bool:
    """Chat spellings that are also words ("ill", "id") count only in front of a verb or adverb."""
    word = parse.tokens[index].lower
    if word in ("ill", "id"):
        return (
            index + 1 < end and parse.tokens[index + 1].tag in ("VB", "VBP", "RB") and parse.tokens[index].tag != "JJ"
        )
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
    if (
        before >= start
        and parse.tokens[before].lower in ("do", "am", "have", "are", "were")
        and _inverted(parse, before, start)
    ):
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
    return (
        before is None
        or before.lower in WH_WORDS
        or before.text in (",", ":")
        or before.tag in ("CC", "NN", "NNS", "JJ", "RB", "UH")
    )


def _expand_modal(parse: Parse, verb: int, word: str, end: int, edits: dict[int, str]) -> None:
    if word in ("'ll", "ll"):
        edits[verb] = "will"
    elif word in ("'d", "d"):
        following = next(
            (parse.tokens[index] for index in range(verb + 1, end) if not parse.tokens[index].tag.startswith("RB")),
            None,
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
        if tag in ("VBP", "VB") and index + 1 < end and tokens[index + 1].tag == "VBD":
            continue  # "since we last talked": an adverb whose tag is wrong.
        if tag in ("MD", "VBP", "VBD", "VBZ", "VB") or word == "like":
            return index  # "like" after a first-person subject is a verb, whatever its tag.
        if (
            tag.startswith(("RB", "CC", "UH"))
            or tokens[index].text in (",", "(", ")")
            or word in ("and", "all", "both", "myself")
        ):
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
