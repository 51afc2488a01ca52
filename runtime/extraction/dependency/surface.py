"""The cleaned source: characters made harmless, discourse prefixes found, discourse-only text recognised (A.3)."""

from __future__ import annotations

import re

from engrain.runtime.extraction.dependency.lexicons import DISCOURSE_WORDS
from engrain.runtime.extraction.dependency.phrases import (
    BARE_OPENERS,
    CLAUSE_STARTS,
    DISCOURSE_ONLY,
    LEADS_TO_QUESTION,
    OPENERS,
    PHATIC,
    TOPICS,
    VOCATIVE,
)

_UNSAFE = re.compile(
    r"[\ud800-\udfff]|[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\u200b-\u200f\u202a-\u202e\u2060\ufeff\ufffe\uffff]"
)
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"[\w'’&-]+")
_JOINED = "(?:(?:and|but|so|because) )?"
_PREFIX = re.compile(
    rf"\s*(?:{TOPICS}{_JOINED}(?=[\"“'*]?{CLAUSE_STARTS}\b)"
    rf"|{TOPICS}{_JOINED}(?=[\"“'*]?(?-i:[A-Z]))"
    rf"|{OPENERS}{VOCATIVE}\s*(?:[,;:!.]+|[–—-]+(?=\s)|…)\s*"
    rf"|{BARE_OPENERS}\s+(?=\S))",
    re.IGNORECASE,
)
_DISCOURSE_ONLY = re.compile(DISCOURSE_ONLY + r"[\s.!?,…]*", re.IGNORECASE)
_PHATIC = re.compile(PHATIC, re.IGNORECASE)
_LEADS_TO_QUESTION = re.compile(LEADS_TO_QUESTION)


def harmless(text: str) -> str:
    """The text with lone surrogates, controls and invisible marks replaced one for one, so that offsets hold."""
    return _UNSAFE.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    return "\ufffd" if "\ud800" <= match[0] <= "\udfff" else " "


def prefix_end(text: str) -> int:
    """Number of leading characters that are discourse prefixes ("Well, ", "Speaking of tea, "); 0 if none."""
    end = 0
    while match := _PREFIX.match(text, end):
        if match.end() == end:
            break
        end = match.end()
    return end


def is_discourse_only(text: str) -> bool:
    """Thanks, greetings, bare evaluations: nothing to remember."""
    if _DISCOURSE_ONLY.fullmatch(text.strip(" .!?,;:-–—…\n\"'")):
        return True
    words = _WORD.findall(text.lower().replace("’", "'"))
    return all(word in DISCOURSE_WORDS or word.removesuffix("'s") in DISCOURSE_WORDS for word in words) and not any(
        character.isdigit() for character in text
    )


def is_phatic(text: str) -> bool:
    """Talk about the talk: pleasure at it, leaving it, thanking for it. Left out beside anything better."""
    return _PHATIC.fullmatch(text.strip()) is not None


def leads_to_question(realised: str) -> bool:
    """A statement that only leads to the question after it: "User was thinking about …"."""
    return _LEADS_TO_QUESTION.fullmatch(realised) is not None


def collapse(text: str) -> str:
    """White space as single blanks."""
    return _SPACES.sub(" ", text).strip()
