"""Equation 2 term by term, the hard filters and the order, on graphs written by hand."""

from __future__ import annotations

import pytest

from engrain.runtime.extraction.dependency.clauses import Clause
from engrain.runtime.extraction.dependency.parse import Edge, Entity, Parse, Role, Token
from engrain.runtime.extraction.dependency.predicates import Candidate, find_candidates, ordered
from engrain.runtime.extraction.dependency.settings import DependencySettings

SETTINGS = DependencySettings()


def parse_of(words: str, edges: list[tuple[int, int, Role]], entities: list[Entity] | None = None) -> Parse:
    tokens, at = [], 0
    for pair in words.split():
        word, tag = pair.rsplit("/", 1)
        tokens.append(Token(word, word.lower(), word.lower(), tag, at, at + len(word)))
        at += len(word) + 1
    text = " ".join(token.text for token in tokens)
    graph = [Edge(head, dependent, role.value, role) for head, dependent, role in edges]
    return Parse(text, tokens, entities or [], graph, [(0, len(tokens))], "sdp/psd")


def candidates(parse: Parse) -> list[Candidate]:
    return find_candidates(parse, Clause(0, 0, len(parse.tokens)), SETTINGS)


def test_every_role_counts_once_with_its_weight() -> None:
    parse = parse_of(
        "Ann/NNP fixed/VBD pipes/NNS taps/NNS today/NN there/RB thus/RB",
        [(1, 0, Role.ACTOR), (1, 2, Role.PATIENT), (1, 3, Role.PATIENT), (1, 4, Role.TIME), (1, 5, Role.LOCATION),
         (1, 6, Role.PURPOSE)],
    )  # fmt: skip
    (found,) = candidates(parse)
    assert found.terms == {
        "patient": 3.0, "actor": 2.0, "time": 2.0, "purpose": 2.0, "location": 1.0, "identifiable_actor": 0.5,
    }  # fmt: skip
    assert found.score == 10.5


def test_first_person_and_content_cue_add_their_bonus() -> None:
    (found,) = candidates(parse_of("I/PRP buy/VBP tea/NN", [(1, 0, Role.ACTOR), (1, 2, Role.PATIENT)]))
    assert found.terms["content_cue"] == 3.5
    assert found.terms["identifiable_actor"] + found.terms["first_person_actor"] == 1.0


def test_a_matrix_predicate_with_a_nested_action_pays() -> None:
    parse = parse_of(
        "I/PRP think/VBP he/PRP paints/VBZ ships/NNS",
        [(1, 0, Role.ACTOR), (1, 3, Role.PATIENT), (3, 2, Role.ACTOR), (3, 4, Role.PATIENT)],
    )
    matrix, action = candidates(parse)
    assert matrix.terms["nested_matrix"] == -1.5
    assert action.head == matrix.token, "the action is realised under its matrix, so belief is not lost"


@pytest.mark.parametrize(
    ("words", "edges", "term", "reason"),
    [
        ("ships/NNS painted/VBN red/JJ", [(0, 1, Role.NOMINAL), (1, 2, Role.PATIENT)], "embedded", "nominal"),
        ("It/PRP happens/VBZ", [(1, 0, Role.ACTOR)], "missing_arguments", "informative"),
        ("I/PRP do/VBP", [(1, 0, Role.ACTOR)], "objectless_light_verb", "light"),
    ],
)
def test_penalties_and_hard_filters(words: str, edges: list[tuple[int, int, Role]], term: str, reason: str) -> None:
    (found,) = candidates(parse_of(words, edges))
    weights = {"embedded": -6.0, "missing_arguments": -4.0, "objectless_light_verb": -2.0}
    assert found.terms[term] == weights[term]
    assert reason in found.filtered


def test_order_is_score_then_span_length_then_position() -> None:
    rows = [
        Candidate(0, "a", 0, {"x": 2.0}, span=(0, 2)),
        Candidate(3, "b", 3, {"x": 5.0}, span=(3, 4)),
        Candidate(6, "c", 6, {"x": 2.0}, span=(6, 9)),
        Candidate(9, "d", 9, {"x": 2.0}, span=(9, 11)),
        Candidate(12, "e", 12, {"x": 9.0}, filtered="no", span=(12, 19)),
    ]
    assert [row.lemma for row in ordered(rows)] == ["b", "c", "a", "d"]
