"""Multi-Session Chat in ParlAI's layout: `msc_dialogue/session_N/<split>.txt`, one dialogue a line.

`dialog` holds the turns of session N, with `id` as the speaker; two strangers talk, and both are users. Rows of session
2 also carry session 1 in `previous_dialogs`. In the files of `msc_personasummary/session_N/` the turns have a
`persona_text` where an annotator found something to remember about the speaker: that is their note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from engrain.data_builders.sources.reader import Corpus, Dialogue, DialogueSource, Line
from engrain.data_builders.sources.rows import Row
from engrain.data_builders.sources.splits import below
from engrain.runtime.schema import Role

_SPEAKERS = ("Speaker 1", "Speaker 2")
_BOTS = {"bot_0": _SPEAKERS[0], "bot_1": _SPEAKERS[1]}
_SPLITS = ("train", "valid", "test")
_FACTS: dict[str, Any] = {
    "licence": "as ParlAI states for its data",
    "citation": "Xu, Szlam and Weston 2022, Beyond Goldfish Memory: Long-Term Open-Domain Conversation",
    "home": "https://parl.ai/projects/msc/",
    "roles": dict.fromkeys(_SPEAKERS, Role.USER),
    "defaults": (_SPLITS,),
}
_SESSION = re.compile(r"session_(\d)\D")
_LONGEST_GAP = 10_000
_UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}


def _files(folder: str, split: str, flat: str) -> tuple[str, ...]:
    """Patterns of a split: ParlAI's folders, one of them alone, or single files named after them."""
    return *below(f"{folder}/session_*/{split}.txt"), f"session_*/{split}.txt", *below(f"{flat}_*_{split}.txt")


class _Msc(DialogueSource):
    """What both files have in common: how turns name their speakers."""

    def _lines(self, turns: list[dict[str, Any]]) -> list[Line]:
        """Turns with their speakers. Speakers take turns: that names those who have no id (session 1) or a worker's
        number as id, which is counted in `speakers_by_order`."""
        lines = []
        for position, turn in enumerate(turns):
            given = turn.get("id")
            speaker = _BOTS.get(str(given), str(given))
            if speaker not in _SPEAKERS:
                self.counts["speakers_by_order"] += given is not None
                speaker = _SPEAKERS[position % 2]
            lines.append(Line(speaker, turn["text"], str(turn.get("persona_text") or "").strip()))
        return lines


class MscSource(_Msc):
    """The dialogues of sessions 2 to 5, and session 1 from what session 2 repeats of it."""

    corpus = Corpus(
        name="msc",
        files={split: _files("msc_dialogue", split, "session") for split in _SPLITS},
        **_FACTS,
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The row's session, and before it session 1 when the row is of session 2."""
        person = _person(row.fields("MSC", "dialog", "metadata")["metadata"], row)
        previous = row.entries("MSC", "previous_dialogs", "dialog")
        if len(previous) == 1:
            turns = Row(previous[0], row.place, row.index).entries("MSC", "dialog", "text")
            yield Dialogue(f"{person}/session_1", self._lines(turns), person)
        number = len(previous) + 1
        lines = self._lines(row.entries("MSC", "dialog", "text"))
        yield Dialogue(f"{person}/session_{number}", lines, person, _gap(previous, row))


class MscPersonaSource(_Msc):
    """The same dialogues with what was worth remembering of each turn, as annotators wrote it."""

    corpus = Corpus(
        name="msc-persona",
        files={split: _files("msc_personasummary", split, "personasummary_session") for split in _SPLITS},
        **_FACTS,
    )

    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The row's session; the file's name alone says which, and sessions are put a day apart."""
        person = str(row.fields("MSC", "dialog", "initial_data_id")["initial_data_id"])
        lines = self._lines(row.entries("MSC", "dialog", "text"))
        match = _SESSION.search(row.file)
        number = int(match[1]) if match else 1
        yield Dialogue(f"{person}/session_{number}", lines, person, timedelta(days=number - 1), annotated=True)


def _person(metadata: Any, row: Row) -> str:
    return str(row.check(metadata, "MSC", "initial_data_id", at="metadata")["initial_data_id"])


def _gap(previous: list[dict[str, Any]], row: Row) -> timedelta:
    """Time since the first session: each earlier dialogue says how far back it lies from the next."""
    total = timedelta(0)
    for earlier in previous:
        number, unit = earlier.get("time_num", 1), str(earlier.get("time_unit", "days")).rstrip("s")
        if unit not in _UNITS or not isinstance(number, int | float) or not 0 <= number <= _LONGEST_GAP:
            raise row.fault(f"previous_dialogs: {number!r:.20} {unit!r:.20} is no time between two sessions")
        total += _UNITS[unit] * number
    return total
