"""Numbers, clock times and measures in one form, so that 2 kilos are 2000 g and half past five is 5:30."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re
from decimal import Decimal

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred")
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_SMALL)} | {
    word: str(10 * place) for place, word in enumerate(_TENS, 3)
}
NUMBER_WORDS |= {
    word: value for value, word in (
        ("20", "twentieth"), ("30", "thirtieth"), ("40", "fortieth"), ("50", "fiftieth"), ("60", "sixtieth"), ("70", "seventieth"),
        ("80", "eightieth"), ("90", "ninetieth"),
    )
}  # fmt: skip
_UNITS: dict[str, tuple[str, str]] = {
    form: (base, factor)
    for base, factor, forms in (
        ("g", "1", "g gram grams"),
        ("g", "1000", "kg kilo kilos kilogram kilograms"),
        ("g", "0.001", "mg milligram milligrams"),
        ("metre", "1", "m metre metres meter meters"),
        ("metre", "0.01", "cm centimetre centimetres centimeter centimeters"),
        ("metre", "1000", "km kilometre kilometres kilometer kilometers"),
        ("ml", "1", "ml millilitre millilitres"),
        ("ml", "1000", "l litre litres liter liters"),
        ("gb", "1", "gb gigabyte gigabytes"),
        ("gb", "1000", "tb terabyte terabytes"),
        ("gb", "0.001", "mb megabyte megabytes"),
        ("minute", "1", "min mins minute minutes"),
        ("minute", "60", "h hour hours"),
    )
    for form in forms.split()
}
_UNIT = "|".join(sorted((unit for unit in _UNITS if len(unit) > 1), key=len, reverse=True))
_HOURS = re.compile(r"\b(\d+)\s?(?:hours?|h)(?: and)? (\d+)\s?(?:minutes?|mins?|min)\b", re.IGNORECASE)
_HALVES = re.compile(rf"\b({'|'.join(NUMBER_WORDS)}|\d+) and a half (?={_UNIT}\b)", re.IGNORECASE)
_SPELT = re.compile(rf"\b({'|'.join(NUMBER_WORDS)}|half an?|\d+)[- ](?=(?:{_UNIT})\b)", re.IGNORECASE)
CLOCK = r"\d{1,2}(?:[:.]\d{2})?\s?(?:[ap]m\b|[ap]\.m\.)|\d{1,2}:\d{2}"
SPOKEN_CLOCK = r"(?:half past|quarter past|quarter to) (?:[a-z]+|\d{1,2})\b|\bnoon\b|\bmidday\b|\bmidnight\b"
MEASURE = rf"\d+(?:,\d{{3}})*(?:\.\d+)?\s*(?:{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b"
THOUSANDS = r"\d+(?:\.\d+)?k\b"
_SPOKEN = {"noon": "12:00", "midday": "12:00", "midnight": "0:00"}


def clock(text: str) -> str:
    """`9:45 pm`, `4 p.m.` or `21:45` as hours and minutes of the day."""
    found = re.match(r"(\d{1,2})(?:[:.](\d{2}))?\s?([ap])?", text, re.IGNORECASE)
    assert found is not None
    hour = int(found[1])
    if found[3]:
        hour = hour % 12 + (12 if found[3].lower() == "p" else 0)
    return f"{hour}:{found[2] or '00'}"


def spoken_clock(text: str) -> str | None:
    """`half past five` and `noon` as hours and minutes; None when the hour is no number."""
    lower = text.lower()
    if lower in _SPOKEN:
        return _SPOKEN[lower]
    words = lower.split()
    given = NUMBER_WORDS.get(words[-1], words[-1])
    if not given.isdigit():
        return None
    hour = int(given)
    if words[1] == "to":
        return f"{(hour - 1) or 12}:45"
    return f"{hour}:{'30' if words[0] == 'half' else '15'}"


def measure(text: str) -> tuple[str, str]:
    """The value in the smallest common unit, and that unit."""
    found = re.match(r"([\d.]+)\s*(\w+)", text.replace(",", ""))
    assert found is not None
    base, factor = _UNITS[found[2].lower()]
    return plain(Decimal(found[1]) * Decimal(factor)), base


def thousands(text: str) -> str:
    """`15k` as 15000."""
    return plain(Decimal(text[:-1]) * 1000)


def plain(value: Decimal) -> str:
    """Without needless zeros or an exponent."""
    return f"{value.normalize():f}"


def fold_measures(text: str) -> str:
    """Spelt and compound measures as digits before their unit, each place kept.

    `one and a half hours` is 1.5 hours, `3 hours 30 minutes` 210 minutes, `a four-kilo pike` one of 4 kilos.
    """
    text = _HALVES.sub(lambda m: f"{NUMBER_WORDS.get(m[1].lower(), m[1])}.5".ljust(len(m[0])), text)
    text = _HOURS.sub(lambda m: f"{60 * int(m[1]) + int(m[2])} minutes".ljust(len(m[0])), text)
    return _SPELT.sub(_spelt, text)


def _spelt(match: re.Match[str]) -> str:
    word = match[1].lower()
    return ("0.5" if word.startswith("half") else NUMBER_WORDS.get(word, word)).ljust(len(match[0]))
