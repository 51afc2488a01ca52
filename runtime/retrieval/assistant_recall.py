"""Assistant replies, attached to hits on demand (DimMem sections 3.3 and 4.4).

Replies are not part of any record. A record points to the message it comes from; the assistant message that directly
follows it in its session is looked up when the question needs what the assistant said. Modes are those of the paper's
figure 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise

from engrain.runtime.errors import InputError
from engrain.runtime.schema import MemoryRecord, Reply, Role, Turn
from engrain.runtime.storage.protocol import Store, StoredTurn


class AssistantRecall(StrEnum):
    """When replies are attached."""

    NEVER = "never"
    SELECTIVE = "selective"
    """Only when the parsed question needs assistant context."""
    ALWAYS = "always"


def check_recall(mode: AssistantRecall | str) -> AssistantRecall:
    """A mode by its name. Raises `InputError` for another."""
    try:
        return AssistantRecall(mode)
    except ValueError:
        known = ", ".join(AssistantRecall)
        raise InputError(f"assistant_recall is {mode!r}; it must be one of {known}") from None


def is_due(mode: AssistantRecall, needs_assistant_context: bool) -> bool:
    """Whether a question in this mode gets replies."""
    return mode is AssistantRecall.ALWAYS or (mode is AssistantRecall.SELECTIVE and needs_assistant_context)


Place = tuple[str | None, str | None, str]
"""Agent, run and session."""


def replies(store: Store, user_id: str, records: Sequence[MemoryRecord]) -> dict[str, Reply]:
    """Replies by record id: to the last source message of each record that a reply directly follows.

    A message that no assistant message directly follows has none. A reply that several records share is given to each.
    """
    sources = list(dict.fromkeys(turn_id for record in records for turn_id in record.source_turn_ids))
    if not sources:
        return {}
    places = {_place(stored) for stored in store.turns(user_id, ids=sources)}
    following = {
        (agent_id, run_id, asked.id): answer
        for agent_id, run_id, session_id in places
        for asked, answer in _pairs(store, user_id, (agent_id, run_id, session_id))
    }
    answers: dict[str, Reply] = {}
    for record in records:
        for turn_id in reversed(record.source_turn_ids):
            reply = following.get((record.scope.agent_id, record.scope.run_id, turn_id))
            if reply is not None:
                answers[record.id] = Reply(turn_id=reply.id, text=reply.text, answers=turn_id)
                break
    return answers


def _place(stored: StoredTurn) -> Place:
    return stored.scope.agent_id, stored.scope.run_id, stored.turn.session_id


def _pairs(store: Store, user_id: str, place: Place) -> Iterator[tuple[Turn, Turn]]:
    """Messages of a session that an assistant message directly follows, each with it."""
    agent_id, run_id, session_id = place
    found = store.turns(user_id, agent_id=agent_id, run_id=run_id, session_id=session_id)
    own = [stored.turn for stored in found if _place(stored) == place]
    for asked, answer in pairwise(own):
        if answer.role is Role.ASSISTANT and asked.role is not Role.ASSISTANT:
            yield asked, answer
