"""Life Event Dialog: events of each turn of DailyDialog dialogues, in `LifeEventDialog_<split>.jsonl`.

LED publishes labels only: `events` lists, for each turn, every event known by then, so the news of a turn is what the
turn before did not have. The words come from DailyDialog's `dialogues_text.txt` beside it, whose line
`DailyDialog_id` is the dialogue, utterances ending in `__eou__`. Files that already hold `turns` with `text` and
`new_events` are read as they are. Two people talk, and both are users. A turn's note names its new events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from engrain.data_builders.sources.reader import Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.data_builders.sources.splits import below, find_files
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role

_SPEAKERS = ("S1", "S2")
_TEXT = "dialogues_text.txt"
_END = "__eou__"


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
        events = row.fields("LED", "events")["events"]
        number = row.value["DailyDialog_id"]
        if not isinstance(events, list) or not isinstance(number, int):
            raise row.fault("not LED's layout; expected `events` as a list and DailyDialog_id as a number")
        if not 0 <= number < len(self._texts):
            raise row.fault(f"DailyDialog has no dialogue {number}; {self._text_path} has {len(self._texts)} lines")
        utterances = [part.strip() for part in self._texts[number].split(_END) if part.strip()]
        if len(utterances) != len(events):
            raise row.fault(
                f"LED has events for {len(events)} turns, but DailyDialog's dialogue {number} has {len(utterances)}; "
                f"is {self._text_path} the whole of DailyDialog, in its own order?"
            )
        known: Sequence[Any] = ()
        lines = []
        for position, (text, now) in enumerate(zip(utterances, events, strict=True)):
            news = [event for event in now if event not in known] if isinstance(now, list) else now
            lines.append(Line(_SPEAKERS[position % 2], text, _note(news, row)))
            known = now
        return lines

    @cached_property
    def _text_path(self) -> Path:
        folder = self.root if self.root is not None and self.root.is_dir() else Path(self.root or ".").parent
        found = find_files(folder, below(_TEXT))
        if not found:
            raise InputError(
                f"{folder}: LED has labels only; put DailyDialog's {_TEXT} beside them ({self.corpus.home})"
            )
        return found[0]

    @cached_property
    def _texts(self) -> list[str]:
        try:
            return self._text_path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise InputError(f"{self._text_path}: not valid UTF-8 ({error.reason})") from None


def _note(events: Any, row: Row) -> str:
    """The classes of a turn's new events."""
    if not isinstance(events, list):
        raise row.fault(f"not LED's layout; expected a list of events for each turn, found {events!r:.60}")
    kinds = [row.check(event, "LED", "event_type", at="event")["event_type"] for event in events]
    return ", ".join(str(row.check(kind, "LED", "Class", at="event_type")["Class"]) for kind in kinds)
