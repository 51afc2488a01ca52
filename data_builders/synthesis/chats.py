"""LongMemEval-style windows: the user messages of real chats with an assistant, one chat after the other (DimMem 3.2).

A chat has a few user messages, a window fifteen: consecutive chats are joined as one person's stream, the days between
them invented, since these corpora state no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice

from engrain.data_builders.sources.dialogue import LabelledSession
from engrain.data_builders.synthesis.rejects import Reject, SynthesisReject
from engrain.data_builders.synthesis.settings import ChatSettings
from engrain.runtime.extraction.windows import Window
from engrain.runtime.schema import Role, Turn

_FIRST = datetime(2025, 1, 6, 8, 0, tzinfo=UTC)
_BETWEEN = timedelta(hours=29, minutes=7)
_NEIGHBOURS = 20
"""Windows of one group, which is never split."""


@dataclass
class ChatStream:
    """Windows over the user messages of chats; chats that were left out are in `rejects`."""

    sessions: Iterable[LabelledSession]
    settings: ChatSettings
    rejects: list[Reject] = field(default_factory=list)

    def windows(self) -> Iterator[tuple[str, str, Window]]:
        """Windows in order, with id and group (neighbours share chats); messages that fill no window are left."""
        size, overlap = self.settings.size, self.settings.overlap
        step = size - overlap
        kept: list[Turn] = []
        number = 0
        for turn in self._turns():
            kept.append(turn)
            if len(kept) == size:
                window = Window(tuple(kept), overlap if number else 0)
                yield f"chats/w{number:05d}", f"chats/{number // _NEIGHBOURS}", window
                kept, number = kept[step:], number + 1

    def wanted(self) -> list[tuple[str, str, Window]]:
        """As many windows as the settings ask for, with a tenth more for what the filters refuse."""
        return list(islice(self.windows(), -(-self.settings.examples * 11 // 10)))

    def _turns(self) -> Iterator[Turn]:
        moment = _FIRST
        for labelled in self.sessions:
            said = [turn for turn in labelled.session.turns if turn.role is Role.USER]
            name = labelled.session.id
            longest = max((len(turn.text) for turn in said), default=0)
            if not said or longest > self.settings.longest_message:
                detail = f"a message of {longest} characters" if said else "no user message"
                self.rejects.append(Reject(id=name, reason=SynthesisReject.SCHEMA, detail=detail))
                continue
            for place, turn in enumerate(said):
                yield turn.model_copy(update={"timestamp": moment + timedelta(seconds=45 * place)})
            moment += _BETWEEN


def leaking_chat(name: str, against: str, source: str) -> Reject:
    """The reject of a chat that stands in a benchmark."""
    return Reject(
        id=name, reason=SynthesisReject.LEAK, detail=f"half or more of its words stand in {against}, {source}"
    )
