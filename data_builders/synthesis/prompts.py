"""What a teacher is asked when it invents people and their conversations: own wording, versioned and hashed.

Annotation itself uses the extraction prompt (`runtime/extraction/prompts.py`), the very text that an extractor is
tuned under and asked with.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date

from engrain.runtime.bundle import text_hash

VERSION = "1"
_PLAN = """\
Invent two people who know each other and stay in touch by text messages, and what happens to them over {months} months.
Theme: {theme}. They live in {place}. First day: {first}.

Give each person a first name, an age, work, family, habits, tastes and one worry. Let tastes, plans and circumstances \
change: somebody moves, gives something up, is wrong about a date and corrects it. Events follow from each other.

Answer with one JSON object and nothing else:
{{"people":[{{"name":"","about":""}},{{"name":"","about":""}}],"events":[{{"date":"YYYY-MM-DD","who":"","what":""}}]}}
Exactly two people. {events} events, in order of their dates, none before the first day; `who` is one of the names; \
`what` is one sentence with concrete names, places, numbers, reasons or aims."""

_SESSION = """\
Write the text messages that two people exchange on {day}.

{people}

What has happened so far, and is known to whoever it happened to:
{known}

About {turns} messages, by turns but not strictly. They talk as friends do: greetings, jokes, questions, asides. In \
between, each tells of what is new, some of it with the reason or the aim, some with a place or a relative time \
("last Friday", "in two weeks"). Nobody recites their life, and nothing contradicts the above unless it has changed.

Answer with one JSON object and nothing else: {{"turns":[{{"speaker":"","text":""}}]}}
`speaker` is one of the names."""

_THEMES = (
    "a shared hobby turned serious",
    "a new job in another town",
    "raising small children",
    "caring for an ageing parent",
    "building or repairing a house",
    "studying late in life",
    "training for a sporting event",
    "running a small shop",
    "a long illness and recovery",
    "growing food",
    "music made together",
    "learning a language",
    "a journey that is planned for long",
    "animals at home",
    "an old friendship after a quarrel",
    "volunteering",
    "a craft learned from a master",
    "a wedding in the family",
)
_PLACES = (
    "a harbour town",
    "a mountain village",
    "two suburbs of one large city",
    "different countries",
    "a university town",
    "the countryside",
    "an island",
    "a mining town that changes",
    "the same street",
    "cities a night train apart",
)
PROMPT_HASH = text_hash("synthesis", VERSION, _PLAN, _SESSION, *_THEMES, *_PLACES)
"""Hash of version, wording and the lists that are drawn from."""


def plan_prompt(rng: random.Random, first: date, sessions: int) -> str:
    """The request for people and events; theme, place and length are drawn with `rng`."""
    return _PLAN.format(
        months=max(2, sessions),
        theme=rng.choice(_THEMES),
        place=rng.choice(_PLACES),
        first=first.isoformat(),
        events=3 * sessions,
    )


def session_prompt(people: Sequence[tuple[str, str]], known: Sequence[str], day: date, turns: int) -> str:
    """The request for one dialogue. `people` are names and descriptions, `known` the dated events up to the day."""
    return _SESSION.format(
        day=f"{day.isoformat()}, a {day:%A}",
        people="\n".join(f"{name}: {about}" for name, about in people),
        known="\n".join(f"- {event}" for event in known) or "- nothing yet",
        turns=turns,
    )
