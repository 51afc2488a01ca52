"""The labelled pairs as records, and what the rules find in them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from engrain.runtime.consolidation.rules.classify import Finding, relate
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.schema import MemoryRecord, Relation, Scope

HERE = Path(__file__).parent / "pairs"
READ = ("seen", "second", "third", "fourth")
"""The sets that may be read; the rules are written on them."""


def read_pairs(half: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()]


def record(name: str, given: dict[str, Any]) -> MemoryRecord:
    moment = datetime.fromisoformat(given["source_time"])
    return MemoryRecord(
        id=name, scope=Scope(user_id="u"), source_time=moment, ingest_time=moment, extractor="as_given", embedder="e",
        **{key: given[key] for key in ("content", "memory_type", "time", "keywords", "source_turn_ids")},
    )  # fmt: skip


def found(pair: dict[str, Any]) -> Finding | None:
    return relate(Reading(record("older", pair["older"])), Reading(record("newer", pair["newer"])))


def hides(finding: Finding | None) -> bool:
    """Whether the whole record goes out of sight."""
    return finding is not None and finding.relation in (Relation.DEDUP, Relation.SUPERSEDE) and finding.part is None
