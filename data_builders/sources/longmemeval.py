"""LongMemEval in its published layout: a JSON list of items, each a question with a haystack of sessions of its own.

An item holds `question_id`, `question_type`, `question`, `question_date`, `answer`, `answer_session_ids`, and side by
side `haystack_session_ids`, `haystack_dates` and `haystack_sessions`; turns have `role`, `content` and, on evidence,
`has_answer`. Dates are local times without a zone, which is therefore stated by the caller. Turns of a session are
0.5 s apart. Items whose id ends in `_abs` have no answer in their haystack. The S, M and oracle files are all read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from engrain.data_builders.sources.dialogue import LabelledSession, SourceInfo
from engrain.data_builders.sources.json_files import json_rows
from engrain.data_builders.sources.rows import Row
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Contract, Role, Session, Turn
from engrain.runtime.timestamps import parse_timestamp, parse_zone, session_moments

ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
ABSTENTION = "_abs"


class _Given(BaseModel):
    """A part of the published layout; what else the file holds is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Turn(_Given):
    role: Literal["user", "assistant"]
    content: str
    has_answer: bool | None = None


class _Item(_Given):
    question_id: str = Field(min_length=1)
    question_type: str
    question: str = Field(min_length=1)
    question_date: str
    answer: str | int | float
    answer_session_ids: tuple[str, ...]
    haystack_session_ids: tuple[str, ...]
    haystack_dates: tuple[str, ...]
    haystack_sessions: tuple[tuple[_Turn, ...], ...]


class LongMemEvalQuestion(Contract):
    """One item's question. `evidence` holds ids of sessions, `evidence_turns` ids of turns marked `has_answer`."""

    id: str
    question: str
    question_type: str
    asked_at: AwareDatetime
    answer: str
    evidence: tuple[str, ...] = Field(description="Ids of the answer's sessions, in the form of `Session.id`.")
    evidence_turns: tuple[str, ...]
    abstention: bool = Field(description="The haystack has no answer; saying so is right.")


class LongMemEvalSource:
    """Items of one file, read one after the other; an item is one person's memory.

    Session ids are `<question_id>/<session id>`, turn ids add the turn's number. Empty turns, of which the published
    file has some, are left out and counted in `empty_turns`. Raises `InputError` for a file that is missing, cut or in
    another layout, naming the item.
    """

    def __init__(self, path: Path, *, time_zone: str = "UTC", items: Sequence[str] | None = None) -> None:
        self.path = path
        self.info = SourceInfo(
            name="longmemeval",
            licence="MIT",
            citation="Wu et al. 2025, LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory",
            roles=dict(ROLES),
            time_zone=time_zone,
        )
        self.empty_turns = 0
        self._zone = parse_zone(time_zone)
        self._items = None if items is None else frozenset(items)

    def sessions(self) -> Iterator[LabelledSession]:
        """Sessions, item by item, in order of time; there are no gate labels."""
        for _, sessions in self.items():
            yield from sessions

    def questions(self) -> Iterator[LongMemEvalQuestion]:
        """The question of every item."""
        for question, _ in self.items():
            yield question

    def items(self) -> Iterator[tuple[LongMemEvalQuestion, tuple[LabelledSession, ...]]]:
        """Every chosen item: its question and its sessions in order of time."""
        for row in json_rows(self.path):
            given = _read(row)
            if self._items is None or given.question_id in self._items:
                yield self._item(given, row)

    def _item(self, given: _Item, row: Row) -> tuple[LongMemEvalQuestion, tuple[LabelledSession, ...]]:
        item = given.question_id
        sessions, marked = [], []
        names: set[str] = set()
        haystack = zip(given.haystack_session_ids, given.haystack_dates, given.haystack_sessions, strict=True)
        # A session may stand in a haystack twice, under two dates: each is a session of its own.
        for number, (name, date, turns) in enumerate(haystack):
            session_id = f"{item}/{name}" if name not in names else f"{item}/{name}#{number}"
            names.add(name)
            session, evidence = self._session(session_id, self._moment(date, row, item), turns)
            if session is not None:
                sessions.append(LabelledSession(session, item))
            marked += evidence
        question = LongMemEvalQuestion(
            id=item,
            question=given.question,
            question_type=given.question_type,
            asked_at=self._moment(given.question_date, row, item),
            answer=str(given.answer),
            evidence=tuple(f"{item}/{name}" for name in given.answer_session_ids),
            evidence_turns=tuple(marked),
            abstention=item.endswith(ABSTENTION),
        )
        return question, tuple(sorted(sessions, key=lambda one: one.session.started_at))

    def _session(
        self, session_id: str, started_at: datetime, given: Sequence[_Turn]
    ) -> tuple[Session | None, list[str]]:
        """The session, or None when no turn of it has text; and its turns marked `has_answer`."""
        turns, marked = [], []
        moments = session_moments(started_at, len(given))
        for number, (one, moment) in enumerate(zip(given, moments, strict=True), start=1):
            text = one.content.strip()
            if not text:
                self.empty_turns += 1
                continue
            turn_id = f"{session_id}/t{number:03d}"
            marked += [turn_id] if one.has_answer else []
            own = {"id": turn_id, "session_id": session_id, "role": ROLES[one.role], "speaker": one.role}
            turns.append(Turn(**own, text=text, timestamp=moment))
        if not turns:
            return None, []
        return Session(id=session_id, started_at=started_at, turns=tuple(turns)), marked

    def _moment(self, text: str, row: Row, item: str) -> datetime:
        try:
            return parse_timestamp(text, self._zone)
        except InputError as error:
            raise row.fault(f"item {item}: {error}") from None


def _read(row: Row) -> _Item:
    """The item in its layout, its three lists of one length."""
    value = row.fields("LongMemEval")
    try:
        item = _Item.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise row.fault(f"not LongMemEval's layout; {place}: {first['msg']}") from None
    sizes = {len(item.haystack_session_ids), len(item.haystack_dates), len(item.haystack_sessions)}
    if len(sizes) > 1:
        raise row.fault(f"item {item.question_id}: the haystack's three lists differ in length; fetch the file again")
    return item
