"""Which turns of an add are worth keeping: one batch through the gate, each turn with what was said before it.

SLICE-Mem section 3.1: the gate sees the target and the `k` messages before it in its session, whoever said them,
whether they came in this add or an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role, Scope, Turn, Utterance
from engrain.runtime.storage.protocol import Admission, NewTurn, Store

if TYPE_CHECKING:
    from engrain.runtime.gate import Gate


def admit(
    store: Store, scope: Scope, turns: Sequence[Turn], new_ids: set[str], gate: Gate | None, roles: Sequence[Role]
) -> list[NewTurn]:
    """The new ones among `turns`, in order, each with what became of it.

    Turns of other roles than `roles` are context. Without a gate the others are taken as given; with one they are
    admitted from its threshold on. `turns` holds the add's known turns too: they were said before the others.
    """
    candidates = [turn for turn in turns if turn.id in new_ids and turn.role in roles]
    scores: dict[str, float] = {}
    if gate is not None and candidates:
        context = _context(store, scope, turns, gate.k)
        pairs = [(context[turn.id], utterance(turn)) for turn in candidates]
        probabilities = gate.score(pairs)
        scores = {turn.id: float(p) for turn, p in zip(candidates, probabilities, strict=True)}
    return [
        _judged(turn, scores, gate.threshold if gate else None, turn.role in roles)
        for turn in turns
        if turn.id in new_ids
    ]


def utterance(turn: Turn) -> Utterance:
    """What a gate sees of a turn."""
    return Utterance(speaker=turn.speaker, text=turn.text)


def known_conflicts(turns: Sequence[Turn], known: dict[str, str]) -> None:
    """Raises `InputError` when an id that is stored already comes with another text: one of them would be lost."""
    for number, turn in enumerate(turns, start=1):
        if known.get(turn.id, turn.text) != turn.text:
            raise InputError(
                f"message {number}: the id '{turn.id}' is already stored with another text; ids must be unique within "
                "a user's memory (put the session in front), or delete the stored one first"
            )


def _judged(turn: Turn, scores: dict[str, float], threshold: float | None, remembered: bool) -> NewTurn:
    if not remembered:
        return NewTurn(turn, Admission.CONTEXT)
    if threshold is None:
        return NewTurn(turn, Admission.AS_GIVEN)
    probability = scores[turn.id]
    return NewTurn(turn, Admission.ADMITTED if probability >= threshold else Admission.REJECTED, probability)


def _context(store: Store, scope: Scope, turns: Sequence[Turn], k: int) -> dict[str, list[Utterance]]:
    """The `k` messages before every turn, by id."""
    before: dict[str, list[Utterance]] = {}
    own = {turn.id for turn in turns}
    ordered = sorted(turns, key=lambda turn: turn.session_id)  # stable: order within a session stays
    for session_id, group in groupby(ordered, key=lambda turn: turn.session_id):
        members = list(group)
        stored = store.recent_turns(scope, session_id, members[0].timestamp, k + len(members)) if k else []
        said = [utterance(earlier.turn) for earlier in stored if earlier.turn.id not in own]
        for turn in members:
            before[turn.id] = said[-k:] if k else []
            said.append(utterance(turn))
    return before
