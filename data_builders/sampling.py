"""Seeded drawing of rows, and carving a validation split out of groups that stay whole."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Row = TypeVar("Row")
Stratum = TypeVar("Stratum", bound=Hashable)
_CARVE_ORDERS = 64
"""Orders of groups that are tried; one is enough unless nearly every group has several rows."""


@dataclass(frozen=True)
class Draw(Generic[Row]):
    """Rows drawn from a pool.

    `discarded` rows were drawn and refused; `replaced` of them were among the first draws, before any replacement.
    """

    rows: list[Row]
    discarded: int
    replaced: int


def draw(pool: Sequence[Row], count: int, refuse: Callable[[Row], bool], rng: random.Random) -> Draw[Row]:
    """Draw `count` rows in random order, each refused row being replaced from what remains of the pool.

    Fewer rows come back when the pool runs out; the caller says what that means.
    """
    order = list(pool)
    rng.shuffle(order)
    rows: list[Row] = []
    discarded = replaced = 0
    for position, row in enumerate(order):
        if len(rows) == count:
            break
        if refuse(row):
            discarded += 1
            replaced += position < count
        else:
            rows.append(row)
    return Draw(rows, discarded, replaced)


def spread(total: int, parts: int) -> list[int]:
    """`total` as `parts` whole numbers that differ by at most one: 42 over 10 gives 4 eight times and 5 twice."""
    return [total * (part + 1) // parts - total * part // parts for part in range(parts)]


def carve(
    groups: Mapping[str, Sequence[Stratum]], quotas: Mapping[Stratum, int], rng: random.Random, *, slack: int = 0
) -> tuple[set[str], Counter[Stratum]]:
    """Choose whole groups until every quota is full, but for `slack` rows in all.

    `groups` maps a group to the strata of its rows, `quotas` a stratum to the rows wanted of it. Groups are tried in
    random order and taken when all their rows still fit; an order that gets stuck is followed by another one. Returns
    the chosen groups and what was left unfilled: the counter is empty when every quota is met exactly. Where nearly
    every group has several rows, quotas are seldom met to the last row: allow some slack.
    """
    needs = {group: Counter(strata) for group, strata in sorted(groups.items()) if strata}
    best: tuple[set[str], Counter[Stratum]] = (set(), Counter(quotas))
    for _ in range(_CARVE_ORDERS):
        order = list(needs)
        rng.shuffle(order)
        attempt = _carve_in_order(order, needs, quotas)
        if attempt[1].total() < best[1].total():
            best = attempt
        if best[1].total() <= slack:
            break
    return best[0], +best[1]


def _carve_in_order(
    order: Sequence[str], needs: Mapping[str, Counter[Stratum]], quotas: Mapping[Stratum, int]
) -> tuple[set[str], Counter[Stratum]]:
    left = Counter(dict(quotas))
    chosen: set[str] = set()
    open_rows = left.total()
    for group in order:
        if not open_rows:
            break
        if all(left[stratum] >= count for stratum, count in needs[group].items()):
            left.subtract(needs[group])
            open_rows -= needs[group].total()
            chosen.add(group)
    return chosen, left
