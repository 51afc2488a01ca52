"""Values as text for a person, the same in the terminal and on a page."""

from __future__ import annotations

# Below this, three decimals would hide the value.
SMALL = 0.01


def plain(value: object) -> str:
    """Text of a value: `-` for nothing, yes or no, floats with three decimals, or three digits when small."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if 0 < abs(value) < SMALL else f"{value:.3f}"
    return str(value)
