"""Names that training settings share; light, so that reading a recipe loads no torch."""

from __future__ import annotations

from typing import Literal

Strategy = Literal["single", "ddp", "fsdp", "zero2", "zero3"]
