"""Windows: the stretch of a session that an extractor reads at once, and how its messages are written.

DimMem section 3.2: windows of `size` messages overlap by `overlap`; the first `overlap` messages of every window but
the first are context only, and no record may come from them. Training, evaluation and the runtime all cut and write
windows here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engrain.runtime.errors import InputError
from engrain.runtime.extraction.compression import compress
from engrain.runtime.schema import Role, Turn, WindowStyle
from engrain.runtime.timestamps import message_stamp

PAPER_WINDOWS: dict[WindowStyle, tuple[int, int]] = {WindowStyle.LOCOMO: (25, 5), WindowStyle.LONGMEMEVAL: (15, 3)}
"""Size and overlap in messages, by style (DimMem section 3.2)."""


@dataclass(frozen=True)
class Window:
    """Consecutive messages of one session, oldest first; the first `overlap` are context only.

    Messages are numbered from 1. A window may consist of new messages only (`overlap` 0), as the first of a session.
    Raises `InputError` when no message is left to take records from.
    """

    turns: tuple[Turn, ...]
    overlap: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < len(self.turns):
            raise InputError(
                f"a window of {len(self.turns)} messages with an overlap of {self.overlap} has no new message; "
                f"the overlap must be at least 0 and smaller than the window"
            )

    def is_new(self, source_id: int) -> bool:
        """Whether message number `source_id` (1-based) is in the window and outside the overlap."""
        return self.overlap < source_id <= len(self.turns)

    @property
    def new_turns(self) -> tuple[Turn, ...]:
        """The messages that records may come from."""
        return self.turns[self.overlap :]


def select_turns(turns: Sequence[Turn], style: WindowStyle) -> list[Turn]:
    """The messages that a style shows: `longmemeval` user messages only, `locomo` every speaker."""
    if style is WindowStyle.LONGMEMEVAL:
        return [turn for turn in turns if turn.role is Role.USER]
    return list(turns)


def cut_windows(turns: Sequence[Turn], *, style: WindowStyle, size: int, overlap: int) -> list[Window]:
    """Cut one session's turns into windows whose new messages, joined, are the selected turns, each once.

    Windows start every `size - overlap` messages; the last one may be short, and none consists of overlap only.
    Returns an empty list when the style selects nothing. Raises `InputError` unless 0 <= overlap < size.
    """
    if not 0 <= overlap < size:
        raise InputError(
            f"window size {size} with overlap {overlap}: the overlap must be at least 0 and below the size"
        )
    selected = select_turns(turns, style)
    windows = []
    for start in range(0, len(selected), size - overlap):
        context = overlap if start else 0
        if start + context >= len(selected):
            break
        windows.append(Window(tuple(selected[start : start + size]), context))
    return windows


def message_line(turn: Turn, number: int, style: WindowStyle, keep: float = 1.0) -> str:
    """`[ISO timestamp, Wkd] n.Speaker: text`, one line a message.

    In `longmemeval` windows the speaker is the role, since every message is the user's and records say "the user";
    in `locomo` windows it is the name that the source gives. Line breaks inside a message become spaces: a message
    must not be able to imitate the line of another one. `keep` is the share of its words that compression leaves.
    """
    named = style is WindowStyle.LOCOMO and turn.speaker.strip()
    speaker = turn.speaker if named else turn.role.value.title()
    return f"{message_stamp(turn.timestamp)} {number}.{_one_line(speaker)}: {compress(_one_line(turn.text), keep)}"


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines() if line.strip())
