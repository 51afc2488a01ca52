"""Third-person forms: what "I" becomes "User" asks of the verb."""

from __future__ import annotations

IRREGULAR: dict[str, str] = {
    "am": "is",
    "are": "is",
    "be": "is",
    "'m": "is",
    "’m": "is",
    "m": "is",
    "'re": "is",
    "’re": "is",
    "re": "is",
    "have": "has",
    "'ve": "has",
    "’ve": "has",
    "ve": "has",
    "do": "does",
    "go": "goes",
    "were": "was",
    "ai": "is",
    "wan": "wants",
}
CLITICS = frozenset({"'m", "’m", "m", "'re", "’re", "re", "'ve", "’ve", "ve", "'d", "’d", "d", "'ll", "’ll", "ll"})
"""Written together with the pronoun, apart from "User"."""
INVARIANT_PAST = frozenset({"quit", "put", "cut", "set", "hit", "let", "cost", "hurt", "read", "spread", "shut", "bet"})
"""Verbs whose base form is their past tense too."""
_SIBILANTS = ("s", "x", "z", "ch", "sh")


def third_person(verb: str) -> str:
    """The third person singular of a present-tense form: live, lives; 'm, is; try, tries."""
    lower = verb.lower()
    if lower in IRREGULAR:
        return IRREGULAR[lower]
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    if lower.endswith(_SIBILANTS) or (lower.endswith("o") and lower[-2:-1] not in "aeiou"):
        return verb + "es"
    return verb + "s"
