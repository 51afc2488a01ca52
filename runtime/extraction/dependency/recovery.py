"""Source content that the units of a clause left out: entities, quotations, money, appended word for word (A.3)."""

from __future__ import annotations

import re

from engrain.runtime.extraction.dependency.clauses import Clause
from engrain.runtime.extraction.dependency.lexicons import CUE_ENTITIES
from engrain.runtime.extraction.dependency.parse import Parse

MONEY = re.compile(
    r"[$€£¥]\s?\d[\d,.]*\d|[$€£¥]\s?\d|\b\d[\d,.]*\s?(?:dollars|euros|pounds|bucks|usd|eur)\b", re.IGNORECASE
)


def amounts(text: str) -> list[str]:
    """Monetary expressions of a text, in order."""
    return [match[0] for match in MONEY.finditer(text)]


def missing(parse: Parse, clause: Clause, realised: str, quoted: frozenset[int]) -> list[str]:
    """Entities, quotations and amounts of the clause that `realised` does not hold, in source order."""
    if clause.start >= clause.end:
        return []
    lower = realised.lower()
    found: list[tuple[int, str]] = []
    for entity in parse.entities:
        if entity.label in CUE_ENTITIES and clause.start <= entity.start and entity.end <= clause.end:
            text = parse.slice(entity.start, entity.end)
            if text.lower() not in lower and not _only_user(text):
                found.append((entity.start, text))
    for start, end in _runs(quoted, clause):
        text = parse.slice(start, end)
        if text.lower() not in lower:
            found.append((start, f'"{text}"'))
    first = parse.tokens[clause.start].start
    source = parse.slice(clause.start, clause.end)
    for match in MONEY.finditer(source):
        if match[0].lower() not in lower and not any(match[0] in text for _, text in found):
            found.append((_token_at(parse, first + match.start(), clause), match[0]))
    kept: list[str] = []
    for _, text in sorted(found):
        if not any(text.strip('"') in other for other in kept):
            kept.append(text)
    return kept


def append(realised: str, recovered: list[str]) -> str:
    """The unit with what was missing in brackets before its final mark."""
    if not recovered:
        return realised
    body, mark = (realised[:-1], realised[-1]) if realised[-1:] in ".!?" else (realised, ".")
    return f"{body} ({'; '.join(recovered)}){mark}"


def _only_user(text: str) -> bool:
    return any(word in ("my", "our", "me", "i") for word in text.lower().split())


def _runs(quoted: frozenset[int], clause: Clause) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for index in range(clause.start, clause.end):
        if index in quoted:
            if runs and runs[-1][1] == index:
                runs[-1] = (runs[-1][0], index + 1)
            else:
                runs.append((index, index + 1))
    return runs


def _token_at(parse: Parse, position: int, clause: Clause) -> int:
    return next((i for i in range(clause.start, clause.end) if parse.tokens[i].end > position), clause.start)
