"""The labelled pairs: `seen` and `second` may be read; of `third` only the counts; `unseen` is run once, at the end."""

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
    "second",
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


def counts(half: str) -> dict[str, float]:
    """Precision and recall of hiding a whole record, and how many traps were hidden; no sentence, no id."""
    pairs = read_pairs(half)
    hidden = [(pair, finding) for pair in pairs if (finding := found(pair)) and hides(finding)]
    right = sum(finding.relation.value == pair["action"] for pair, finding in hidden)
    wanted = sum(pair["action"] in ("dedup", "supersede") for pair in pairs)
    return {
        "precision": round(right / len(hidden), 3),
        "recall": round(right / wanted, 3),
        "traps": sum(pair["trap"] for pair, _ in hidden),
    }


SHORT = "the bar is not met yet: of the third set precision was 0.909, recall 0.366, two traps hidden"


@pytest.mark.parametrize("half", [*HALVES, pytest.param("third", marks=pytest.mark.xfail(reason=SHORT))])
def test_rules_alone_hide_precisely_and_never_a_trap(half: str) -> None:
    measured = counts(half)
    assert measured["traps"] == 0 and measured["precision"] >= 0.97 and measured["recall"] >= 0.5, measured


@pytest.mark.parametrize(
    ("expected", "kind", "older", "newer"),
    [line.split("\t") for line in (HERE / "told.tsv").read_text(encoding="utf-8").splitlines()],
)
def test_what_is_told_in_other_words(expected: str, kind: str, older: str, newer: str) -> None:
    first, second = (
        Reading(
            record(
                day,
                {
                    "content": text,
                    "source_time": f"{day}T09:00:00+00:00",
                    "memory_type": kind,
                    "time": "",
                    "keywords": (),
                }
                | {"source_turn_ids": (day,)},
            )
        )
        for day, text in (("2026-03-01", older), ("2026-04-10", newer))
    )
    finding = relate(first, second)
    told = finding.relation if finding is not None and hides(finding) else None
    assert told is {"change": Relation.SUPERSEDE, "same": Relation.DEDUP, "nothing": None}[expected], finding


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
