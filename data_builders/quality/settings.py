"""Settings of the quality report."""

from __future__ import annotations

from pydantic import Field

from engrain.runtime.schema import Contract


class QualitySettings(Contract):
    """What is measured of a corpus, and how much of it is shown. Everything is counted, whatever is shown."""

    near_overlap: float = Field(
        default=0.7,
        gt=0.0,
        le=1.0,
        description="Share of word pairs in common from which two turns are near duplicates.",
    )
    label_noise: bool = Field(default=True, description="Estimate label noise; minutes on 150,000 rows.")
    folds: int = Field(default=5, ge=2, le=20, description="Folds of the cross-validation behind the noise estimate.")
    resamples: int = Field(default=10_000, ge=100, description="Bootstrap resamples of each agreement (SLICE-Mem C.1).")
    listed: int = Field(default=50, ge=0, description="Duplicates and suspected labels that are shown of each kind.")
    seed: int = Field(default=42, ge=0, description="Seed of hashing, folds and resampling.")
