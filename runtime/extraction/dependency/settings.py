"""Every number of the extractor, with the section of SLICE-Mem it comes from; numbers without one are ours."""

from __future__ import annotations

from pydantic import Field

from engrain.runtime.schema import Contract


class DependencySettings(Contract):
    """Weights, limits and switches of the rules. The defaults are the paper's (B.1) where it prints them."""

    patient_weight: float = Field(default=3.0, ge=0, description="alpha of patients and objects (B.1).")
    actor_weight: float = Field(default=2.0, ge=0, description="alpha of actors (B.1).")
    time_weight: float = Field(default=2.0, ge=0, description="alpha of temporal roles (B.1).")
    purpose_weight: float = Field(default=2.0, ge=0, description="alpha of purpose, reason and condition (B.1).")
    location_weight: float = Field(default=1.0, ge=0, description="alpha of locative roles (B.1).")
    content_cue_bonus: float = Field(default=3.5, ge=0, description="Single bonus of a content cue (B.1).")
    identifiable_actor_bonus: float = Field(default=0.5, ge=0, description="An actor that names someone (B.1).")
    first_person_bonus: float = Field(default=0.5, ge=0, description="Added when that actor is the speaker (B.1).")
    matrix_penalty: float = Field(default=1.5, ge=0, description="A matrix predicate with a nested action (B.1).")
    embedding_penalty: float = Field(default=6.0, ge=0, description="Restrictive or nominal-modifier embedding (B.1).")
    light_verb_penalty: float = Field(default=2.0, ge=0, description="A light verb without an object (B.1).")
    missing_arguments_penalty: float = Field(default=4.0, ge=0, description="No informative relation goes out (B.1).")
    units_per_clause: int = Field(default=2, ge=1, description="K_c, propositions a clause (B.1).")
    units_per_turn: int = Field(default=2, ge=1, description="K_t, units a turn; more are merged into one (B.1).")
    clause_depth: int = Field(default=5, ge=1, description="Nested clauses followed, in edges (B.1).")
    phrase_depth: int = Field(default=4, ge=1, description="Noun phrases followed, in edges (B.1).")
    duplicate_overlap: float = Field(default=0.85, gt=0, le=1, description="Share of the smaller token set (B.1).")
    coverage: float = Field(default=0.55, ge=0, le=1, description="rho, share of the cleaned source's tokens (B.1).")
    coverage_words: int = Field(default=8, ge=1, description="L_min, words from which coverage is checked (B.1).")
    split_words: int = Field(default=16, ge=1, description="Words from which comma-conjunctions split (B.1).")
    shortest_unit: int = Field(default=3, ge=1, description="Fewer words are `very short` (A.3; the number is ours).")
    lead_in_words: int = Field(default=6, ge=0, description="Longest verbless lead-in before a colon, in words (ours).")
    trim: bool = Field(
        default=True,
        description="Leave out comments, vague units beside better ones, and adverbs that only stress (ours).",
    )
    keep_on_failure: bool = Field(
        default=True,
        description="Keep the surface when the parser or a rule fails. The paper stores nothing then: set False.",
    )
    longest_turn: int = Field(default=50_000, ge=100, description="Characters above which the surface is kept (ours).")
    keywords: int = Field(default=8, ge=0, description="Keywords a record at most (ours).")
