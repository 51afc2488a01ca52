"""What every parser gives the rules: tokens with character offsets, tags, entities and a role-labelled graph.

SLICE-Mem 3.2 reads tokens, tags, named entities and semantic dependencies. A graph may give a token several heads
(`I` is the actor of both verbs in "I want to learn"). Each edge carries its label as the parser wrote it and the role
group that a table (`roles.py`) gave it, so that no rule looks at a label set.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol


class Role(StrEnum):
    """Role groups of SLICE-Mem equation 2, and the relations that only spans follow (A.3)."""

    PATIENT = "patient"
    ACTOR = "actor"
    TIME = "time"
    PURPOSE = "purpose"
    """Purpose, reason, condition, concession."""
    LOCATION = "location"
    MODIFIER = "modifier"
    """Manner, means, accompaniment, extent and the like."""
    NOMINAL = "nominal"
    """Inside a noun phrase; a verb reached this way is embedded (restrictive, participle, relative clause)."""
    COORDINATION = "coordination"
    FUNCTION = "function"
    """Determiners, auxiliaries, particles, prepositions, conjunctions, negation."""
    APART = "apart"
    """Interjections, asides: never followed."""


class Token(NamedTuple):
    """A token; `start` and `end` are character offsets in the parsed text, `tag` a Penn tag."""

    text: str
    lower: str
    lemma: str
    tag: str
    start: int
    end: int


class Edge(NamedTuple):
    """A relation from token `head` to token `dependent`, both 0-based."""

    head: int
    dependent: int
    label: str
    role: Role


class Entity(NamedTuple):
    """A named entity over tokens [start, end)."""

    start: int
    end: int
    label: str


class Parse:
    """One parsed turn. `sentences` are token ranges [start, end) that partition the tokens."""

    __slots__ = (
        "edges",
        "entities",
        "incoming",
        "label_set",
        "outgoing",
        "predicate_memo",
        "sentences",
        "text",
        "tokens",
    )

    def __init__(
        self,
        text: str,
        tokens: Sequence[Token],
        entities: Sequence[Entity],
        edges: Sequence[Edge],
        sentences: Sequence[tuple[int, int]],
        label_set: str,
    ) -> None:
        self.text = text
        self.tokens = tokens
        self.entities = entities
        self.edges = edges
        self.sentences = sentences
        self.label_set = label_set
        self.predicate_memo: dict[int, bool] = {}
        """Filled by `predicates.is_predicate`, which every rule asks."""
        self.outgoing: list[list[Edge]] = [[] for _ in tokens]
        self.incoming: list[list[Edge]] = [[] for _ in tokens]
        for edge in edges:
            self.outgoing[edge.head].append(edge)
            self.incoming[edge.dependent].append(edge)

    def slice(self, start: int, end: int) -> str:
        """The source text of tokens [start, end)."""
        return self.text[self.tokens[start].start : self.tokens[end - 1].end] if end > start else ""


class Parser(Protocol):
    """A dependency parser. `identity` names it with its model; `label_set` picks the role table."""

    identity: str
    label_set: str

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse every text, in order, in batches. May raise anything; the extractor catches it."""
        ...


class CachedParser:
    """A parser behind a cache keyed by the text's SHA-256, least recently used first out.

    The same text gives the same parse whatever batch it came in, and repeated turns cost nothing.
    """

    def __init__(self, parser: Parser, size: int = 4096) -> None:
        self.identity = parser.identity
        self.label_set = parser.label_set
        self._parser = parser
        self._size = size
        self._cache: OrderedDict[bytes, Parse] = OrderedDict()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse the texts that the cache lacks, each once, and return all in order."""
        keys = [_key(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._cache}
        fresh = dict(zip(missing, self._parser.parse(list(missing.values())), strict=True)) if missing else {}
        parses = [fresh[key] if key in fresh else self._cache[key] for key in keys]
        for key, parse in zip(keys, parses, strict=True):
            self._cache[key] = parse
            self._cache.move_to_end(key)
        while len(self._cache) > self._size:
            self._cache.popitem(last=False)
        return parses


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
