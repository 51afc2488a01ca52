"""Settings of a gate corpus built from several parts (SLICE-Mem A.1, B.1)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from engrain.runtime.schema import Contract


class PartSettings(Contract):
    """The rows of each teacher-labelled corpus: 300, of which 240 train and 60 validate (A.1)."""

    count: int = Field(default=300, ge=2, description="Rows of each corpus, validation included.")
    validation: int = Field(default=60, ge=1, description="Rows of each corpus that validate.")
    sampling: Literal["stratified", "natural"] = Field(
        default="stratified",
        description="`stratified` balances types and fixes the share of positives; `natural` draws.",
    )
    positive_share: float | None = Field(
        default=0.42, gt=0.0, lt=1.0, description="Share of positives under `stratified`; 0.42 gives w+ near 1.40."
    )
    seed: int = Field(default=42, ge=0, description="Seed of the draw and of the split (B.1).")

    @model_validator(mode="after")
    def _validation_leaves_rows_to_train(self) -> PartSettings:
        if self.validation >= self.count:
            raise ValueError(
                f"validation {self.validation} leaves no row to train on; use less than count {self.count}"
            )
        return self


class ExpectedWeight(Contract):
    """The positive-class weight that the corpus should come to; B.1 reports about 1.40."""

    value: float = Field(default=1.40, ge=1.0, le=10.0, description="w+ over the training rows.")
    tolerance: float = Field(default=0.15, ge=0.0, description="Largest difference that passes.")
