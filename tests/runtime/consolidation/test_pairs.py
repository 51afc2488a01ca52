"""The labelled pairs: half of them may be seen; the other half is run once, at the end."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engrain.runtime.consolidation.rules.classify import Finding, relate
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.schema import MemoryRecord, Relation, Scope

HERE = Path(__file__).parent / "pairs"
HALVES = [
    "seen",
    pytest.param(
        "unseen",
        marks=pytest.mark.skipif(
            os.environ.get("ENGRAIN_PAIRS_UNSEEN") != "1", reason="ENGRAIN_PAIRS_UNSEEN=1 runs the unseen half"
        ),
    ),
]


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


@pytest.mark.parametrize("half", HALVES)
def test_rules_alone_hide_precisely_and_never_a_trap(half: str) -> None:
    pairs = read_pairs(half)
    results = [(pair, found(pair)) for pair in pairs]
    hidden = [(pair, finding) for pair, finding in results if hides(finding)]
    right = [pair["id"] for pair, finding in hidden if finding and finding.relation.value == pair["action"]]
    wanted = [pair for pair in pairs if pair["action"] in ("dedup", "supersede")]
    precision, recall = len(right) / len(hidden), len(right) / len(wanted)

    assert [pair["id"] for pair, _ in hidden if pair["trap"]] == []
    assert (precision >= 0.97, recall >= 0.5) == (True, True), f"precision {precision:.3f}, recall {recall:.3f}"


@pytest.mark.parametrize("half", HALVES)
def test_a_part_that_is_struck_is_the_outdated_part(half: str) -> None:
    results = [(pair, finding) for pair in read_pairs(half) if (finding := found(pair)) and finding.part]
    struck = {
        pair["id"]: (pair["older"]["content"][slice(*finding.part)], pair["partial"]) for pair, finding in results
    }

    wrong = {name: texts for name, texts in struck.items() if texts[0] != texts[1]}
    assert len(wrong) <= len(struck) // 4, wrong


def test_every_finding_that_hides_has_its_anchor_in_the_newer_record() -> None:
    for pair in read_pairs("seen"):
        finding = found(pair)
        if finding is not None and hides(finding):
            assert finding.anchor and finding.anchor in pair["newer"]["content"], pair["id"]
            assert finding.scope and finding.basis and finding.evidence
