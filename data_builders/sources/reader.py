"""The reader that published dialogue corpora share; a corpus is one subclass of about 40 lines.

A subclass states its `Corpus` (name, licence, citation, role map, files of each split) and turns one row into
dialogues. The reader finds the files, reads them as a stream, gives ids, roles and times, and counts what it leaves
out.

Most of these corpora have no dates. A person's first session then starts at `start`, later ones as far behind it as
the corpus says, and turns are 0.5 s apart; `info.dates` says `assigned`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, ClassVar

from engrain.data_builders.sources.dialogue import LabelledSession, SourceInfo, role_of
from engrain.data_builders.sources.hub import hub_rows
from engrain.data_builders.sources.json_files import json_rows
from engrain.data_builders.sources.rows import Row
from engrain.data_builders.sources.splits import Corpus, choose_files
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role, Session, Turn
from engrain.runtime.timestamps import parse_timestamp, session_moments

__all__ = ["START", "Corpus", "Dialogue", "DialogueSource", "Line"]

START = datetime(2020, 1, 1, 9, 0, tzinfo=UTC)
"""When a person's first session starts in a corpus without dates."""


@dataclass(frozen=True, slots=True)
class Line:
    """What one speaker said.

    `note` is what the corpus says about it, empty when nothing. `role` is the word that the role map reads, the speaker
    when empty. `timestamp` is the corpus's own time, as text or as seconds since 1970; all lines have one, or none.
    """

    speaker: str
    text: Any
    note: str = ""
    role: str = ""
    timestamp: Any = None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One sitting. `name` is unique in its split; `after` is the time since the person's first session.

    `annotated` means that the corpus looked at every line, so that a line without a note has none for a reason.
    """

    name: str
    lines: Sequence[Line]
    person: str = ""
    after: timedelta = timedelta(0)
    annotated: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


class DialogueSource(ABC):
    """A corpus in its published layout, from a folder (or one of its files), or from a hub when `root` is None.

    `splits` chooses among the corpus's splits. One that is absent is an error, unless `allow_missing` names it; it is
    then listed in `missing_splits`. `counts` holds what the last reading left out: empty turns, sessions without turns,
    and ids that occurred before, which are numbered instead.
    """

    corpus: ClassVar[Corpus]

    def __init__(
        self,
        root: Path | None,
        *,
        splits: Sequence[str] | None = None,
        allow_missing: Sequence[str] = (),
        start: datetime = START,
        roles: Mapping[str, Role] | None = None,
    ) -> None:
        self.root = root
        self.start = start
        self.counts: Counter[str] = Counter()
        self.roles = dict(self.corpus.roles if roles is None else roles)
        self.info = SourceInfo(
            name=self.corpus.name,
            licence=self.corpus.licence,
            citation=self.corpus.citation,
            roles=self.roles,
            time_zone=str(start.tzinfo),
            dates=self.corpus.dates,
        )
        self.files, self.missing_splits = choose_files(self.corpus, root, splits, tuple(allow_missing))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that are read, in order."""
        return tuple(self.files)

    @abstractmethod
    def dialogues(self, row: Row, split: str) -> Iterator[Dialogue]:
        """The dialogues of one row, checked through `row.fields` and `row.entries`."""

    def sessions(self) -> Iterator[LabelledSession]:
        """Sessions in the order of splits, files and rows; there are no gate labels.

        `metadata` has the split and what the corpus says about the dialogue; for an annotated one also `notes`, turn
        id to note. Raises `InputError` at the first row that is not in the published layout.
        """
        self.counts = Counter()
        seen: set[str] = set()
        for split, row in self._rows():
            for dialogue in self.dialogues(row, split):
                session_id = self._session_id(dialogue, split, row, seen)
                labelled = self._session(dialogue, split, row, session_id)
                if labelled is not None:
                    yield labelled

    def _rows(self) -> Iterator[tuple[str, Row]]:
        for split, paths in self.files.items():
            if self.root is None and self.corpus.hub is not None:
                yield from ((split, row) for row in hub_rows(self.corpus.hub, split, self.corpus.home))
            for path in paths:
                yield from ((split, row) for row in json_rows(path))

    def _session_id(self, dialogue: Dialogue, split: str, row: Row, seen: set[str]) -> str:
        name = f"{self.corpus.name}/{split}/{dialogue.name}"
        if name in seen:
            self.counts["repeated_ids"] += 1
            name = next(numbered for n in range(2, len(seen) + 3) if (numbered := f"{name}#{n}") not in seen)
        seen.add(name)
        return name

    def _session(self, dialogue: Dialogue, split: str, row: Row, session_id: str) -> LabelledSession | None:
        turns, notes = [], {}
        for position, (line, moment) in enumerate(self._timed(dialogue, row), start=1):
            if not isinstance(line.text, str):
                raise row.fault(f"turn {position}: expected its text to be a string, found {line.text!r:.60}")
            if not any(map(str.isprintable, line.text.strip())):
                # White space, or characters that nobody sees, such as a zero-width space.
                self.counts["empty_turns"] += 1
                continue
            turn = self._turn(line, f"{session_id}/t{position:02d}", session_id, moment, row)
            turns.append(turn)
            if line.note:
                notes[turn.id] = line.note
        if not turns:
            self.counts["empty_sessions"] += 1
            return None
        session = Session(id=session_id, started_at=turns[0].timestamp, turns=tuple(turns))
        person = f"{self.corpus.name}/{split}/{dialogue.person or dialogue.name}"
        metadata = {"split": split, **dialogue.metadata, **({"notes": notes} if dialogue.annotated else {})}
        return LabelledSession(session, person, metadata=metadata)

    def _turn(self, line: Line, turn_id: str, session_id: str, moment: datetime, row: Row) -> Turn:
        try:
            role = role_of(line.role or line.speaker, self.roles, f"turn {turn_id}")
        except InputError as error:
            raise row.fault(str(error)) from None
        return Turn(
            id=turn_id,
            session_id=session_id,
            role=role,
            speaker=line.speaker,
            text=line.text.strip(),
            timestamp=moment,
        )

    def _timed(self, dialogue: Dialogue, row: Row) -> Iterator[tuple[Line, datetime]]:
        """Lines with their times: the corpus's own when every line has one, assigned when none has."""
        stated = [line.timestamp is not None for line in dialogue.lines]
        if any(stated) and not all(stated):
            raise row.fault(f"{sum(stated)} of {len(stated)} turns have a timestamp; give all of them one, or none")
        try:
            if any(stated):
                moments = [_moment(line.timestamp, self.start.tzinfo) for line in dialogue.lines]
            else:
                started_at = session_moments(self.start, 2, dialogue.after)[1]
                moments = session_moments(started_at, len(dialogue.lines))
        except (InputError, OverflowError, ValueError, OSError) as error:
            raise row.fault(str(error)) from None
        return zip(dialogue.lines, moments, strict=True)


def _moment(stamp: Any, zone: tzinfo | None) -> datetime:
    if isinstance(stamp, int | float) and not isinstance(stamp, bool):
        return datetime.fromtimestamp(stamp, UTC)
    return parse_timestamp(str(stamp), zone)
