"""The project's own JSONL form: one session a line, gate labels on user turns. The shipped corpus is written in it.

{"session_id": …, "user_id": …, "started_at": …, "turns": [
  {"id": …, "role": "user", "speaker": …, "text": …, "timestamp": …,
   "gate": {"keep": true, "reason": …, "memory_type": …, "context_dependence": …}}, …]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from itertools import pairwise
from pathlib import Path
from typing import Any

from engrain.data_builders.sources.chat import FORMS
from engrain.data_builders.sources.dialogue import LabelledSession, SourceInfo, TurnLabel, role_of
from engrain.data_builders.sources.json_files import read_rows
from engrain.runtime.errors import InputError
from engrain.runtime.schema import (
    AuxiliaryType,
    ContextDependence,
    Contract,
    Identifier,
    LabelSource,
    Role,
    Session,
    Text,
    Turn,
)
from engrain.runtime.timestamps import parse_timestamp

DEFAULT_ROLES: Mapping[str, Role] = {role.value: role for role in Role}


class _GateRow(Contract):
    keep: bool
    reason: str = ""
    memory_type: AuxiliaryType | None = None
    context_dependence: ContextDependence | None = None


class _TurnRow(Contract):
    id: Identifier
    role: Identifier
    speaker: str = ""
    text: Text
    timestamp: Identifier
    gate: _GateRow | None = None


class _SessionRow(Contract):
    session_id: Identifier
    user_id: Identifier
    started_at: Identifier | None = None
    turns: tuple[_TurnRow, ...]


class JsonlSource:
    """Sessions from one JSONL file.

    `zone` is for files whose times have no offset; without it such a time is an error. `roles` maps the file's role
    words to roles. `label_source` says where the file's gate labels come from.
    """

    def __init__(
        self,
        path: Path,
        *,
        info: SourceInfo | None = None,
        zone: tzinfo | None = None,
        roles: Mapping[str, Role] = DEFAULT_ROLES,
        label_source: LabelSource = LabelSource.AUTHORED,
    ) -> None:
        self.path = path
        self.info = info or SourceInfo(
            name=path.stem, licence="as its owner states", citation="", roles=dict(roles), time_zone=_zone_name(zone)
        )
        self._zone = zone
        self._roles = roles
        self._label_source = label_source

    def sessions(self) -> Iterator[LabelledSession]:
        """Sessions in file order. Raises `InputError` with file, line and the number of good rows before it."""
        seen: set[tuple[str, str]] = set()

        def build(value: Any) -> LabelledSession:
            if isinstance(value, dict) and not FORMS.keys().isdisjoint(value):
                raise InputError("a chat in the OpenAI or ShareGPT form; read it as `chat` (--format chat)")
            labelled = self._session(_SessionRow.model_validate(value))
            _refuse_repeats(labelled.session, seen)
            return labelled

        return read_rows(self.path, build)

    def _session(self, row: _SessionRow) -> LabelledSession:
        if not row.turns:
            raise InputError(f"session '{row.session_id}' has no turns")
        turns = tuple(self._turn(turn, row.session_id) for turn in row.turns)
        for before, after in pairwise(turns):
            if after.timestamp <= before.timestamp:
                raise InputError(f"turn '{after.id}' is not later than '{before.id}', the turn before it")
        started_at = parse_timestamp(row.started_at, self._zone) if row.started_at else turns[0].timestamp
        session = Session(id=row.session_id, started_at=started_at, turns=turns)
        return LabelledSession(session, row.user_id, dict(self._labels(row, turns)))

    def _turn(self, row: _TurnRow, session_id: str) -> Turn:
        return Turn(
            id=row.id,
            session_id=session_id,
            role=role_of(row.role, self._roles, f"turn '{row.id}'"),
            speaker=row.speaker,
            text=row.text,
            timestamp=self._moment(row),
        )

    def _moment(self, row: _TurnRow) -> datetime:
        try:
            return parse_timestamp(row.timestamp, self._zone)
        except InputError as error:
            raise InputError(f"turn '{row.id}': {error}") from None

    def _labels(self, row: _SessionRow, turns: tuple[Turn, ...]) -> Iterator[tuple[str, TurnLabel]]:
        for given, turn in zip(row.turns, turns, strict=True):
            if given.gate is None:
                continue
            if turn.role is not Role.USER:
                raise InputError(f"turn '{turn.id}' has a gate label but is not a user's")
            yield (
                turn.id,
                TurnLabel(
                    keep=given.gate.keep,
                    source=self._label_source,
                    reason=given.gate.reason,
                    auxiliary_type=given.gate.memory_type,
                    context_dependence=given.gate.context_dependence,
                ),
            )


def _refuse_repeats(session: Session, seen: set[tuple[str, str]]) -> None:
    for key in (("session", session.id), *(("turn", turn.id) for turn in session.turns)):
        if key in seen:
            raise InputError(f"the {key[0]} id '{key[1]}' was used before; ids must be unique in the file")
        seen.add(key)


def _zone_name(zone: tzinfo | None) -> str:
    return "stated" if zone is None else str(zone)
