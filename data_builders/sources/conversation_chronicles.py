"""Conversation Chronicles: five sessions between two people whose relationship is stated, `<split>.jsonl`.

A row is an episode: `first_session_dialogue` with `first_session_speakers`, and so on to `fifth`, and `time_interval`,
in words, before each of them. Both people are users.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from engrain.data_builders.sources.hub import Hub
from engrain.data_builders.sources.reader import Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.runtime.schema import Role

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_KEYS = tuple(f"{ordinal}_session_{part}" for ordinal in _ORDINALS for part in ("dialogue", "speakers"))
_INTERVALS = {
    "start": timedelta(0),
    "hour": timedelta(hours=3),
    "day": timedelta(days=3),
    "week": timedelta(weeks=3),
    "month": timedelta(days=90),
    "year": timedelta(days=730),
}
"""What "a few hours after" up to "a couple of years after" is read as: three of a unit, and two years."""


class ConversationChroniclesSource(DialogueSource):
    """The sessions of every episode; an interval that is not understood counts as a day, in `unknown_intervals`."""

    corpus = Corpus(
        name="conversation-chronicles",
        licence="CC BY 4.0",
        citation="Jang, Boo and Kim 2023, Conversation Chronicles: Towards Diverse Temporal and Relational Dynamics",
        home="https://huggingface.co/datasets/jihyoung/ConversationChronicles",
        roles={"*": Role.USER},
        files={
            split: (f"{split}.jsonl", f"ConversationChronicles/{split}.jsonl") for split in ("train", "valid", "test")
        },
        hub=Hub("jihyoung/ConversationChronicles", {"train": "train", "valid": "validation", "test": "test"}),
        defaults=(("train", "valid", "test"),),
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The episode's sessions, each as long after the one before as the row says."""
        fields = row.fields("Conversation Chronicles", "dataID", "time_interval", *_KEYS)
        person, intervals = str(fields["dataID"]), fields["time_interval"]
        after = timedelta(0)
        for number, ordinal in enumerate(_ORDINALS):
            lines = _lines(fields, ordinal, row)
            if not lines:
                continue
            after += self._gap(intervals[number] if isinstance(intervals, list) and number < len(intervals) else "")
            about = {"relationship": fields.get("relationship")}
            yield Dialogue(f"{person}/session_{number + 1}", lines, person, after, metadata=about)

    def _gap(self, words: Any) -> timedelta:
        known = next((gap for unit, gap in _INTERVALS.items() if unit in str(words).lower()), None)
        if known is None:
            self.counts["unknown_intervals"] += 1
        return timedelta(days=1) if known is None else known


def _lines(fields: dict[str, Any], ordinal: str, row: Row) -> list[Line]:
    texts, speakers = fields[f"{ordinal}_session_dialogue"], fields[f"{ordinal}_session_speakers"]
    if not isinstance(texts, list) or not isinstance(speakers, list) or len(texts) != len(speakers):
        raise row.fault(f"{ordinal}_session: expected as many speakers as turns, in two lists")
    return [Line(str(speaker), text) for speaker, text in zip(speakers, texts, strict=True)]
