"""LoCoMo-style dialogues: a teacher invents two people and a dated graph of events, then writes their conversations.

Nothing is random but by seed: the same settings give the same requests, so that a run that was stopped finds its
answers in the ledger.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

from engrain.data_builders.synthesis.asking import Asked, ask
from engrain.data_builders.synthesis.prompts import plan_prompt, session_prompt
from engrain.data_builders.synthesis.rejects import Reject, SynthesisReject
from engrain.data_builders.synthesis.settings import StorySettings, TeacherAsking
from engrain.runtime.llm.chat import ModelClient
from engrain.runtime.schema import Role, Session, Turn

Progress = Callable[[int, int], None]
_FIRST = date(2025, 1, 6)
_LEAST_TURNS = 4


@dataclass(frozen=True)
class Story:
    """Two people and what happens to them, in order of dates."""

    id: str
    people: tuple[tuple[str, str], ...]
    events: tuple[tuple[date, str], ...]


def plan_messages(number: int, settings: StorySettings, seed: int) -> str:
    """The request for story `number`."""
    rng = random.Random(f"story/{seed}/{number}")
    return plan_prompt(rng, _FIRST + timedelta(days=rng.randrange(400)), settings.sessions)


def write_stories(
    client: ModelClient,
    settings: StorySettings,
    asking: TeacherAsking,
    *,
    seed: int,
    progress: Progress | None = None,
) -> tuple[list[Session], list[Reject]]:
    """The dialogues of all stories, in order, and what was refused on the way."""
    prompts = [(f"story-{number:05d}", plan_messages(number, settings, seed)) for number in range(settings.stories)]
    plans, rejects = ask(client, prompts, asking, temperature=asking.write_temperature, progress=progress)
    stories: list[Story] = []
    for answer in plans:
        read = _read(answer, read_story)
        stories.append(read) if isinstance(read, Story) else rejects.append(read)
    days = {story.id: session_days(story, settings.sessions) for story in stories}
    asked = {
        f"{story.id}/s{number:02d}": (story, day)
        for story in stories
        for number, day in enumerate(days[story.id], start=1)
    }
    prompts = [
        (name, session_prompt(story.people, _known(story, day), day, settings.turns))
        for name, (story, day) in asked.items()
    ]
    written, refused = ask(client, prompts, asking, temperature=asking.write_temperature, progress=progress)
    sessions: list[Session] = []
    for answer in written:
        story, day = asked[answer.id]
        said = _read(answer, partial(read_session, story=story, day=day))
        sessions.append(said) if isinstance(said, Session) else refused.append(said)
    return sessions, [*rejects, *refused]


def read_story(answer: Asked) -> Story:
    """Read a plan. Raises `ValueError` for one that contradicts itself."""
    document = _object(answer.text)
    people = tuple((str(one["name"]).strip(), str(one.get("about", "")).strip()) for one in document["people"])
    names = [name for name, _ in people]
    if len(people) != 2 or len(set(names)) != 2 or not all(names):
        raise ValueError(f"two people with two names are wanted, found {names}")
    events = tuple((date.fromisoformat(str(one["date"])), f"{one['who']}: {one['what']}") for one in document["events"])
    if not events:
        raise ValueError("no event")
    strange = [text for _, text in events if not any(name in text.partition(":")[0] for name in names)]
    if strange:
        raise ValueError(f"an event of somebody else: {strange[0][:80]}")
    if any(later < earlier for (earlier, _), (later, _) in pairwise(events)):
        raise ValueError("events are not in the order of their dates")
    return Story(answer.id, people, events)


def read_session(answer: Asked, story: Story, day: date) -> Session:
    """Read a dialogue. Raises `ValueError` for a stranger's message, an empty one or too few of them."""
    said = _object(answer.text)["turns"]
    names = [name for name, _ in story.people]
    texts = [(str(one["speaker"]).strip(), " ".join(str(one["text"]).split())) for one in said]
    strangers = sorted({speaker for speaker, _ in texts} - set(names))
    if strangers:
        raise ValueError(f"a message by {', '.join(strangers)}, who is not in the story")
    if len(texts) < _LEAST_TURNS or not all(text for _, text in texts):
        raise ValueError(f"{len(texts)} messages, or an empty one among them")
    start = datetime.combine(day, time(9 + len(answer.id) % 10, 15), tzinfo=UTC)
    turns = tuple(
        Turn(
            id=f"{answer.id}/t{place:03d}",
            session_id=answer.id,
            role=Role.USER if speaker == names[0] else Role.ASSISTANT,
            speaker=speaker,
            text=text,
            timestamp=start + timedelta(seconds=40 * place),
        )
        for place, (speaker, text) in enumerate(texts)
    )
    return Session(id=answer.id, started_at=start, turns=turns)


def session_days(story: Story, sessions: int) -> list[date]:
    """The days on which the two talk: spread over the events, each a day after one of them."""
    dates = [day for day, _ in story.events]
    places = [(number * len(dates)) // sessions + max(0, len(dates) // sessions - 1) for number in range(sessions)]
    return [dates[min(place, len(dates) - 1)] + timedelta(days=1 + number % 3) for number, place in enumerate(places)]


def _known(story: Story, day: date) -> list[str]:
    return [f"{when.isoformat()} {what}" for when, what in story.events if when <= day]


def _object(text: str) -> dict[str, Any]:
    """The JSON object in an answer, whatever stands around it."""
    start, end = text.find("{"), text.rfind("}")
    try:
        document = json.loads(text[start : end + 1], strict=False) if 0 <= start < end else None
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("no JSON object in the answer")
    return document


def _read(answer: Asked, read: Callable[[Asked], Any]) -> Any:
    """What `read` makes of an answer, or the reject that says why it makes nothing."""
    try:
        return read(answer)
    except json.JSONDecodeError as error:
        return Reject(id=answer.id, reason=SynthesisReject.MALFORMED, detail=str(error), raw=answer.text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        detail = f"{type(error).__name__}: {error}"
        return Reject(id=answer.id, reason=SynthesisReject.BAD_STORY, detail=detail, raw=answer.text)
