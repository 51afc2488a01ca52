"""The labelled pairs: four sets may be read and written on; `unseen` and `fifth` are run only at the end, to report."""

from __future__ import annotations

import os

import pytest
from labelled_pairs import HERE, READ, found, hides, read_pairs, record

from engrain.runtime.consolidation.rules.classify import relate
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.schema import Relation

HELD_OUT = pytest.mark.skipif(
    os.environ.get("ENGRAIN_PAIRS_UNSEEN") != "1",
    reason="ENGRAIN_PAIRS_UNSEEN=1 runs the sets that rules are not written on",
)
HALVES = [*READ, pytest.param("unseen", marks=HELD_OUT), pytest.param("fifth", marks=HELD_OUT)]


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


@pytest.mark.parametrize("half", HALVES)
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


def test_a_part_that_is_struck_is_the_outdated_part() -> None:
    pairs = [pair for half in READ for pair in read_pairs(half)]
    results = [(pair, finding) for pair in pairs if (finding := found(pair)) and finding.part]
    struck = {
        pair["id"]: (pair["older"]["content"][slice(*finding.part)], pair["partial"]) for pair, finding in results
    }

    wrong = {name: texts for name, texts in struck.items() if texts[0] != texts[1]}
    assert len(wrong) <= len(struck) // 4, wrong


def test_every_finding_that_hides_has_its_anchor_in_the_newer_record() -> None:
    for pair in (pair for half in READ for pair in read_pairs(half)):
        finding = found(pair)
        if finding is not None and hides(finding):
            assert finding.anchor and finding.anchor in pair["newer"]["content"], pair["id"]
            assert finding.scope and finding.basis and finding.evidence
