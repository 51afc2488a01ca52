"""From what a caller hands to `Memory.add` to validated turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from engrain.runtime.bundle import text_hash
from engrain.runtime.errors import InputError
from engrain.runtime.schema import Role, Scope, Turn
from engrain.runtime.timestamps import MESSAGE_STEP, parse_timestamp

Messages = str | Mapping[str, Any] | Turn | Sequence[str | Mapping[str, Any] | Turn]

_KEYS = frozenset({"role", "content", "name", "timestamp", "id"})
_ID_LENGTH = 32
"""Hexadecimal digits of an id made here: 128 bits."""


def make_scope(user_id: str, agent_id: str | None = None, run_id: str | None = None) -> Scope:
    """Whose memory. Raises `InputError` for an id that is empty, not a string, or not valid Unicode."""
    named = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    for name, value in named.items():
        if value is not None or name == "user_id":
            check_identifier(name, value)
    return Scope(user_id=user_id, agent_id=agent_id, run_id=run_id)


def read_messages(
    messages: Messages, scope: Scope, session_id: str | None = None, timestamp: datetime | str | None = None
) -> list[Turn]:
    """Validated turns in the order given.

    A string is one user message. A message without a time comes 0.5 s after the one before it; the first takes
    `timestamp`, or now. Without `session_id` the session is the run, or the day of the message. A message without an
    id gets one from scope, session, time, role and text: the same message added twice is one, the same words at
    another time are another.

    Raises `InputError` naming the message (counted from 1) for an unknown role or key, an empty text, a time without
    a zone, text that is not valid Unicode, a session that contradicts the turn's own, or an id given twice.
    """
    if isinstance(messages, str | Mapping | Turn):
        items: list[object] = [messages]
    elif isinstance(messages, Iterable) and not isinstance(messages, bytes):
        items = list(messages)
    else:
        raise InputError(f"{type(messages).__name__} is no message; give a text, a message or a list of them")
    if not items:
        raise InputError("there are no messages to add; give a text, a message or a list of them")
    if session_id is not None:
        check_identifier("session_id", session_id)
    following = read_moment(timestamp, "timestamp") if timestamp is not None else datetime.now(UTC)
    turns: list[Turn] = []
    for number, item in enumerate(items, start=1):
        turn = _read(item, f"message {number}", scope, session_id, following)
        following = _after(turn.timestamp)
        turns.append(turn)
    _check_ids(turns)
    return turns


def read_moment(value: datetime | str, place: str) -> datetime:
    """An aware moment. Raises `InputError` for anything else, naming the place."""
    if isinstance(value, str):
        try:
            return _within_calendar(parse_timestamp(value, None), place)
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
    if not isinstance(value, datetime):
        raise InputError(f"{place}: {value!r} is no time; give a datetime with a time zone or an ISO text")
    if value.utcoffset() is None:
        raise InputError(
            f"{place}: {value.isoformat()} has no time zone; add one, as in datetime(..., tzinfo=timezone.utc)"
        )
    return _within_calendar(value, place)


def _within_calendar(moment: datetime, place: str) -> datetime:
    """Raises `InputError` for the first and last year, from which a step or a change of zone leaves the calendar."""
    if not datetime.min.year < moment.year < datetime.max.year:
        raise InputError(f"{place}: {moment.isoformat()} is too close to the end of the calendar; use years 2 to 9998")
    return moment


def check_text(text: object, place: str) -> str:
    """A text that is not empty and can be stored. Halves of one surrogate pair are joined.

    Raises `InputError` for anything else; a lone surrogate is named with its position.
    """
    if not isinstance(text, str):
        raise InputError(f"{place}: the text is {type(text).__name__}, not a string")
    if not text.strip():
        raise InputError(f"{place}: the text is empty; leave the message out")
    return _storable(text, place)


def check_identifier(name: str, value: object) -> None:
    """Raises `InputError`, naming the argument, for an id that is empty, no text or not valid Unicode."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} must be a text that is not empty; it is {value!r}")
    if _storable(value, name) != value:
        raise InputError(f"{name} holds surrogates; write its characters whole")


def _read(item: object, place: str, scope: Scope, session_id: str | None, moment: datetime) -> Turn:
    if isinstance(item, Turn):
        return _own_turn(item, place, session_id)
    if isinstance(item, str):
        item = {"role": "user", "content": item}
    if not isinstance(item, Mapping):
        raise InputError(f"{place}: {type(item).__name__} is no message; give a text, a mapping or a Turn")
    unknown = sorted(str(key) for key in item if key not in _KEYS)
    if unknown:
        raise InputError(f"{place}: unknown key {', '.join(unknown)}; known are {', '.join(sorted(_KEYS))}")
    role = _role(item.get("role", "user"), place)
    text = check_text(_content(item.get("content"), place), place)
    if item.get("timestamp") is not None:
        moment = read_moment(item["timestamp"], place)
    session = session_id or scope.run_id or f"day {moment.date().isoformat()}"
    return Turn(
        id=_identity(item.get("id"), place, scope, session, moment, role, text),
        session_id=session,
        role=role,
        speaker=_storable(str(item.get("name") or role.value), place),
        text=text,
        timestamp=moment,
    )


def _own_turn(turn: Turn, place: str, session_id: str | None) -> Turn:
    if session_id is not None and turn.session_id != session_id:
        raise InputError(f"{place}: the turn is of session '{turn.session_id}', not '{session_id}'")
    for name, value in (("id", turn.id), ("session_id", turn.session_id)):
        check_identifier(f"{place}: {name}", value)
    _within_calendar(turn.timestamp, place)
    return turn.model_copy(update={"text": check_text(turn.text, place), "speaker": _storable(turn.speaker, place)})


def _role(value: object, place: str) -> Role:
    try:
        return Role(str(value))
    except ValueError:
        known = ", ".join(role.value for role in Role)
        raise InputError(f"{place}: role {value!r} is unknown; it must be one of {known}") from None


def _content(content: object, place: str) -> object:
    """OpenAI's content: a string, or a list of parts of which only text parts can be remembered."""
    if not isinstance(content, list):
        return content
    texts: list[str] = []
    for part in content:
        if not isinstance(part, Mapping) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
            raise InputError(f"{place}: a content part of type {kind!r} cannot be remembered; give its text")
        texts.append(part["text"])
    return "\n".join(texts)


def _identity(given: object, place: str, scope: Scope, session: str, moment: datetime, role: Role, text: str) -> str:
    if given is not None:
        check_identifier(f"{place}: id", given)
        return str(given)
    owner = (scope.user_id, scope.agent_id or "", scope.run_id or "")
    when = moment.astimezone(UTC).isoformat(timespec="microseconds")
    return text_hash(*owner, session, when, role.value, text)[:_ID_LENGTH]


def _after(moment: datetime) -> datetime:
    """One step later in real time: adding to a zoned datetime would move its wall clock."""
    return (moment.astimezone(UTC) + MESSAGE_STEP).astimezone(moment.tzinfo)


def _check_ids(turns: Sequence[Turn]) -> None:
    seen: dict[str, Turn] = {}
    for number, turn in enumerate(turns, start=1):
        earlier = seen.setdefault(turn.id, turn)
        if earlier.text != turn.text:
            raise InputError(f"message {number}: the id '{turn.id}' was given to another message before it")


def _storable(text: str, place: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        try:
            joined.encode("utf-8")
        except UnicodeEncodeError as error:
            lone = f"U+{ord(joined[error.start]):04X}"
            raise InputError(f"{place}: character {error.start} is a lone surrogate ({lone}); remove it") from None
        return joined
    return text
