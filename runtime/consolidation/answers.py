"""From a model's answer to decisions. Whatever is not one JSON object of the asked form decides nothing, and counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engrain.runtime.schema import MemoryRecord, Relation

ALIASES: dict[str, str] = {
    "duplicate": "dedup",
    "duplicates": "dedup",
    "dup": "dedup",
    "deduplicate": "dedup",
    "redundant": "dedup",
    "superseded": "supersede",
    "supersedes": "supersede",
    "replace": "supersede",
    "replaces": "supersede",
    "outdated": "supersede",
    "compatible": "qualify",
    "complement": "qualify",
    "unrelated": "ignore",
    "none": "ignore",
    "keep": "ignore",
}
"""Other names of an action (A.4: aliases are normalised). Rewriting actions are not among them: they are ignored."""
_ACTIONS = {relation.value: relation for relation in (Relation.DEDUP, Relation.SUPERSEDE, Relation.QUALIFY)}
_FENCE = re.compile(r"^\s*```[a-z]*\s*|\s*```\s*$")


@dataclass(frozen=True, slots=True)
class Claim:
    """What a model says of one candidate, not checked yet."""

    candidate: MemoryRecord
    relation: Relation
    basis: str
    scope: str
    anchor: str


def parse_object(text: str, longest: int) -> dict[str, Any] | None:
    """The JSON object of an answer, also inside a code fence; None for prose, arrays, cut or endless answers."""
    if len(text) > longest:
        return None
    try:
        document = json.loads(_FENCE.sub("", text))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def read_claims(text: str, candidates: Sequence[MemoryRecord], longest: int, counts: Counter[str]) -> list[Claim]:
    """The claims of one relation answer; `counts` takes what was unreadable, unknown, forbidden or said twice."""
    document = parse_object(text, longest)
    entries = document.get("decisions") if document is not None else None
    if not isinstance(entries, list):
        counts["unparseable"] += 1
        return []
    named = {f"c{number}": candidate for number, candidate in enumerate(candidates, start=1)}
    claims: dict[str, Claim] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            counts["malformed"] += 1
            continue
        name = str(entry.get("id", "")).strip()
        if name not in named:
            counts["unknown_id"] += 1
        elif name in claims:
            counts["repeated_id"] += 1
        elif (relation := _relation(entry.get("action"), counts)) is not None:
            claims[name] = Claim(
                named[name], relation, *(_text(entry.get(key)) for key in ("basis", "scope", "anchor"))
            )
    return list(claims.values())


def _relation(action: object, counts: Counter[str]) -> Relation | None:
    word = str(action).strip().lower() if isinstance(action, str) else ""
    word = ALIASES.get(word, word)
    if word == "ignore":
        counts["ignore"] += 1
        return None
    if word not in _ACTIONS:
        counts["forbidden_action"] += 1
        return None
    return _ACTIONS[word]


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
