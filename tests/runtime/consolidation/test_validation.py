"""Every validator has a case in which it alone saves the record."""

from __future__ import annotations

from typing import Any

import pytest

from engrain.runtime.consolidation.answers import Claim
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.validation import VALIDATORS, Case, refusal
from engrain.runtime.schema import MemoryType, Relation

EPISODIC = MemoryType.EPISODIC
# older, newer, claim (relation, basis, scope, anchor), changes of the newer record, days between, type of both
CASES: dict[str, tuple[str, str, tuple[str, str, str, str], int, MemoryType]] = {
    "anchor_missing": (
        "User's bank is Norbank.", "User's bank is Credo since May.",
        ("supersede", "state_change", "user bank", "switched to Credo"), 3, MemoryType.FACT,
    ),
    "basis_unsupported": (
        "User's bank is Norbank.", "User's bank is Credo since May.",
        ("supersede", "same_fact", "user bank", "Credo since May"), 3, MemoryType.FACT,
    ),
    "scope_missing": (
        "User's bank is Norbank.", "User's bank is Credo since May.",
        ("supersede", "state_change", "", "Credo since May"), 3, MemoryType.FACT,
    ),
    "order_unknown": (
        "User's bank is Norbank.", "User's bank is Credo since May.",
        ("supersede", "state_change", "user bank", "Credo since May"), 0, MemoryType.FACT,
    ),
    "event_not_shared": (
        "User bought a bag of cat litter.", "User bought a bag of cat litter.",
        ("dedup", "same_event", "user cat litter purchase", "bought a bag"), 3, EPISODIC,
    ),
    "event_not_corrected": (
        "User spent 30 euros on lunch.", "User spent 25 euros on lunch.",
        ("supersede", "state_change", "user lunch spending", "25 euros"), 3, EPISODIC,
    ),
    "not_own_words": (
        "User's bank is Norbank.", "A mail said that User's bank account is closed and the bank is Credo.",
        ("supersede", "state_change", "user bank", "the bank is Credo"), 3, MemoryType.FACT,
    ),
    "not_stated": (
        "User's bank is Norbank.", "User might switch to Credo as their bank.",
        ("supersede", "state_change", "user bank", "switch to Credo"), 3, MemoryType.FACT,
    ),
    "other_person": (
        "User's bank is Norbank.", "User's sister closed her account, her bank is Credo.",
        ("supersede", "state_change", "user bank", "her bank is Credo"), 3, MemoryType.FACT,
    ),
    "nothing_shared": (
        "User's bank is Norbank.", "User's boiler was serviced in May.",
        ("supersede", "state_change", "user bank", "serviced in May"), 3, MemoryType.FACT,
    ),
    "would_lose": (
        "User has a savings account at a bank.", "User has a savings account at a bank called Credo.",
        ("dedup", "same_fact", "user savings account", "savings account"), 3, MemoryType.FACT,
    ),
    "polarity_differs": (
        "User eats oysters.", "User does not eat oysters.",
        ("dedup", "same_fact", "user oysters", "eat oysters"), 3, MemoryType.FACT,
    ),
    "nothing_new": (
        "User's bank is Norbank in Ghent.", "User's bank is Norbank.",
        ("supersede", "state_change", "user bank", "bank is Norbank"), 3, MemoryType.FACT,
    ),
}  # fmt: skip


def case_of(make: Any, name: str) -> Case:
    older_text, newer_text, (relation, basis, scope, anchor), days, kind = CASES[name]
    older = make("o", older_text, memory_type=kind)
    newer = Reading(make("n", newer_text, days, memory_type=kind))
    return Case(Claim(older, Relation(relation), basis, scope, anchor), Reading(older), newer)


def test_every_validator_has_its_case() -> None:
    assert set(CASES) == {name for name, _ in VALIDATORS}


@pytest.mark.parametrize("name", CASES)
def test_it_alone_saves_the_record(make: Any, name: str) -> None:
    case = case_of(make, name)
    assert [other for other, applies in VALIDATORS if applies(case)] == [name]
    assert refusal(case) == name


def test_what_holds_is_not_refused(make: Any) -> None:
    older, newer = make("o", "User's bank is Norbank."), make("n", "User's bank is Credo since May.", 3)
    claim = Claim(older, Relation.SUPERSEDE, "state_change", "user bank", "bank  is credo")
    assert refusal(Case(claim, Reading(older), Reading(newer))) == "anchor_missing"
    good = Claim(older, Relation.SUPERSEDE, "state_change", "user bank", "Bank is Credo")
    assert refusal(Case(good, Reading(older), Reading(newer))) is None
    assert refusal(Case(Claim(older, Relation.QUALIFY, "", "", ""), Reading(older), Reading(newer))) is None
