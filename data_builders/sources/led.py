"""Life Event Dialog: events of each turn of DailyDialog dialogues, in `LifeEventDialog_<split>.jsonl`.

LED publishes labels only: `events` lists, for each turn, every event known by then, so the news of a turn is what the
turn before did not have. The words come from DailyDialog's `dialogues_text.txt` beside it, whose line
`DailyDialog_id` is the dialogue, utterances ending in `__eou__`. Files that already hold `turns` with `text` and
`new_events` are read as they are. Two people talk, and both are users. A turn's note names its new events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from engrain.data_builders.sources.daily_dialog import DailyDialog, fits
from engrain.data_builders.sources.json_files import json_rows
from engrain.data_builders.sources.reader import Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.data_builders.sources.splits import below, find_files
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role

_SPEAKERS = ("S1", "S2")
_TEXT = "dialogues_text.txt"
_ROWS_COMPARED = 50


class LedSource(DialogueSource):
    """LED's dialogues, with DailyDialog's text."""

    corpus = Corpus(
        name="led",
        licence="CC BY-NC-SA 4.0, as DailyDialog's text",
        citation="Chen et al. 2023, LED: A Dataset for Life Event Extraction from Dialogs; Li et al. 2017, DailyDialog",
        home="https://github.com/ntunlplab/LifeEventDialog and http://yanran.li/dailydialog",
        roles=dict.fromkeys(_SPEAKERS, Role.USER),
        files={
            **{split: below(f"LifeEventDialog_{split}.jsonl") for split in ("train", "valid", "test")},
            "joined": below("led_joined_with_dailydialog_text.jsonl"),
        },
        defaults=(("train", "valid", "test"), ("joined",)),
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The row's dialogue."""
        fields = row.fields("LED", "DailyDialog_id", "dialog_id")
        about = {"daily_dialog": fields["DailyDialog_id"], "published_split": str(fields.get("split", split))}
        if "turns" in fields:
            turns = row.entries("LED", "turns", "speaker", "text", "new_events")
            lines = [Line(str(turn["speaker"]), turn["text"], _note(turn["new_events"], row)) for turn in turns]
            name = f"{about['published_split']}/{fields['dialog_id']}"
        else:
            lines, name = self._join(row), str(fields["dialog_id"])
        yield Dialogue(name, lines, annotated=True, metadata=about)

    def _join(self, row: Row) -> list[Line]:
        events, number = self._labels(row)
        utterances = self._text.utterances(number - self._first)
        if not fits(utterances, events):
            raise row.fault(
                f"LED's events, for {len(events)} turns, do not fit DailyDialog's dialogue {number}, which has "
                f"{len(utterances)}; is {self._text.path} ({len(self._text)} lines) the whole, in its own order?"
            )
        known: Sequence[Any] = ()
        lines = []
        for position, (text, now) in enumerate(zip(utterances, events, strict=True)):
            news = [event for event in now if event not in known] if isinstance(now, list) else now
            lines.append(Line(_SPEAKERS[position % 2], text, _note(news, row)))
            known = now
        return lines

    def _labels(self, row: Row) -> tuple[list[Any], int]:
        fields = row.fields("LED", "DailyDialog_id", "events")
        events, number = fields["events"], fields["DailyDialog_id"]
        if not isinstance(events, list) or not isinstance(number, int):
            raise row.fault("not LED's layout; expected `events` as a list and DailyDialog_id as a number")
        return events, number

    @cached_property
    def _text(self) -> DailyDialog:
        folder = self.root if self.root is not None and self.root.is_dir() else Path(self.root or ".").parent
        found = find_files(folder, below(_TEXT))
        if not found:
            raise InputError(
                f"{folder}: LED has labels only; put DailyDialog's {_TEXT} beside them ({self.corpus.home})"
            )
        return DailyDialog(found[0])

    @cached_property
    def _first(self) -> int:
        """The number of DailyDialog's first dialogue, which LED does not state: 0 or 1, whichever fits more rows."""
        paths = [path for paths in self.files.values() for path in paths]
        labels = [self._labels(row) for path in paths for row in islice(json_rows(path), _ROWS_COMPARED)]
        fitting = [
            sum(fits(self._text.utterances(number - first), events) for events, number in labels) for first in (0, 1)
        ]
        return int(fitting[1] > fitting[0])


def _note(events: Any, row: Row) -> str:
    """The classes of a turn's new events."""
    if not isinstance(events, list):
        raise row.fault(f"not LED's layout; expected a list of events for each turn, found {events!r:.60}")
    kinds = [row.check(event, "LED", "event_type", at="event")["event_type"] for event in events]
    return ", ".join(str(row.check(kind, "LED", "Class", at="event_type")["Class"]) for kind in kinds)
