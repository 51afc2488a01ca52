"""Hits as a text for an answering model: dated, attributed, marked where outdated, within a token budget.

Hits are taken best first while they fit, a reply only after every record that fits, then put in the order asked for.
A hit that does not fit is left out and counted; nothing is cut in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from pydantic import Field

from engrain.runtime.schema import Contract, Hit
from engrain.runtime.timestamps import message_stamp

TokenCounter = Callable[[str], int]
"""Tokens of a text under the answering model's own tokenizer."""
_CHARACTERS_PER_TOKEN = 4
"""English text under common byte-pair tokenizers; a stand-in where no tokenizer is given."""


class Order(StrEnum):
    """In which order a reader gets the hits."""

    TIME = "time"
    """Oldest first, which makes changes readable."""
    RANK = "rank"


class PackingSettings(Contract):
    """How much fits, and how it is laid out."""

    budget: int = Field(default=2_000, ge=1, description="Tokens of the packed text at most.")
    order: Order = Order.TIME
    replies: bool = Field(default=True, description="Take attached assistant replies where they fit.")


class Packed(Contract):
    """The text and what it holds. `left_out` are ids of hits that did not fit; their replies are not counted."""

    text: str
    tokens: int
    record_ids: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    replies_left_out: int = 0


def estimated_tokens(text: str) -> int:
    """A quarter of the ASCII characters, rounded up, and one for each other character."""
    wide = sum(not character.isascii() for character in text)
    return -(-(len(text) - wide) // _CHARACTERS_PER_TOKEN) + wide


def pack(
    hits: Sequence[Hit], settings: PackingSettings | None = None, count_tokens: TokenCounter = estimated_tokens
) -> Packed:
    """Pack hits, given best first. Lines are counted one by one, the break after each included."""
    settings = settings or PackingSettings()
    left = settings.budget
    lines: dict[int, list[str]] = {}
    for place, hit in enumerate(hits):
        line = record_line(hit)
        cost = count_tokens(line + "\n")
        if cost <= left:
            left -= cost
            lines[place] = [line]
    missed, shown = 0, set[str]()
    for place in [*lines] if settings.replies else []:
        reply = hits[place].reply
        if reply is None or reply.turn_id in shown:
            continue
        line = f"  assistant: {_one_line(reply.text)}"
        cost = count_tokens(line + "\n")
        if cost > left:
            missed += 1
            continue
        left -= cost
        shown.add(reply.turn_id)
        lines[place].append(line)
    kept = list(lines)
    if settings.order is Order.TIME:
        kept.sort(key=lambda place: (hits[place].record.source_time, place))
    text = "\n".join(line for place in kept for line in lines[place])
    return Packed(
        text=text,
        tokens=settings.budget - left,
        record_ids=tuple(hits[place].record.id for place in kept),
        left_out=tuple(hit.record.id for place, hit in enumerate(hits) if place not in lines),
        replies_left_out=missed,
    )


def record_line(hit: Hit) -> str:
    """One record: when it was said and by whom, its text, and when it happened where the record says so."""
    record = hit.record
    speaker = f" {record.source_speaker}:" if record.source_speaker else ""
    happened = f" (time: {record.time})" if record.time else ""
    return f"{message_stamp(record.source_time)}{speaker} {_one_line(hit.memory)}{happened}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
