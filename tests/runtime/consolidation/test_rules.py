"""What the rules must see, and above all must not see, in sentences apart from the labelled pairs."""

from __future__ import annotations

from typing import Any

import pytest

from engrain.runtime.consolidation.rules.classify import Finding, relate
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.schema import MemoryType, Relation


def compare(make: Any, older: str, newer: str, kind: str = "fact") -> Finding | None:
    first, second = (make("o", older, memory_type=MemoryType(kind)), make("n", newer, 40, memory_type=MemoryType(kind)))
    return relate(Reading(first), Reading(second))


TRAPS = [
    ("User plays tennis on Sundays.", "User no longer plays tennis with Marc.", "profile"),
    ("User works at Lidl.", "User quit the choir.", "fact"),
    ("User has a gym membership at Fitwell.", "User's wife cancelled her gym membership.", "fact"),
    ("User bought a sofa at Ikea.", "User returned the lamp to Ikea.", "episodic"),
    ("User's laptop is a ThinkPad.", "User's work laptop is now a MacBook.", "fact"),
    ("User's meeting with Anna is on Friday.", "User's meeting with Ben was moved to Monday.", "fact"),
    ("User goes running every morning.", "User did not go running this morning.", "profile"),
    ("User lives in Berlin.", "User is going to move to Munich in autumn.", "fact"),
    ("User lives in Berlin.", "User used to live in Munich.", "fact"),
    ("User likes pizza.", "User is tired of pizza tonight.", "profile"),
    ("User needs to take out the bins every Tuesday.", "User took out the bins.", "fact"),
    ("User is reading Dune.", "User finished Emma.", "fact"),
    ("User has 'call the bank' on the list.", "User added 'call the school' to the list.", "fact"),
    ("User spent 30 euros on lunch.", "User spent 25 euros on lunch.", "episodic"),
    ("User has a subscription to the Guardian.", "User cancelled the subscription to the Times.", "fact"),
    ("User booked a flight to Rome for 3 May.", "User cancelled the flight to Rome on 9 June.", "episodic"),
    ("User needs to buy a birthday present for Lena.", "User bought a book for Lena.", "fact"),
    ("User's flight is at 9:15 from gate 4.", "User's flight was moved to gate 7.", "fact"),
    ("User's son Max is 5.", "User's son Leo is now 7.", "fact"),
    ("User works from home on Fridays.", "User no longer works from home on Mondays.", "profile"),
    ("User's car insurance is with Axo.", "User switched the home insurance from Axo to Belsure.", "fact"),
    ("User went to Lisbon in 2019.", "User went to Porto, not Lisbon, in 2021.", "episodic"),
    ("User takes aspirin.", "User forgot to take aspirin today.", "fact"),
    ("User is on a keto diet.", "User wrote an article on why people stop the keto diet.", "fact"),
    ("User grabbed a coffee for $3.96.", "User loves their new sound. It doesn't grab User as much anymore.", "fact"),
]


@pytest.mark.parametrize(("older", "newer", "kind"), TRAPS)
def test_nothing_is_hidden(make: Any, older: str, newer: str, kind: str) -> None:
    finding = compare(make, older, newer, kind)
    assert finding is None or finding.relation is Relation.QUALIFY, finding


CHANGES = [
    ("User's Netflix plan is Basic.", "User upgraded the Netflix plan to Premium."),
    ("User works at Shell as an engineer.", "User left Shell."),
    ("User needs to pick up the parcel.", "User picked up the parcel this morning."),
    ("User has a dentist appointment on Friday.", "User cancelled the dentist appointment on Friday."),
    ("User uses Spotify.", "User switched from Spotify to Tidal."),
    ("User owns a kayak.", "User sold the kayak."),
    ("User's curfew is 10 pm.", "User's curfew is now 11 pm."),
    ("User's wedding is on 4 June.", "User postponed the wedding to 9 September."),
    ("User has the task 'clean the oven'.", "User deleted the task 'clean the oven'."),
    ("User really likes Wilco's music.", "User used to really like Wilco, but has gone off them."),
    ("User needs to plan the field work schedule.", 'User is no longer tracking "Plan field work schedule".'),
    ("The proposed budget for this project is $90,000.", "User asks to update the budget from $90,000 to $125,000."),
]


@pytest.mark.parametrize(("older", "newer"), CHANGES)
def test_a_change_outdates_the_older_record(make: Any, older: str, newer: str) -> None:
    finding = compare(make, older, newer)
    assert finding is not None and (finding.relation, finding.part) == (Relation.SUPERSEDE, None)
    assert finding.anchor in newer


@pytest.mark.parametrize(
    ("older", "newer", "part"),
    [
        ("User has a cat and a parrot.", "User gave away the parrot.", "a parrot"),
        ("User speaks German and works at Bosch.", "User left Bosch.", "works at Bosch"),
        ("User lives in Rome and has a motorbike.", "User moved to Turin.", "lives in Rome"),
        ("User's list has milk, eggs and bread.", "User removed eggs from the list.", "eggs"),
    ],
)
def test_only_the_conflicting_part_is_outdated(make: Any, older: str, newer: str, part: str) -> None:
    finding = compare(make, older, newer)
    assert finding is not None and finding.part is not None
    assert older[slice(*finding.part)] == part


def test_equal_events_are_two_unless_source_or_date_is_shared(make: Any) -> None:
    text = "User bought a coffee at Bean."
    older = make("o", text, memory_type=MemoryType.EPISODIC)
    apart = make("n", text, 1, memory_type=MemoryType.EPISODIC)
    told_again = make("n", text, 1, memory_type=MemoryType.EPISODIC, source_turn_ids=older.source_turn_ids)

    assert relate(Reading(older), Reading(apart)) is None
    finding = relate(Reading(older), Reading(told_again))
    assert finding is not None and (finding.relation, finding.basis) == (Relation.DEDUP, "same_event")


def test_time_runs_one_way(make: Any) -> None:
    lives, moved = make("o", "User lives in Rome.", 5), make("n", "User moved to Turin.", 1)
    assert relate(Reading(lives), Reading(moved)) is None
    same = make("n", "User moved to Turin.", 5)
    assert relate(Reading(lives), Reading(same)) is None
