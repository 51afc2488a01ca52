"""How much of the cleaned source a text still holds, and how alike two units are (SLICE-Mem A.3, B.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engrain.runtime.extraction.dependency.clauses import Clause
from engrain.runtime.extraction.dependency.lexicons import FIRST_PERSON, NEGATIONS
from engrain.runtime.extraction.dependency.parse import Parse

_WORD = re.compile(r"[\w$€£%]+(?:['’.,:@/-][\w%]+)*")


def words(text: str) -> list[str]:
    """Lower-case words of a text, amounts and hyphenated words whole."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def cleaned_tokens(parse: Parse, clauses: Iterable[Clause], comments: frozenset[int] = frozenset()) -> list[str]:
    """Lower-case token occurrences of the source without discourse prefixes, discourse-only clauses, `comments` (tokens
    that trimming recognised as remarks)."""
    return [
        parse.tokens[index].lower
        for clause in clauses
        if not clause.discourse_only
        for index in range(clause.start, clause.end)
        if index not in comments and any(character.isalnum() for character in parse.tokens[index].lower)
    ]


def retained_share(tokens: Sequence[str], realised: str) -> float:
    """Share of token occurrences found in the lower-cased realisation as substrings, without word boundaries (A.3).

    A first-person word counts as retained where "User" stands in its stead.
    """
    if not tokens:
        return 1.0
    text = realised.lower()
    attributed = "user" in text
    return sum(token in text or (attributed and token in FIRST_PERSON) for token in tokens) / len(tokens)


def near_duplicates(first: str, second: str, threshold: float) -> bool:
    """Whether the token sets overlap by `threshold` of the smaller one; never when only one of them negates."""
    left, right = set(words(first)), set(words(second))
    if not left or not right or bool(left & NEGATIONS) != bool(right & NEGATIONS):
        return False
    if any("n't" in word for word in left) != any("n't" in word for word in right):
        return False
    return len(left & right) / min(len(left), len(right)) >= threshold
