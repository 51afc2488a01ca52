"""Settings of teacher annotation, composed by recipes. The paper's values are the defaults."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from engrain.data_builders.teachers.calibration import Language
from engrain.runtime.schema import Contract

PAPER_TEACHERS = 3
"""A.1: three heterogeneous teachers."""


class AnnotationSettings(Contract):
    """How teachers are asked (SLICE-Mem A.1, A.5, B.1)."""

    language: Language = Field(default=Language.CHINESE, description="Language of the rubric; the paper's is Chinese.")
    context: int = Field(default=5, ge=0, description="K_a: preceding messages that teachers see.")
    max_tokens: int = Field(default=400, ge=1, description="Tokens of an answer at most.")
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    retries: int = Field(default=2, ge=0, le=9, description="Correction requests after an invalid answer.")
    max_bad_share: float = Field(
        default=0.5, ge=0.0, le=1.0, description="A teacher is stopped when more of its last answers are invalid."
    )
    judged_over: int = Field(default=50, ge=1, description="Answers that the share looks back over.")


class Policy(StrEnum):
    """How votes become a label."""

    UNANIMOUS = "unanimous"
    MAJORITY = "majority"
    DAWID_SKENE = "dawid_skene"


class ConsensusSettings(Contract):
    """Unanimous on admission among all teachers' valid answers is the paper's rule (A.1)."""

    policy: Policy = Policy.UNANIMOUS
    min_votes: int = Field(
        default=PAPER_TEACHERS, ge=1, description="Valid votes that majority and Dawid-Skene want; unanimous wants all."
    )
    min_certainty: float = Field(
        default=0.9, ge=0.5, le=1.0, description="Posterior below which Dawid-Skene rejects; no other policy uses it."
    )


class CandidateSettings(Contract):
    """Which user turns of a corpus teachers are asked about."""

    count: int = Field(default=600, ge=1, description="User turns drawn at random; some will not reach consensus.")
    group_by: str = Field(
        default="person",
        pattern="^(person|session)$",
        description="What stays in one split: everything of one person or conversation, or a session.",
    )
    sessions: int | None = Field(default=None, ge=1, description="Sessions read at most; empty reads the whole corpus.")
    seed: int = Field(default=42, ge=0, description="Seed of the draw (SLICE-Mem B.1).")


class AuditSettings(Contract):
    """The human audit (SLICE-Mem C.2): 30 turns of each corpus, never used to choose anything."""

    per_corpus: int = Field(default=30, ge=1, description="Turns of each corpus.")
    seed: int = Field(default=42, ge=0, description="Seed of the draw and of the order in which turns are shown.")
