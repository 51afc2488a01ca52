"""Clause splitting (SLICE-Mem 3.2, A.3): a turn's tokens cut into the stretches that predicates are chosen from.

Sentences come from the parser; line breaks, semicolons, dashes and a verbless lead-in's colon cut further, and long
segments are cut at a comma with a conjunction (B.1: from 16 words). Discourse prefixes are left out of the clause.
"""

from __future__ import annotations

from dataclasses import dataclass

from engrain.runtime.extraction.dependency.lexicons import BE_FORMS, CONNECTIVES, KEPT_CONNECTIVES, WH_WORDS
from engrain.runtime.extraction.dependency.parse import Parse, Role
from engrain.runtime.extraction.dependency.settings import DependencySettings
from engrain.runtime.extraction.dependency.surface import is_discourse_only, prefix_end

_OPENING = frozenset("\"'“‘([{*")
_CLOSING = frozenset("\"'”’)]}*")
_COORDINATORS = frozenset({"and", "but", "so", "or", "yet"})
_DASHES = frozenset({"-", "–", "—", "--", "•", "*", "→"})
_INVERTIBLE = BE_FORMS | {"do", "does", "did", "can", "could", "should", "would"}
_VERBAL = ("VB", "MD")


@dataclass(frozen=True, slots=True)
class Clause:
    """Tokens [start, end) to choose predicates from; [outer, end) also holds the prefix that was left out.

    `connective` is the word that joined it to what stands before, kept when a unit of the turn precedes it.
    """

    outer: int
    start: int
    end: int
    connective: str = ""
    discourse_only: bool = False
    question: bool = False


def split_clauses(parse: Parse, settings: DependencySettings, quoted: frozenset[int]) -> list[Clause]:
    """The clauses of a turn in source order; together their outer ranges hold every token once."""
    ranges: list[tuple[int, int]] = []
    for start, end in _sentences(parse, quoted):
        for part in _split_at_marks(parse, start, end, quoted, settings):
            ranges += _split_at_conjunctions(parse, *part, quoted, settings)
    return [_clause(parse, start, end, settings) for start, end in ranges]


def _sentences(parse: Parse, quoted: frozenset[int]) -> list[tuple[int, int]]:
    """The parser's sentences; a boundary inside a quotation, or in front of a closing mark, is none."""
    merged: list[tuple[int, int]] = []
    for start, end in parse.sentences:
        if merged and ((start in quoted and start - 1 in quoted) or not _ends_sentence(parse, merged[-1][1])):
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def _ends_sentence(parse: Parse, at: int) -> bool:
    """Whether a sentence may end before token `at`: not after a comma or conjunction, not before a closing mark."""
    before, after = parse.tokens[at - 1], parse.tokens[at]
    if before.text in _CLOSING and after.text[0].islower():
        return False  # The mark belongs to the quotation: 'remove "Done." from the list'.
    if after.text[0] in ",.!?;:)]}…" and after.start == before.end:
        return False
    return before.text not in (",", "(") and before.tag not in ("IN", "DT", "PRP$", "TO", "CC", "MD")


def _split_at_marks(
    parse: Parse, start: int, end: int, quoted: frozenset[int], settings: DependencySettings
) -> list[tuple[int, int]]:
    """Cut after semicolons, at line breaks and dashes between clauses, and after a verbless lead-in's colon."""
    parts, begin = [], start
    for index in range(start, end - 1):
        token, following = parse.tokens[index], parse.tokens[index + 1]
        if index in quoted or index + 1 in quoted:
            continue
        cut = token.text == ";" or "\n" in parse.text[token.end : following.start]
        if token.text in (":", "：") and following.start > token.end:
            cut = cut or _is_lead_in(parse, begin, index, end, settings)
        elif token.text in _DASHES and token.start > 0 and following.start > token.end:
            subordinate = following.tag.startswith(("W", "IN"))
            cut = cut or (not subordinate and _has_subject(parse, index + 1, end) and _has_verb(parse, begin, index))
        elif token.text[0] in ".!?…" and following.text[0].isupper() and index > begin:
            cut = cut or (following.start > token.end and token.text[-1] in ".!?…" and len(token.text) < 4)
        if cut:
            parts.append((begin, index + 1))
            begin = index + 1
    parts.append((begin, end))
    return [part for part in parts if part[1] > part[0]]


def _is_lead_in(parse: Parse, start: int, colon: int, end: int, settings: DependencySettings) -> bool:
    """A short verbless stretch before a colon that a clause follows: "quick update: …"."""
    return (
        colon - start <= settings.lead_in_words + 2
        and not _has_verb(parse, start, colon)
        and _has_subject(parse, colon + 1, end)
    )


def _split_at_conjunctions(
    parse: Parse, start: int, end: int, quoted: frozenset[int], settings: DependencySettings
) -> list[tuple[int, int]]:
    """Cut a segment of `split_words` or more before a conjunction after a comma, where a clause with a subject starts.

    "so please" and "and please" start a request in a segment of any length.
    """
    tokens = parse.tokens
    long_enough = _words(parse, start, end) >= settings.split_words
    parts, begin = [], start
    for index in range(start + 1, end - 1):
        if index in quoted:
            continue
        if tokens[index].text == "," and _asks_next(parse, begin, index, end):
            parts.append((begin, index + 1))
            begin = index + 1
            continue
        if tokens[index].lower not in _COORDINATORS:
            continue
        after_comma = tokens[index - 1].text == ","
        request = tokens[index + 1].lower in ("please", "pls", "plz") or (
            after_comma
            and tokens[index + 1].lower in ("can", "could")
            and tokens[min(index + 2, end - 1)].lower == "you"
        )
        if request or (
            long_enough and after_comma and _has_verb(parse, begin, index) and _starts_clause(parse, index + 1, end)
        ):
            parts.append((begin, index))
            begin = index
    parts.append((begin, end))
    return [part for part in parts if part[1] > part[0]]


def _asks_next(parse: Parse, begin: int, comma: int, end: int) -> bool:
    """Whether a question follows a statement after a mere comma: "I'm in Rome, can you …", "…, what are …"."""
    if end - comma < 4:
        return False
    first, second, third = (parse.tokens[comma + step] for step in (1, 2, 3))
    if first.lower in ("can", "could", "would", "will", "do"):
        return second.lower in ("you", "u") and _has_subject(parse, begin, comma)
    if first.lower not in ("what", "how", "where", "when", "who", "why") or second.lower not in _INVERTIBLE:
        return False
    return third.tag not in ("IN", ",", ".") and _has_subject(parse, begin, comma)


def _starts_clause(parse: Parse, start: int, end: int) -> bool:
    """Whether a subject and a finite verb stand at the beginning of [start, end)."""
    if start >= end or parse.tokens[start].tag.startswith("W"):
        return False  # "…, and how we did it" is an object of the clause before it.
    stop = min(end, start + 12)
    for index in range(start, stop):
        token = parse.tokens[index]
        if token.tag.startswith(_VERBAL) and token.tag not in ("VBG", "VBN"):
            return index > start and _has_subject(parse, start, end, before=index)
        if token.text in (",", ";"):
            return False
    return False


def _has_verb(parse: Parse, start: int, end: int) -> bool:
    return any(parse.tokens[index].tag.startswith(_VERBAL) for index in range(start, end))


def _has_subject(parse: Parse, start: int, end: int, before: int | None = None) -> bool:
    """Whether a verb in [start, end) has an actor in it, to its left (and left of `before` when given)."""
    for index in range(start, end):
        for edge in parse.incoming[index]:
            subject = edge.role is Role.ACTOR or edge.label == "nsubjpass"
            if subject and edge.label != "control" and start <= edge.dependent < edge.head < end:
                return before is None or edge.dependent < before
    return False


def _words(parse: Parse, start: int, end: int) -> int:
    return len(parse.slice(start, end).split())


def _clause(parse: Parse, outer: int, end: int, settings: DependencySettings) -> Clause:
    tokens = parse.tokens
    start, connective = outer, ""
    begin, stop = tokens[outer].start, tokens[end - 1].end
    text = parse.text[begin:stop]
    dropped = prefix_end(text)
    lead = text[: text.find(":") + 1] if ":" in text[:80] else ""
    while start < end and (tokens[start].start < begin + dropped or _is_mark(tokens[start].text)):
        start += 1
    while start < end - 1 and (word := tokens[start].lower) in CONNECTIVES and _drops(parse, start, end):
        connective = word if word in KEPT_CONNECTIVES else connective
        start += 1
        while start < end - 1 and (_is_mark(tokens[start].text) or tokens[start].text == ","):
            start += 1
        dropped = prefix_end(parse.text[tokens[start].start : stop])
        limit = tokens[start].start + dropped
        while start < end - 1 and tokens[start].start < limit:
            start += 1
    start = min(start, end)
    remaining = parse.text[tokens[start].start : stop] if start < end else ""
    mark = remaining.rstrip("\"'”’)* ")[-1:]
    only = not remaining or is_discourse_only(remaining)
    if not only and lead and remaining.rstrip() in lead and not _has_verb(parse, start, end):
        only = not any(tokens[index].tag in ("NNP", "NNPS", "CD", "$") for index in range(start, end))
    return Clause(outer, start, end, connective, only, mark == "?" or _is_inverted(parse, start, end))


def _drops(parse: Parse, index: int, end: int) -> bool:
    """Whether a leading connective may go: it joins clauses, and does not open a subordinate one before its main."""
    word, following = parse.tokens[index].lower, parse.tokens[index + 1]
    if (
        word in ("because", "although", "though", "since", "while", "whereas", "however", "instead")
        and following.text != ","
    ):
        return False
    if word in ("or", "nor", "then", "also", "plus", "yet") and following.tag.startswith("V"):
        return word in ("then", "also")
    return not (word == "so" and (following.tag.startswith(("J", "RB")) or following.lower == "that"))


def _is_mark(text: str) -> bool:
    return not any(character.isalnum() or character in "$€£¥₹#@%&" for character in text) and text[0] not in _OPENING


def _is_inverted(parse: Parse, start: int, end: int) -> bool:
    """A question without its mark: a question word and an auxiliary, or an auxiliary and a pronoun, at the start."""
    if end - start < 3:
        return False
    first, second, third = parse.tokens[start], parse.tokens[start + 1], parse.tokens[start + 2]
    if first.lower in WH_WORDS:
        inverted = second.lower in _INVERTIBLE
        return inverted and third.tag in ("PRP", "DT", "PRP$", "NNP", "EX")
    return first.lower in ("do", "does", "did", "is", "are", "can", "could", "should", "would", "will") and (
        second.tag in ("PRP", "EX")
    )
