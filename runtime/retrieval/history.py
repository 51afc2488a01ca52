"""Historical retrieval as SLICE-Mem A.4 describes it: what a question about the past may see, and in what order.

For a budget R the fused ranking is read to depth max(3R, R + 16). Redundant records are never shown, outdated ones only
when the question's wording asks for time or change; of what is left the first R are kept in their order, without
favouring active ones. A triggered question then follows the supersession links of those R, one hop, in at most
max(R, 8) look-ups; no record is shown twice. So at most R + max(R, 8) come back, and at most R otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engrain.runtime.schema import MemoryRecord, Relation, Status
from engrain.runtime.storage.changes import LINKS

CURRENT = frozenset({Status.ACTIVE})
HISTORICAL = frozenset({Status.ACTIVE, Status.SUPERSEDED})

_SUPERSESSION = frozenset((*LINKS[Relation.SUPERSEDE], *LINKS[Relation.MERGE]))

Lookup = Callable[[Sequence[str]], Mapping[str, MemoryRecord]]
"""Those of some ids that this search may see, by id."""


def fetch_depth(budget: int) -> int:
    """max(3R, R + 16) for a budget R."""
    return max(3 * budget, budget + 16)


def link_lookups(budget: int) -> int:
    """max(R, 8): supersession links that are looked up for a budget R."""
    return max(budget, 8)


def visible_statuses(triggered: bool) -> frozenset[Status]:
    """Statuses a question may see."""
    return HISTORICAL if triggered else CURRENT


def keep_eligible(ranked: Sequence[MemoryRecord], budget: int, triggered: bool) -> list[MemoryRecord]:
    """The first `budget` of a ranking that may be seen, in its order.

    The store's masks leave records out before ranking, so that those out of sight use up none of the depth; this is
    the same rule for rankings that hold everything.
    """
    visible = visible_statuses(triggered)
    return [record for record in ranked[: fetch_depth(budget)] if record.status in visible][:budget]


def follow_links(kept: Sequence[MemoryRecord], budget: int, lookup: Lookup) -> list[tuple[MemoryRecord, MemoryRecord]]:
    """Records one supersession link away from `kept` and not among them, each with the one that led to it.

    Links are tried in the order of `kept`; each look-up counts, whether or not it finds a record that may be shown.
    """
    led_by: dict[str, MemoryRecord] = {}
    shown = {record.id for record in kept}
    for record in kept:
        for link in record.links:
            if is_supersession(link.relation) and link.record_id not in shown:
                led_by.setdefault(link.record_id, record)
    tried = list(led_by)[: link_lookups(budget)]
    found = lookup(tried) if tried else {}
    return [(found[one], led_by[one]) for one in tried if one in found and found[one].status in HISTORICAL]


def is_supersession(relation: str) -> bool:
    """Whether a link leads to a replacement or to what was replaced; a merged record replaces those merged."""
    return relation in _SUPERSESSION
