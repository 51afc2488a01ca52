"""What is asked, feared, joked, claimed or somebody else's changes nothing, whatever the words of the change."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from labelled_pairs import READ, found, hides, read_pairs, record

from engrain.runtime.consolidation.rules.classify import relate
from engrain.runtime.consolidation.rules.probes import WordIndex
from engrain.runtime.consolidation.rules.reading import Reading

PREFIXES = (
    "User asked whether ",
    "Maybe ",
    "User dreamt that ",
    "If the weather is bad, ",
    "User wishes that ",
    "Petra claims that ",
    "User joked that ",
    "In the novel that User is reading, ",
    "It is not true that ",
    "User expects that ",
    "User is afraid that ",
    "The plan is that ",
    "Most people in the town say: ",
)


def outdated() -> list[tuple[str, Reading, dict[str, Any]]]:
    """The older records that the rules take for outdated, with the newer record as it was given."""
    pairs = (pair for half in READ for pair in read_pairs(half) if pair["action"] == "supersede" and hides(found(pair)))
    # What stands before the first sentence says nothing of a second one.
    single = (pair for pair in pairs if len(Reading(record("newer", pair["newer"])).sentences) == 1)
    return [(pair["id"], Reading(record("older", pair["older"])), pair["newer"]) for pair in single]


def told(given: dict[str, Any], text: str) -> Reading:
    return Reading(record("newer", given | {"content": text}))


def plain(given: dict[str, Any]) -> str:
    return re.sub(r"^\[[^\]]*\] ?", "", given["content"])


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_is_not_stated_as_true_hides_nothing(prefix: str) -> None:
    hidden = [
        name
        for name, older, given in outdated()
        if hides(relate(older, told(given, prefix + re.sub(r"^(?!User|I\b)\w", lambda m: m[0].lower(), plain(given)))))
    ]
    assert hidden == []


@pytest.mark.parametrize(
    "another",
    [
        lambda text: re.sub(r"^User(?='s )", "User's cousin", re.sub(r"^User ", "User's cousin Petra ", text)),
        lambda text: re.sub(r"^User(?='s )", "The neighbour", re.sub(r"^User ", "The neighbour ", text)),
    ],
    ids=["a cousin", "a neighbour"],
)
def test_what_others_do_hides_nothing(another: Callable[[str], str]) -> None:
    cases = [(name, older, given, another(plain(given))) for name, older, given in outdated()]
    hidden = [
        name for name, older, given, text in cases if text != plain(given) and hides(relate(older, told(given, text)))
    ]
    assert len(cases) > 100 and hidden == []


def test_the_index_selects_every_record_that_the_rules_would_find() -> None:
    missed = []
    for pair in (pair for half in READ for pair in read_pairs(half)):
        older, newer = Reading(record("older", pair["older"])), Reading(record("newer", pair["newer"]))
        finding = relate(older, newer)
        if finding is not None and (finding.part or hides(finding)):
            index = WordIndex()
            index.add(older)
            missed += [] if index.candidates(newer) == [0] else [pair["id"]]
    assert missed == []
