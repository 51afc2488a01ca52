"""Requests and questions: which words frame them, and where the asked action begins (A.3, "User asks to …")."""

from __future__ import annotations

from dataclasses import dataclass

from engrain.runtime.extraction.dependency.lexicons import (
    DO_FORMS,
    REQUEST_MODALS,
    SOFTENERS,
    STATIVE_STARTS,
)
from engrain.runtime.extraction.dependency.parse import Parse, Role

_HOPING = frozenset({"hoping", "wondering", "curious", "hope", "wonder", "wondered", "hoped"})
_ASKING = _HOPING | {"think", "thinking"}
_SKIPPED = SOFTENERS - {"help"}
_TELLING = frozenset({"tell", "talk", "inform"})
_POLITE = frozenset({"please", "kindly", "pls", "plz"})
_ORDER_AUXILIARIES = DO_FORMS | {"dont"}
_WANTING = frozenset({"need", "want", "like", "love", "ask"})


_LEAD_WORDS = frozenset(
    {
        "i",
        "we",
        "was",
        "am",
        "'m",
        "’m",
        "m",
        "im",
        "just",
        "also",
        "really",
        "have",
        "been",
        "'ve",
        "do",
        "often",
        "it",
        "that",
        "this",
        "makes",
        "made",
        "got",
        "me",
        "but",
        "so",
        "and",
    }
)


@dataclass(frozen=True, slots=True)
class Frame:
    """How a clause is introduced: `lead` replaces tokens [start, action)."""

    lead: str
    action: int


def request_frame(parse: Parse, start: int, end: int) -> Frame | None:
    """The frame of a request that begins the range, or None.

    Order ("please send …", "don't suggest …"), polite question ("could you send …"), indirect ("I was hoping you could
    send …", "I need you to send …"), proposal ("let's meet …").
    """
    tokens = parse.tokens
    index = _skip_softeners(parse, start, end)
    polite = any(tokens[at].lower in _POLITE for at in range(start, index))
    if index >= end:
        return None
    word = tokens[index].lower
    if word == "let" and _lower(parse, index + 1, end) in ("'s", "’s", "us", "s"):
        action = _skip_softeners(parse, index + 2, end)
        return _framed("User suggests to ", parse, action, end)
    if word in REQUEST_MODALS and _lower(parse, index + 1, end) in ("you", "u", "ya"):
        return _asked(parse, index + 2, end)
    indirect = _indirect(parse, index, end)
    if indirect is not None:
        return indirect
    if word in _ORDER_AUXILIARIES and index + 1 < end:
        negated = index + 1 if word == "dont" else index + 2
        follows = word == "dont" or _lower(parse, index + 1, end) in ("n't", "not", "nt", "n’t")
        if follows and negated < end and _is_action(parse, negated):
            return Frame("User asks not to ", negated)
        return None
    if _is_order(parse, index, polite):
        return Frame("User asks to ", index)
    return None


def question_frame(parse: Parse, start: int, end: int) -> tuple[int, tuple[int, int] | None]:
    """Where a question begins behind its lead ("I was wondering, …"), and an inserted "do you think" to leave out.

    "What do you think the risks are?" asks what the risks are: the insertion, tokens [a, b), is a frame of its own.
    """
    tokens = parse.tokens
    begin = start
    for index in range(start, min(end - 3, start + 9)):
        if tokens[index].lower in _ASKING:
            rest = index + 1
            if tokens[rest].text in (",", ":", "-", "–", "—"):
                begin = rest + 1
            elif tokens[rest].tag.startswith("W"):
                begin = rest
            break
        if tokens[index].lower not in _LEAD_WORDS:
            break
    for index in range(begin, min(end - 3, begin + 8)):
        words = tuple(tokens[at].lower for at in range(index, index + 3))
        if (
            words in (("do", "you", "think"), ("do", "you", "suppose"), ("would", "you", "say"))
            and (index > begin or index + 4 < end)
            and any(parse.tokens[at].tag.startswith(("V", "MD")) for at in range(index + 3, end))
        ):
            return begin, (index, index + 3)
    return begin, None


def _asked(parse: Parse, index: int, end: int) -> Frame | None:
    index = _skip_softeners(parse, index, end)
    if _lower(parse, index, end) == "not":
        return _framed("User asks not to ", parse, index + 1, end)
    told = index + 1 + (_lower(parse, index + 1, end) in ("me", "us"))
    if _lower(parse, index, end) in _TELLING and told + 1 < end:
        if _lower(parse, told, end) == "about":
            return Frame("User asks about ", told + 1)
        if [_lower(parse, told, end), _lower(parse, told + 1, end)] == ["more", "about"]:
            return Frame("User asks for ", told)
    return _framed("User asks to ", parse, index, end)


def _framed(lead: str, parse: Parse, action: int, end: int) -> Frame | None:
    return Frame(lead, action) if action < end and _is_action(parse, action) else None


def _indirect(parse: Parse, index: int, end: int) -> Frame | None:
    """I was hoping (that) you could V; I wonder if you could V; I need you to V; would you mind V-ing is a question."""
    words = [_lower(parse, at, end) for at in range(index, min(end, index + 9))]
    if not words or words[0] not in ("i", "we", "im", "hoping", "wondering", "just"):
        return None
    for place, word in enumerate(words[:6]):
        if word in ("not", "n't", "never", "dont"):
            return None
        if word in _HOPING:
            rest = place + 1
            rest += words[rest : rest + 1] in (["if"], ["that"], ["whether"])
            if words[rest : rest + 1] in (["you"], ["u"]) and words[rest + 1 : rest + 2] in (
                ["could"],
                ["can"],
                ["would"],
                ["might"],
                ["will"],
                ["'d"],
            ):
                return _asked(parse, index + rest + 2, end)
            return None
        if word in _WANTING and words[place + 1 : place + 3] == ["you", "to"]:
            return _asked(parse, index + place + 3, end)
        if word not in (
            "i",
            "we",
            "was",
            "am",
            "'m",
            "m",
            "im",
            "were",
            "'d",
            "would",
            "just",
            "really",
            "also",
            "have",
            "been",
            "'ve",
            "actually",
        ):
            return None
    return None


def _skip_softeners(parse: Parse, index: int, end: int) -> int:
    while index < end and (parse.tokens[index].lower in _SKIPPED or (parse.tokens[index].text == "," and index > 0)):
        index += 1
    return index


def _is_order(parse: Parse, index: int, polite: bool) -> bool:
    """A base-form verb without a subject. Statives ("want …", "love …") speak of the user unless "please" precedes."""
    token = parse.tokens[index]
    if token.lower in STATIVE_STARTS and not polite:
        return False
    if _lower(parse, index + 1, len(parse.tokens)) in ("-", "–"):
        return False  # The first half of a compound ("gluten-free") whose tag is wrong.
    if token.tag not in ("VB", "VBP") and not (polite and token.tag in ("NN", "JJ", "NNP", "UH", "VBD", "VBN", "RB")):
        return False
    if any(
        edge.role is Role.ACTOR and edge.label != "control" and edge.dependent < index for edge in parse.outgoing[index]
    ):
        return False
    if polite:
        return True
    return not any(edge.role is Role.FUNCTION for edge in parse.incoming[index]) and token.lemma == token.lower


def _is_action(parse: Parse, index: int) -> bool:
    token = parse.tokens[index]
    if token.lower in ("like", "mind", "prefer", "say", "be"):
        return False  # "Would you like …?" offers.
    return (token.tag.startswith(("VB", "NN")) and token.lower == token.lemma) or token.tag in ("VB", "VBP")


def _lower(parse: Parse, index: int, end: int) -> str:
    return parse.tokens[index].lower.replace("’", "'") if index < end else ""
