"""Predicate candidates, their score S(p) of SLICE-Mem equation 2, hard filters and order (A.3, B.1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from engrain.runtime.extraction.dependency.clauses import Clause
from engrain.runtime.extraction.dependency.lexicons import (
    ANAPHORIC_CUES,
    ATTITUDE_VERBS,
    CUE_ENTITIES,
    CUE_VERBS,
    CUE_WORDS,
    EVALUATIVE,
    FIRST_PERSON,
    FIRST_PERSON_SUBJECTS,
    LIGHT_VERBS,
    MATRIX_VERBS,
    WH_WORDS,
)
from engrain.runtime.extraction.dependency.parse import Edge, Parse, Role
from engrain.runtime.extraction.dependency.propositions import (
    INFORMATIVE,
    is_embedded,
    is_predicate,
    own_subject,
    predicate_lemma,
    proposition_head,
)
from engrain.runtime.extraction.dependency.settings import DependencySettings

_DESCRIBING = INFORMATIVE | {Role.NOMINAL}
_SAYS_NOTHING = EVALUATIVE | WH_WORDS


@dataclass(slots=True)
class Candidate:
    """A predicate of a clause: its score by term, and the filter that removed it, if one did."""

    token: int
    lemma: str
    head: int
    """Head of the finite proposition it belongs to: itself, or the matrix predicate above it."""
    terms: dict[str, float] = field(default_factory=dict)
    filtered: str = ""
    span: tuple[int, int] = (0, 0)

    @property
    def score(self) -> float:
        """S(p), the sum of the terms."""
        return sum(self.terms.values())


def find_candidates(parse: Parse, clause: Clause, settings: DependencySettings) -> list[Candidate]:
    """Every predicate of the clause with its terms and filter, in source order."""
    entities = {
        index for entity in parse.entities if entity.label in CUE_ENTITIES for index in range(entity.start, entity.end)
    }
    found = []
    for index in range(clause.start, clause.end):
        if is_predicate(parse, index):
            candidate = Candidate(index, predicate_lemma(parse, index), proposition_head(parse, index, clause))
            _score(candidate, parse, clause, entities, settings)
            found.append(candidate)
    return found


def ordered(candidates: list[Candidate]) -> list[Candidate]:
    """Survivors by decreasing score, then longer span, then earlier predicate (A.3)."""
    kept = [candidate for candidate in candidates if not candidate.filtered]
    return sorted(kept, key=lambda one: (-one.score, one.span[0] - one.span[1], one.token))


def _score(
    candidate: Candidate, parse: Parse, clause: Clause, entities: set[int], settings: DependencySettings
) -> None:
    index = candidate.token
    edges = [edge for edge in parse.outgoing[index] if clause.start <= edge.dependent < clause.end]
    roles = {edge.role for edge in edges}
    terms = candidate.terms
    for role, weight in (
        (Role.PATIENT, settings.patient_weight),
        (Role.ACTOR, settings.actor_weight),
        (Role.TIME, settings.time_weight),
        (Role.PURPOSE, settings.purpose_weight),
        (Role.LOCATION, settings.location_weight),
    ):
        if role in roles:
            terms[role.value] = weight
    informative = has_informative(parse, edges)
    embedded = is_embedded(parse, index)
    nested = any(
        edge.role is Role.PATIENT and is_predicate(parse, edge.dependent) and edge.dependent != index for edge in edges
    )
    if _has_cue(parse, candidate, edges, entities):
        terms["content_cue"] = settings.content_cue_bonus
    actors = [edge.dependent for edge in edges if edge.role is Role.ACTOR or edge.label == "nsubjpass"]
    if any(_identifiable(parse, actor) for actor in actors):
        terms["identifiable_actor"] = settings.identifiable_actor_bonus
        if any(parse.tokens[actor].lower in FIRST_PERSON_SUBJECTS for actor in actors):
            terms["first_person_actor"] = settings.first_person_bonus
    if nested and candidate.lemma in MATRIX_VERBS:
        terms["nested_matrix"] = -settings.matrix_penalty
    if embedded:
        terms["embedded"] = -settings.embedding_penalty
    light = candidate.lemma in LIGHT_VERBS and Role.PATIENT not in roles and not _has_phrase(edges)
    if light:
        terms["objectless_light_verb"] = -settings.light_verb_penalty
    if not informative:
        terms["missing_arguments"] = -settings.missing_arguments_penalty
    candidate.filtered = _filter(candidate, parse, clause, embedded, light, informative)


def _filter(candidate: Candidate, parse: Parse, clause: Clause, embedded: bool, light: bool, informative: bool) -> str:
    """The first hard filter of A.3 that removes the candidate, or an empty string."""
    if embedded:
        return "restrictive or nominal modifier"
    if light:
        return "light verb without an object"
    if not informative:
        return "no informative argument"
    if candidate.score < 0:
        return "negative score"
    if candidate.lemma == "be" and _is_empty_copula(parse, candidate.token, clause):
        return "copula that says nothing"
    return ""


_FELT = ATTITUDE_VERBS | {"dislike", "enjoy", "adore", "miss", "avoid"}
"""Verbs that tell something about the user even of a mere "it"."""


def has_informative(parse: Parse, edges: list[Edge]) -> bool:
    """Whether an outgoing relation says something: a bare adverb of degree or a question word alone does not."""
    for edge in edges:
        if edge.role not in INFORMATIVE:
            continue
        token = parse.tokens[edge.dependent]
        if edge.role is Role.MODIFIER and token.tag.startswith("RB"):
            continue
        pronoun = token.lower in ("it", "that", "this", "so", "too") and edge.role is Role.PATIENT
        if pronoun and parse.tokens[edge.head].lemma not in _FELT:
            continue
        return True
    return False


def _has_phrase(edges: list[Edge]) -> bool:
    """A prepositional phrase or a place gives a light verb its content ("went to Lyon", "be at home")."""
    return any(
        edge.role in (Role.LOCATION, Role.TIME) or edge.label.startswith(("prep", "agent")) or edge.label == "prt"
        for edge in edges
    )


def _has_cue(parse: Parse, candidate: Candidate, edges: list[Edge], entities: set[int]) -> bool:
    """A.3's content cue: the verb, a word among its arguments, or an entity of a kind that memory is about."""
    if candidate.lemma in CUE_VERBS or candidate.lemma in ATTITUDE_VERBS:
        return True
    for edge in edges:
        dependent = edge.dependent
        near = [dependent, *(inner.dependent for inner in parse.outgoing[dependent])]
        if parse.tokens[dependent].lower in CUE_WORDS or any(index in entities for index in near):
            return True
    return False


def _identifiable(parse: Parse, actor: int) -> bool:
    token = parse.tokens[actor]
    if token.lower in FIRST_PERSON:
        return True
    return token.tag in ("NNP", "NNPS") or (token.tag.startswith("NN") and token.lower not in ANAPHORIC_CUES)


def _is_empty_copula(parse: Parse, index: int, clause: Clause) -> bool:
    """An incomplete copular fragment without a cue: "it is", "that was great" (A.3)."""
    complements = [
        edge.dependent
        for edge in parse.outgoing[index]
        if edge.role in INFORMATIVE and clause.start <= edge.dependent < clause.end
    ]
    if not complements:
        return True
    subject = own_subject(parse, index)
    if subject is None or parse.tokens[subject].lower not in ("it", "that", "this", "what", "which"):
        return False
    return all(
        parse.tokens[item].lower in _SAYS_NOTHING and not any(edge.role in _DESCRIBING for edge in parse.outgoing[item])
        for item in complements
    )
