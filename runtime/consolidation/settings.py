"""Settings of consolidation; the defaults are SLICE-Mem's (B.1) and DimMem's (section 3.4)."""

from __future__ import annotations

from pydantic import Field

from engrain.runtime.schema import Contract


class CandidateSettings(Contract):
    """SLICE-Mem A.4: the neighbours of one target."""

    hits: int = Field(default=20, ge=1, description="K_u: nearest neighbours that are looked at.")
    min_cosine: float = Field(default=0.45, ge=-1.0, le=1.0, description="Least cosine of a candidate.")
    kept: int = Field(default=10, ge=1, description="N_u: candidates of one target at most.")


class FilterSettings(Contract):
    """DimMem section 3.4: the filter by dimensions, before anything is embedded."""

    min_jaccard: float = Field(default=0.3, gt=0.0, le=1.0, description="Least overlap of the keywords of a pair.")
    min_cosine: float = Field(default=0.7, ge=-1.0, le=1.0, description="Least cosine of a pair.")
    scan: int = Field(
        default=200,
        ge=1,
        description="Latest records looked at behind one keyword. Exact while no keyword has more; beyond that the "
        "oldest pairs of the most frequent keywords are left out, so that a run stays linear in the records.",
    )


class RelationSettings(Contract):
    """SLICE-Mem B.1: the request for one target."""

    max_tokens: int = Field(default=1024, ge=16, description="Tokens of one answer at most.")
    seed: int = Field(default=42, description="Sent to the server.")
    reasoning: bool = Field(default=False, description="Ask for a reason before each label; outside the paper.")
    longest_memory: int = Field(default=2000, ge=100, description="Characters of one memory in the request.")
    longest_answer: int = Field(default=200_000, ge=1000, description="Characters; a longer answer is not parsed.")


class ConsolidationSettings(Contract):
    """What one run does."""

    rules: bool = Field(default=True, description="Run the rule-based relation classifier.")
    paper_order: bool = Field(
        default=False, description="Jobs in the store's order, all collected before the first answer (A.4)."
    )
    wave: int = Field(default=32, ge=1, description="Targets asked about before their answers are applied.")
    candidates: CandidateSettings = CandidateSettings()
    dimensions: FilterSettings = FilterSettings()
    relations: RelationSettings = RelationSettings()
