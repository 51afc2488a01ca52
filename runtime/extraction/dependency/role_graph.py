"""HanLP's three graphs as role graphs: function words and modifiers under what they belong to, markers as labels.

PSD edges join content words and only want their role. In DM and PAS prepositions, conjunctions, determiners, adverbs
and auxiliaries are predicates: their edges are turned round or joined, by the tables of `roles.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engrain.runtime.extraction.dependency.lexicons import NEGATIONS, PLACE_ADVERBS, TIME_ADVERBS
from engrain.runtime.extraction.dependency.parse import Edge, Role, Token
from engrain.runtime.extraction.dependency.roles import (
    CONJUNCTIONS,
    MODIFIER_HEADS,
    PLACE_ENTITIES,
    TABLES,
    TIME_ENTITIES,
    RoleTable,
    phrase_role,
)


class RawEdge(NamedTuple):
    """An edge as a graph has it: 0-based tokens, -1 as head of a root."""

    head: int
    dependent: int
    label: str


def role_edges(tokens: Sequence[Token], kinds: dict[int, str], raw: Sequence[RawEdge], label_set: str) -> list[Edge]:
    """The role edges of a sentence; `kinds` maps token to entity type."""
    table = TABLES[label_set]
    raw = [edge for edge in raw if edge.head >= 0 and edge.label not in table.dropped]
    markers = _markers(tokens, raw, table)
    edges: list[Edge] = []
    for edge in raw:
        if edge.head in markers and edge.label in (*table.marked, *table.marked.values()):
            continue
        edges += _plain(tokens, kinds, edge, table, label_set)
    for marker, (governors, objects) in markers.items():
        edges += _joined(tokens, kinds, marker, governors, objects)
    return edges


def _markers(
    tokens: Sequence[Token], raw: Sequence[RawEdge], table: RoleTable
) -> dict[int, tuple[list[int], list[int]]]:
    """Prepositions and subordinating conjunctions that are predicates: their governors and their objects."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for edge in raw:
        if tokens[edge.head].tag not in ("IN", "TO", "WRB"):
            continue
        if edge.label in table.marked:
            found.setdefault(edge.head, ([], []))[0].append(edge.dependent)
        elif edge.label in table.marked.values():
            found.setdefault(edge.head, ([], []))[1].append(edge.dependent)
    return found


def _joined(
    tokens: Sequence[Token], kinds: dict[int, str], marker: int, governors: list[int], objects: list[int]
) -> list[Edge]:
    word = tokens[marker].lower
    edges = [Edge(item, marker, "case", Role.FUNCTION) for item in objects]
    for governor in governors:
        if not objects:
            edges.append(Edge(governor, marker, "prep", Role.MODIFIER))
        for item in objects:
            if tokens[item].tag.startswith("VB") and tokens[governor].tag.startswith("VB"):
                edges.append(Edge(governor, item, f"advcl_{word}", CONJUNCTIONS.get(word, Role.MODIFIER)))
                continue
            is_time = kinds.get(item) in TIME_ENTITIES or tokens[item].lower in TIME_ADVERBS
            at_noun = tokens[governor].tag.startswith("N")
            role = phrase_role(word, is_time, kinds.get(item) in PLACE_ENTITIES, at_noun)
            edges.append(Edge(governor, item, f"prep_{word}", role))
    return edges


def _plain(
    tokens: Sequence[Token], kinds: dict[int, str], edge: RawEdge, table: RoleTable, label_set: str
) -> list[Edge]:
    head, dependent, label = edge
    if label in table.reversed and label != "adj_ARG1":
        return [Edge(dependent, head, label, table.reversed[label])]
    tag = tokens[head].tag
    if label_set != "sdp/psd" and label in ("ARG1", "adj_ARG1") and tag.startswith(MODIFIER_HEADS):
        return _turned(tokens, kinds, head, dependent, label)
    role = table.roles.get(label, Role.MODIFIER)
    if role is Role.MODIFIER and kinds.get(dependent) in TIME_ENTITIES:
        role = Role.TIME
    return [Edge(head, dependent, label, role)]


def _turned(tokens: Sequence[Token], kinds: dict[int, str], head: int, dependent: int, label: str) -> list[Edge]:
    """A modifier under the word that it modifies; an adjective after its noun is a predicate of it instead."""
    word, tag = tokens[head], tokens[head].tag
    if tag.startswith("JJ") and tokens[dependent].tag.startswith(("N", "PRP")) and head > dependent:
        return [Edge(head, dependent, label, Role.ACTOR)] if label == "ARG1" else []
    if word.lower in NEGATIONS or tag == "MD":
        return [Edge(dependent, head, label, Role.FUNCTION)]
    if tokens[dependent].tag.startswith(("N", "$", "PRP", "J")):
        return [Edge(dependent, head, label, Role.NOMINAL)]
    if word.lower in TIME_ADVERBS or kinds.get(head) in TIME_ENTITIES:
        return [Edge(dependent, head, label, Role.TIME)]
    role = Role.LOCATION if word.lower in PLACE_ADVERBS else Role.MODIFIER
    return [Edge(dependent, head, label, role)]
