"""Corrections: the same event or fact told again with one value mended."""
# ruff: noqa: E501  (a pattern reads best on one line)

from __future__ import annotations

import re

from engrain.runtime.consolidation.rules import cues, wording
from engrain.runtime.consolidation.rules.alignment import counted, kinds, stands_together
from engrain.runtime.consolidation.rules.coverage import trim
from engrain.runtime.consolidation.rules.equal import LIGHT
from engrain.runtime.consolidation.rules.matching import Struck
from engrain.runtime.consolidation.rules.narrowing import is_quantity
from engrain.runtime.consolidation.rules.reading import Clause, Reading
from engrain.runtime.consolidation.rules.support import of_one_topic, topic
from engrain.runtime.consolidation.rules.tokens import Token

CUE = cues.MEND_CUE
_WEAK = re.compile(
    r"\b(?:actually|sorry|confused|in fact|rather than|not quite right|error|correction|mistake|slip)\b", re.IGNORECASE
)
_PLACED = re.compile(
    r"^\W*(?:\w+, )?(?:actually|sorry|in fact|no,)|\b(?:was|were|is|are|did|had|it's|that's) (?:actually|in fact)\b|\bin error\b|^\W*correction\b|\bwas (?:a|my|the) (?:mistake|slip|error|mix-up)\b|\bby mistake\b",
    re.I,
)
_NOT = re.compile(
    r"(?:,|\band\b|\bbut\b|\bwas\b|\bis\b|;|\()\s*(?:and\s+|really\s+)?not\s+(?:in |on |at |for |to |with |from |by )?(?:the |a |an )?(?P<old>[^,.;!?()]{1,40}?)"
    r"(?=\s*(?:[,.;!?)]|\bas\b|\blike\b|$))|\b(?:instead of|rather than)\s+(?:the |a |an )?(?P<other>[^,.;!?()]{1,40}?)(?=\s*(?:[,.;!?)]|$))",
    re.IGNORECASE,
)
_HAD_SAID = re.compile(r"\bhad (?:said|told|written|noted|put|given|thought)\b|\bnot \d|\binstead of\b", re.IGNORECASE)
_CHECKED = re.compile(r"\b(?:check|look|count|measur|read)\w*(?: \w+)? again\b", re.IGNORECASE)
_ANOTHER = re.compile(r"\b(?:another|again|also|this time|next time|second)\b", re.IGNORECASE)


def match_correction(older: Reading, newer: Reading) -> tuple[Struck, Clause] | None:
    """The older statement when the newer corrects it: a cue, the same topic again, and one value for one of its kind."""
    sentence = next((s for s in newer.sentences if _speaks(s)), None)
    if sentence is None or _ANOTHER.search(_CHECKED.sub("", newer.masked)) or older.masked.rstrip().endswith("?"):
        return None
    said = _denied(newer)
    # "44 km, not 40": the wrong number stands without its unit.
    said |= {t.norm for t in older.tokens if t.number and _digits(older.text[t.start : t.end]) in said}
    denied = said & older.norms
    if said and not denied and any(t.norm in said and t.named for t in newer.tokens):
        return None  # another wrong value than the older record's
    amounts = {t.norm for t in newer.tokens if t.number and not t.date}
    if len(amounts) > 1 and _HAD_SAID.search(newer.masked) and not amounts & older.norms:
        return None  # "had said 310" takes back 310, and no other sum
    lost = [t for t in older.tokens if _missing(t, newer)]
    value = [t for t in older.tokens if t.norm in denied] or lost or _repeated(older, newer)
    rest = {t.norm for t in lost} - {t.norm for t in value}
    gained = [t for t in newer.tokens if t.norm not in older.norms | wording.CORRECTION_WORDS]
    if not value or not gained or not _same_topic(older, newer, value, rest, bool(denied)):
        return None
    if not _replaces(value, gained, older, newer, sentence, bool(denied)) or not _tells_same(
        value, gained, older, newer
    ):
        return None
    return Struck(*trim(older, 0, len(older.text)), whole=True), sentence


def _tells_same(value: list[Token], gained: list[Token], older: Reading, newer: Reading) -> bool:
    """The clause with the right value says again what the older record says; one that holds a value alone is enough."""
    if not topic(older) - {t.norm for t in value} & newer.norms:
        return False
    quantity = any(is_quantity(t) for t in value)
    right = [t for t in gained if is_quantity(t) == quantity and (quantity or t.named)] or gained
    around = [part for part in newer.parts if part.start <= right[0].start < part.end]
    return all(of_one_topic(part, right, older, newer) for part in around)


def _speaks(sentence: Clause) -> bool:
    found = [match[0] for match in CUE.finditer(sentence.masked)]
    if not found or sentence.hedged:
        return False
    return (
        not all(_WEAK.fullmatch(cue) for cue in found)
        or bool(_PLACED.search(sentence.masked))
        or bool(_NOT.search(sentence.masked))
    )


def _denied(newer: Reading) -> frozenset[str]:
    """The wrong value where it is said: `290, not 310`."""
    found: set[str] = set()
    for match in _NOT.finditer(newer.masked):
        found |= newer.clause(*match.span("old" if match["old"] else "other")).norms
    return frozenset(found)


def _digits(surface: str) -> str:
    return re.sub(r"[^\d.].*", "", surface)


def _missing(token: Token, newer: Reading) -> bool:
    return token.norm not in newer.norms and token.norm not in LIGHT | wording.FRAME_WORDS | {"spend", "pay", "cost"}


def _repeated(older: Reading, newer: Reading) -> list[Token]:
    """ "The 85 was a typo" says the wrong number again."""
    return [token for token in older.tokens if token.number] if CUE.search(newer.masked) else []


def _same_topic(older: Reading, newer: Reading, value: list[Token], rest: set[str], denied: bool) -> bool:
    """Everything else that the older record says, but for a word or two when the wrong value is said itself."""
    gone = {token.norm for token in value}
    shared = (older.norms & newer.norms) - gone - wording.FRAME_WORDS
    named = {token.norm for token in older.tokens if token.named}
    if rest & named or len(rest) > (len(shared) // 2 if denied else 0):
        return False
    topic = older.norms - gone - LIGHT - wording.FRAME_WORDS
    return len(shared) >= 2 or (bool(topic) and topic <= newer.norms)


def _replaces(
    value: list[Token], gained: list[Token], older: Reading, newer: Reading, sentence: Clause, denied: bool
) -> bool:
    whole, told = older.clause(0, len(older.text)), newer.clause(0, len(newer.text))
    names = [t for t in gained if t.named and not is_quantity(t)]
    amounts = [t for t in value if t.number and not t.date]
    if not denied and amounts and len(amounts) < len(value) and any(t.norm in wording.WEEKDAYS for t in value):
        return False  # another amount on another day
    if not denied and not stands_together(value, whole):
        return False
    if any(is_quantity(t) for t in value):
        before, after = counted(value, whole), counted(gained, told)
        if before and after and not before & after:
            return False
        return kinds([t for t in value if is_quantity(t)], whole) <= kinds(gained, told)
    if any(t.named for t in value):
        return bool(names) or denied
    # A plain word for a plain word: only where the wrong one is said, or the cue is plain.
    return denied or (len(value) == 1 and not _WEAK.search(sentence.masked) and len(gained) <= 2)
