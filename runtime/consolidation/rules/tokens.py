"""Words of a record with their places, normalised so that two ways of writing one thing compare equal.

Numbers lose their separators and currency signs become words, clock times stay whole, dates become day, month and
year in any order of writing, number words become digits, verbs go to their base form, the rest is stemmed.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

from engrain.runtime.consolidation.rules import quantities, synonyms, wording

_STEMMER = snowballstemmer.stemmer("english")
_WORD = re.compile(
    r"(?P<iso>\d{4}-\d{2}-\d{2})|(?P<decade>(?:19|20)?\d0s)"
    rf"|(?i:(?P<clock>{quantities.CLOCK})|(?P<spoken>{quantities.SPOKEN_CLOCK})|(?P<measure>{quantities.MEASURE})"
    rf"|(?P<thousands>{quantities.THOUSANDS}))"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<suffix>st|nd|rd|th)?|(?P<sign>[$€£%])"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*(?:[^\W_]*))"
)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_SHORT_MONTHS = {month[:3]: month for month in _MONTHS if month != "may"} | {"sept": "september"}
_SHORT_DAYS = {day[:3]: day for day in sorted(wording.WEEKDAYS)} | {
    "tues": "tuesday",
    "thur": "thursday",
    "thurs": "thursday",
}
_STAMP = re.compile(r"^\s*\[\d{4}-\d{2}-\d{2}[^\]]*\]|\b(?:told|informed|reminded) the assistant that\b")
"""The day of the message before the statement: when it was said, and no word of it."""
_NAME_FOLLOWS = re.compile(r"\s+['\"“‘]?[A-Z]")
_PRONOUN_VERB = re.compile(r"(?:i|we|you|he|she|they|it|there|that|who|what|here)'(?:d|ve|re|ll|m|s)")
_OF_A_NOUN = re.compile(r"(?:\b(?:the|a|an|my|their|his|her|this|monthly|weekly)|'s)\s+$", re.IGNORECASE)
_AT = re.compile(r"\bat\s+$", re.IGNORECASE)
_AFTER_HOUR = re.compile(
    r"\s*(?:[.;](?!\d)|,(?!\d)|$|(?:on|and|in|instead|now|today|tomorrow|every|from|sharp)\b)", re.IGNORECASE
)
_ONE = re.compile(r"one (?:of|day|another|more)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Token:
    """One word: its normalised form, its place in the record, and whether it names something (name, number)."""

    norm: str
    start: int
    end: int
    named: bool
    number: bool

    @property
    def date(self) -> bool:
        """Whether it is a month or a weekday."""
        return self.norm in _MONTHS or self.norm in wording.WEEKDAYS


def tokens(text: str) -> list[Token]:
    """Content words of a text in order; function words are left out, negations too (polarity is read elsewhere)."""
    found: list[Token] = []
    folded = quantities.fold_measures(
        synonyms.fold_phrases(_same_length(_STAMP.sub(lambda stamp: " " * len(stamp[0]), text)))
    )
    for match in _WORD.finditer(folded):
        for norm, named, number in _forms(match, folded):
            if norm and (norm not in wording.FUNCTION_WORDS or _noun(norm, folded[: match.start()])):
                found.append(Token(norm, match.start(), match.end(), named, number))
    return found


def _noun(norm: str, before: str) -> bool:
    """ "User reports" frames a statement; the report is a thing."""
    return norm in {"report", "note", "state"} and bool(_OF_A_NOUN.search(before))


def norms(text: str) -> frozenset[str]:
    """The set of normalised content words."""
    return frozenset(token.norm for token in tokens(text))


@lru_cache(maxsize=50_000)
def normalise(word: str) -> str:
    """Base form of one lower-case word."""
    stem = _stem(word)
    return _SAME.get(stem, stem)


def _stem(word: str) -> str:
    base = wording.BASE_FORMS.get(word, word)
    return str(_STEMMER.stemWord(base)) if base.isascii() else base


_SAME = {_stem(form): _stem(base) for form, base in synonyms.table().items()}


def _same_length(text: str) -> str:
    """NFKC where it keeps the length (full-width digits), so that places stay those of the record."""
    folded = unicodedata.normalize("NFKC", text)
    return folded if len(folded) == len(text) else text


def _forms(match: re.Match[str], text: str) -> list[tuple[str, bool, bool]]:
    if match["iso"]:
        year, month, day = match["iso"].split("-")
        named_month = _MONTHS[int(month) - 1] if 1 <= int(month) <= 12 else month
        return [(str(int(day)), True, True), (named_month, True, False), (year, True, True)]
    if match["clock"]:
        return [(quantities.clock(match["clock"]), True, True)]
    if match["spoken"]:
        told = quantities.spoken_clock(match["spoken"])
        return [(told, True, True)] if told else []
    if match["measure"]:
        value, unit = quantities.measure(match["measure"])
        return [(value, True, True), (unit, False, False)]
    if match["thousands"]:
        return [(quantities.thousands(match["thousands"]), True, True)]
    if match["decade"]:
        digits = match["decade"]
        return [(digits if len(digits) > 3 else f"19{digits}", True, True)]
    if match["number"]:
        return [(f"{int(match['number'])}:00", True, True)] if _hour(match, text) else _number(match)
    if match["sign"]:
        return [(wording.SIGNS[match["sign"]], False, False)]
    return _word(match, text)


def _hour(match: re.Match[str], text: str) -> bool:
    """A bare hour: "at 11", where nothing follows that the number could count."""
    return bool(_AT.search(text[: match.start()]) and _AFTER_HOUR.match(text, match.end()) and len(match["number"]) < 3)


def _number(match: re.Match[str]) -> list[tuple[str, bool, bool]]:
    plain = match["number"].replace(",", "")
    if plain.endswith((".00", ".0")):
        plain = plain.partition(".")[0]
    return [(plain.lstrip("0") or "0", True, True)]


def _word(match: re.Match[str], text: str) -> list[tuple[str, bool, bool]]:
    surface = match["word"]
    lower = surface.casefold().replace("’", "'")
    if lower.endswith("'s"):
        lower = lower[:-2]
    if lower in {"called", "named"} and _NAME_FOLLOWS.match(text, match.end()):
        return []
    if lower == "a" and surface == "A" and match.start() > 0 and text[match.start() - 2] not in ".!?:":
        return [("A", True, False)]  # a blood group, a grade
    if lower == "one" and _ONE.match(text, match.start()):
        return []
    if lower in quantities.NUMBER_WORDS:
        return [(quantities.NUMBER_WORDS[lower], True, True)]
    if lower in wording.CONTRACTIONS or _PRONOUN_VERB.fullmatch(lower):
        return []
    if dated := _dated(surface, lower, text, match):
        return [(dated, True, False)]
    if lower == "may" and surface[0].isupper() and match.start() > 0:
        return [("may", True, False)]
    if lower in wording.NOT_NAMES:
        return [(normalise(lower), False, False)]
    opens = match.start() == 0 or text[: match.start()].rstrip(" '\"“‘").endswith((".", "!", "?", ":"))
    named = any(mark.isdigit() for mark in surface) or (
        surface[0].isupper() and (not opens or (len(surface) > 1 and surface.isupper()))
    )
    if lower in _MONTHS or lower.rstrip("s") in wording.WEEKDAYS:
        return [(lower.rstrip("s") if lower.rstrip("s") in wording.WEEKDAYS else lower, True, False)]
    return [(normalise(lower), named, False)]


def _dated(surface: str, lower: str, text: str, match: re.Match[str]) -> str | None:
    """An abbreviated month beside a number, or an abbreviated weekday with its capital."""
    beside = re.search(r"\d(?:st|nd|rd|th)?\s*$", text[: match.start()]) or re.match(r"\.?\s*\d", text[match.end() :])
    if lower in _SHORT_MONTHS and beside:
        return _SHORT_MONTHS[lower]
    return _SHORT_DAYS.get(lower) if surface[0].isupper() and not text[match.end() :].startswith("'") else None


def of_one_root(first: str, second: str) -> bool:
    """Whether two stems begin alike for most of the shorter one."""
    shorter = min(len(first), len(second))
    same = next((place for place in range(shorter) if first[place] != second[place]), shorter)
    return (same >= 4 and same >= shorter - 1) or (same == 3 and shorter == 4 and max(len(first), len(second)) <= 5)
