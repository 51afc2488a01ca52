"""The deterministic state pass of SLICE-Mem A.4: residence, relationship status, number of children, in time order.

A repeated current value is a duplicate. A changed value supersedes its predecessor, where strict order of the message
times says which came first. A return to an earlier value is a new transition and hides nothing but the value between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from engrain.runtime.consolidation.decisions import Decision
from engrain.runtime.consolidation.rules.reading import Reading
from engrain.runtime.consolidation.rules.states import State, single_state
from engrain.runtime.schema import Relation, Status


def state_pass(readings: Sequence[Reading]) -> Iterator[Decision]:
    """Decisions over active records of one scope that state one exclusive attribute of the user and nothing else."""
    found = [(state, reading) for reading in readings if (state := _state(reading)) is not None]
    found.sort(key=lambda pair: pair[0].attribute)
    for attribute, group in groupby(found, key=lambda pair: pair[0].attribute):
        timeline = sorted(group, key=lambda pair: pair[1].record.source_time)
        yield from _walk(attribute, timeline)


def _state(reading: Reading) -> State | None:
    if reading.record.status is not Status.ACTIVE or reading.record.source_time.timestamp() <= 0:
        return None  # A.4 asks for positive timestamps
    return single_state(reading)


def _walk(attribute: str, timeline: Sequence[tuple[State, Reading]]) -> Iterator[Decision]:
    current: tuple[State, Reading] | None = None
    for state, reading in timeline:
        if current is None:
            current = (state, reading)
            continue
        before, earlier = current
        if state.value == before.value:
            if not state.transition:
                yield _decision(Relation.DEDUP, "same_fact", attribute, earlier, reading, state, f"still {state.value}")
                continue
        elif reading.record.source_time > earlier.record.source_time:
            evidence = f"{before.value}, then {state.value}"
            yield _decision(Relation.SUPERSEDE, "state_change", attribute, earlier, reading, state, evidence)
        current = (state, reading)


def _decision(
    relation: Relation, basis: str, attribute: str, older: Reading, newer: Reading, state: State, evidence: str
) -> Decision:
    anchor = newer.text[state.start : state.end]
    return Decision(relation, older.record, newer.record, basis, f"user {attribute}", anchor, evidence)
