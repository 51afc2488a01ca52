"""From a gate's raw probabilities to calibrated ones: temperature or isotonic scaling, as a bundle carries it.

Both are monotone, so the order of turns stays and only the meaning of a number changes. They are fitted in
`engrain.models.gate.calibration`; equation 3's weight w+ and a corpus with 42% positives make raw ones too high.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from engrain.runtime.schema import Contract

Floats = NDArray[np.float64]
CalibrationMethod = Literal["none", "temperature", "isotonic"]
_EDGE = 1e-7


class Calibration(Contract):
    """How raw probabilities are read. The default changes nothing."""

    method: CalibrationMethod = "none"
    temperature: float = Field(default=1.0, gt=0.0, description="p = sigmoid(logit(raw) / temperature).")
    bias: float = Field(default=0.0, description="Added to the logit before the division; corrects the class prior.")
    points: tuple[tuple[float, float], ...] = Field(
        default=(), description="Isotonic: (raw, calibrated), both rising; straight lines between them."
    )
    fitted_on: str = Field(default="", description="Set and size that it was fitted on.")

    @model_validator(mode="after")
    def _points_rise(self) -> Calibration:
        if self.method != "isotonic":
            return self
        columns = list(zip(*self.points, strict=True))
        if len(self.points) < 2 or any(list(column) != sorted(column) for column in columns):
            raise ValueError("isotonic calibration needs at least two points that rise in both columns")
        return self

    def apply(self, raw: Floats) -> Floats:
        """Calibrated probabilities, N, in the order given."""
        result: Floats = raw
        if self.method == "temperature":
            scaled = (logit(raw) + self.bias) / self.temperature
            result = sigmoid(scaled)
        if self.method == "isotonic":
            left, right = (np.array(column) for column in zip(*self.points, strict=True))
            result = np.interp(raw, left, right)
        return result


def sigmoid(logits: Floats) -> Floats:
    """1 / (1 + e^-x), as exp(-log(1 + e^-x)): without overflow."""
    result: Floats = np.exp(-np.logaddexp(0.0, -logits))
    return result


def logit(probabilities: Floats) -> Floats:
    """log(p / (1 - p)), with 0 and 1 held a ten-millionth away from the edge."""
    inner = np.clip(probabilities, _EDGE, 1.0 - _EDGE)
    result: Floats = np.log(inner) - np.log1p(-inner)
    return result
