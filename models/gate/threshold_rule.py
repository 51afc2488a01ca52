"""The settings of a threshold's choice; light, so that reading a recipe loads no torch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engrain.runtime.schema import Contract


class ThresholdRule(Contract):
    """How a threshold is chosen on validation scores."""

    method: Literal["recall", "f_beta", "kept_share", "sweep"] = Field(description="What decides.")
    recall: float = Field(default=0.997, gt=0.0, le=1.0, description="recall: share of positives to keep.")
    beta: float = Field(default=2.0, gt=0.0, le=100.0, description="f_beta, sweep: weight of recall over precision.")
    kept_share: float = Field(default=0.2805, gt=0.0, le=1.0, description="kept_share: most turns to keep.")
