"""DailyDialog's text, `dialogues_text.txt`: a dialogue a line, utterances ending in `__eou__`. LED labels it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engrain.runtime.errors import InputError

_END = "__eou__"
_WORD = re.compile(r"\w+")


class DailyDialog:
    """The utterances of every dialogue, by line from 0. Raises `InputError` when the file is not UTF-8."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # Lines end in a line feed only: other separators occur inside utterances.
            self._lines = path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not valid UTF-8 ({error.reason})") from None

    def __len__(self) -> int:
        return len(self._lines)

    def utterances(self, line: int) -> list[str]:
        """The utterances of a dialogue; none when there is no such line."""
        if not 0 <= line < len(self._lines):
            return []
        return [part.strip() for part in self._lines[line].split(_END) if part.strip()]


def fits(utterances: Sequence[str], events: Sequence[Any]) -> bool:
    """Whether LED's events, a list for each turn, can be about these utterances.

    The number of turns has to be equal, and of the verbs that stand in the dialogue (explicit events) one at least has
    to occur in it: in LED's 659 dialogues of 4 to 6 turns, 1,679 of 1,681 do.
    """
    words = {word for text in utterances for word in _WORD.findall(text.lower())}
    verbs = list(_explicit_verbs(events))
    return 0 < len(utterances) == len(events) and (not verbs or any(verb in words for verb in verbs))


def _explicit_verbs(events: Sequence[Any]) -> Iterator[str]:
    """First words of the verbs of explicit events; what is not in LED's layout is left to the reader to refuse."""
    for event in (event for turn in events if isinstance(turn, list) for event in turn if isinstance(event, dict)):
        kind = event.get("event_type")
        if isinstance(kind, dict) and kind.get("explicit") and isinstance(kind.get("Verb"), dict):
            yield from _WORD.findall(str(kind["Verb"].get("tokens", "")).lower())[:1]
