"""Memora in its published layout: `<split>/<persona>/conversations/session_NNNN.json`.

A session file holds `session_id`, `date` (a day), `persona`, `session_type`, `operation` and `conversation`, a list of
`turn`, `speaker` (`user_agent` or `ai_agent`), `message` and `share_memory`, the released gate label of user turns.

Memora gives no time of day. The n-th session of a persona's day starts at `start_hour` plus n times `session_gap`, in
the stated zone; its turns are 0.5 s apart. The order of sessions and turns is thereby that of the files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from engrain.data_builders.sources.dialogue import LabelledSession, SourceInfo, TurnLabel, role_of
from engrain.data_builders.sources.rows import parse_json
from engrain.runtime.errors import InputError
from engrain.runtime.schema import LabelSource, Role, Session, Turn
from engrain.runtime.timestamps import parse_zone, session_moments

ROLES: Mapping[str, Role] = {"user_agent": Role.USER, "ai_agent": Role.ASSISTANT}

_PLACES = ("", "data", "memora/data", "memora")
_FILE = re.compile(r"session_(\d+)\.json")
_SESSION_KEYS = frozenset({"session_id", "date", "persona", "conversation"})
_TURN_KEYS = frozenset({"turn", "speaker", "message", "share_memory"})
_KEEP = TurnLabel(keep=True, source=LabelSource.RELEASED)
_DROP = TurnLabel(keep=False, source=LabelSource.RELEASED)


def find_split(root: Path, split: str) -> Path | None:
    """The folder of a split below `root`, which may be the data folder, the repository or the folder above it."""
    candidates = (root / place / split for place in _PLACES)
    return next((folder for folder in candidates if any(folder.glob("*/conversations"))), None)


class MemoraSource:
    """One split of Memora, personas in alphabetical order, sessions by their number.

    Raises `InputError` when the split is not below `root` (naming what is there), or a persona is not in it.
    """

    def __init__(
        self,
        root: Path,
        split: str,
        *,
        time_zone: str = "UTC",
        start_hour: int = 8,
        session_gap: timedelta = timedelta(minutes=10),
        personas: Sequence[str] | None = None,
    ) -> None:
        folder = find_split(root, split)
        if folder is None:
            raise InputError(_missing_split(root, split))
        self.folder = folder
        self.split = split
        self.personas = _choose_personas(folder, personas)
        self.info = SourceInfo(
            name=f"memora-{split}",
            licence="Apache-2.0",
            citation="Memora: long-term memory evaluation with evolving personas, split " + split,
            roles=dict(ROLES),
            time_zone=time_zone,
        )
        self._zone = parse_zone(time_zone)
        self._start = time(start_hour, tzinfo=self._zone)
        self._gap = session_gap

    def sessions(self) -> Iterator[LabelledSession]:
        """Sessions with released labels on every user turn; `metadata` has what Memora says about each.

        Raises `InputError` at the first file that is cut, is not in the layout, or whose day is full.
        """
        good = 0
        for persona in self.personas:
            started: Counter[str] = Counter()
            for path in _session_files(self.folder / persona / "conversations"):
                raw = _read_session(path, good)
                yield self._session(raw, persona, path, started[str(raw["date"])])
                started[str(raw["date"])] += 1
                good += 1

    def _session(self, raw: dict[str, Any], persona: str, path: Path, ordinal: int) -> LabelledSession:
        session_id = f"{self.split}/{persona}/{path.stem}"
        started_at = self._started_at(raw["date"], ordinal, path)
        moments = session_moments(started_at, len(raw["conversation"]))
        turns, labels = [], {}
        for position, (given, moment) in enumerate(zip(raw["conversation"], moments, strict=True), start=1):
            turn = _turn(given, f"{session_id}/t{position:02d}", session_id, moment, path)
            turns.append(turn)
            if turn.role is Role.USER:
                labels[turn.id] = _KEEP if given["share_memory"] else _DROP
        session = Session(id=session_id, started_at=started_at, turns=tuple(turns))
        metadata = {key: raw.get(key) for key in ("session_id", "session_type", "operation", "operation_details")}
        return LabelledSession(session, persona, labels, {**metadata, "split": self.split})

    def _started_at(self, day: str, ordinal: int, path: Path) -> datetime:
        try:
            start = datetime.combine(date.fromisoformat(day), self._start)
            moment = session_moments(start, 2, ordinal * self._gap)[1]
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{path}: expected a date such as 2025-06-01, found {day!r}") from None
        if moment.date() != start.date():
            raise InputError(
                f"{path}: session {ordinal + 1} of {day} would start on the next day; lower the session gap or hour"
            )
        return moment


def _turn(given: dict[str, Any], turn_id: str, session_id: str, moment: datetime, path: Path) -> Turn:
    speaker = str(given["speaker"])
    role = ROLES.get(speaker) or role_of(speaker, ROLES, f"{path}, turn {given['turn']}")
    text = given["message"]
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{path}, turn {given['turn']}: the message is empty; remove the turn or mend the file")
    return Turn(id=turn_id, session_id=session_id, role=role, speaker=speaker, text=text, timestamp=moment)


def _read_session(path: Path, good: int) -> dict[str, Any]:
    try:
        raw = parse_json(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON ({error}); {good} sessions before it are good") from None
    _require_keys(raw, _SESSION_KEYS, path)
    if not isinstance(raw["conversation"], list) or not raw["conversation"]:
        raise InputError(f"{path}: expected `conversation` to be a list of turns, found {raw['conversation']!r:.60}")
    for number, turn in enumerate(raw["conversation"], start=1):
        _require_keys(turn, _TURN_KEYS, path, number)
    return raw  # type: ignore[no-any-return]


def _require_keys(value: Any, keys: frozenset[str], path: Path, turn: int | None = None) -> None:
    if isinstance(value, dict) and keys <= value.keys():
        return
    place = f"{path}" if turn is None else f"{path}, turn {turn}"
    found = ", ".join(sorted(value)) or "an empty object" if isinstance(value, dict) else type(value).__name__
    raise InputError(f"{place}: not Memora's layout; expected an object with {', '.join(sorted(keys))}; found {found}")


def _session_files(folder: Path) -> list[Path]:
    numbered = [(int(match[1]), path) for path in folder.iterdir() if (match := _FILE.fullmatch(path.name))]
    if not numbered:
        raise InputError(f"{folder}: expected session_NNNN.json files, found none")
    return [path for _, path in sorted(numbered)]


def _choose_personas(folder: Path, wanted: Sequence[str] | None) -> tuple[str, ...]:
    found = sorted(path.parent.name for path in folder.glob("*/conversations"))
    missing = sorted(set(wanted or ()) - set(found))
    if missing:
        raise InputError(f"{folder} has no persona {', '.join(missing)}; it has {', '.join(found)}")
    return tuple(found) if wanted is None else tuple(wanted)


def _missing_split(root: Path, split: str) -> str:
    if not root.is_dir():
        return f"{root} is not a folder; give the folder of Memora's data"
    folders = {path.parent.parent.name for place in _PLACES for path in (root / place).glob("*/*/conversations")}
    found = ", ".join(sorted(folders)) or "no split at all"
    return f"{root}: expected Memora's split as {split}/<persona>/conversations/session_NNNN.json, found {found}"
