"""A question in the schema of the records, by rules (DimMem section 3.3 leaves this to a model; see `model_query`).

The rules read wordings only. Where they are unsure they leave a field empty: an empty field activates nothing.
"""

from __future__ import annotations

import re
from datetime import datetime

from engrain.runtime.retrieval.cues import needs_assistant, wants_history
from engrain.runtime.retrieval.places import KNOWN_PLACES
from engrain.runtime.retrieval.query_patterns import (
    ANSWERS,
    CAPITALISED_PLACE,
    EITHER_OR,
    FIRST_PERSON,
    LOWER_PLACE,
    NO_PLACE,
    NOT_KEYWORDS,
    OPEN_QUESTION,
    TYPES,
)
from engrain.runtime.retrieval.question_times import time_constraints
from engrain.runtime.retrieval.stopwords import STOP_WORDS
from engrain.runtime.schema import MemoryType, ParsedQuery

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


def parse_question(question: str, asked_at: datetime) -> ParsedQuery:
    """The question by rules, its relative times resolved against `asked_at`, which must be aware."""
    text = " ".join(question.replace("\u2019", "'").split())
    return ParsedQuery(
        anchor=query_anchor(text),
        target_types=_target_types(text),
        keywords=_keywords(text),
        time_constraints=time_constraints(text, asked_at),
        location=_location(text),
        answer_dimension=_answer_dimension(text),
        needs_assistant_context=needs_assistant(text),
        wants_history=wants_history(text),
    )


def query_anchor(text: str) -> str:
    """The question with its first person as "the user", as DimMem's records speak of them."""
    for pattern, said in FIRST_PERSON:
        text = pattern.sub(said, text)
    return text


def _answer_dimension(text: str) -> str:
    for name, pattern in ANSWERS:
        if pattern.search(text):
            return name
    return "content" if OPEN_QUESTION.search(text) or EITHER_OR.search(text) else ""


def _target_types(text: str) -> tuple[MemoryType, ...]:
    return next(((kind,) for kind, pattern in TYPES if pattern.search(text)), ())


def _keywords(text: str) -> tuple[str, ...]:
    """Runs of content words, as short phrases; the words of a long run stay together."""
    phrases: list[list[str]] = [[]]
    end = 0
    for match in _WORD.finditer(text):
        word = match.group().lower().removesuffix("'s")
        if text[end : match.start()].strip(" "):
            phrases.append([])
        if word in STOP_WORDS or word in NOT_KEYWORDS or "'" in word:
            phrases.append([])
        elif not word.isdigit():
            phrases[-1].append(word)
        end = match.end()
    return tuple(dict.fromkeys(" ".join(phrase) for phrase in phrases if phrase))


def _location(text: str) -> str:
    for match in CAPITALISED_PLACE.finditer(text):
        if not NO_PLACE.match(match[1]):
            return match[1].removesuffix("'s").rstrip(".,")
    for match in LOWER_PLACE.finditer(text.lower()):
        words = match[1].split()
        for count in range(len(words), 0, -1):
            if (name := " ".join(words[:count])) in KNOWN_PLACES:
                place = text.lower().find(name, match.start())
                return text[place : place + len(name)]
    return ""
