"""A teacher over real HTTP: it invents people, dialogues and records, and gets wrong what it is told to get wrong."""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The server of the tests of the model client.
sys.path.insert(0, str(Path(__file__).parents[2] / "runtime" / "llm"))

from local_server import LocalServer, Service

_LINE = re.compile(r"^\[(?P<stamp>[^\],]+), \w+\] (?P<number>\d+)\.(?P<speaker>[^:]+): (?P<text>.*)$", re.MULTILINE)
_PEOPLE = ("Ines", "Bruno")
Document = dict[str, Any]
Spoil = Callable[[Document], Any]


def _change(place: int, **changes: Any) -> Spoil:
    """Change one record; a key of `dimension` is changed there."""

    def spoil(answer: Document) -> Document:
        record = answer["memories"][place]
        for name, value in changes.items():
            (record if name in record else record["dimension"])[name] = value
        return answer

    return spoil


def _all_pronouns(answer: Document) -> Document:
    for number, record in enumerate(answer["memories"]):
        record["content"] = f"She keeps goat number {number}."
    return answer


def _repeat(answer: Document) -> Document:
    answer["memories"][1]["content"] = answer["memories"][0]["content"].upper()
    return answer


SPOILS: dict[str, Spoil] = {
    "as_is": lambda answer: answer,
    "malformed": lambda answer: "I would rather not say.",
    "cut": lambda answer: json.dumps(answer)[:-30],
    "empty": lambda answer: {"memories": []},
    "type": _change(1, memory_type="opinion"),
    "outside": _change(2, source_id=99),
    "overlap": _change(0, source_id=1),
    "time": _change(1, time="soon"),
    "relative": _change(1, content="Ines keeps goats since yesterday."),
    "unsupported": _change(1, location="Reykjavik harbour"),
    "pronoun": _change(1, content="He keeps goats in Porto."),
    "repeat": _repeat,
    "prose": lambda answer: f"Here you are:\n```json\n{json.dumps(answer)}\n```\nAnything else?",
    "mostly": _all_pronouns,
}
PLAN_SPOILS: dict[str, Spoil] = {
    "one_person": lambda plan: {**plan, "people": plan["people"][:1]},
    "not_json": lambda plan: "no",
    "disorder": lambda plan: {**plan, "events": plan["events"][::-1]},
    "stranger": lambda plan: {**plan, "events": [{**plan["events"][0], "who": "Zoe"}]},
}


class Teacher(Service):
    """Answers plans, dialogues and windows; with `spoils` one answer in two is spoilt, by the text of its request."""

    def __init__(self) -> None:
        super().__init__()
        self.spoils = False
        self.asked: Counter[str] = Counter()
        self.spoilt: Counter[str] = Counter()

    def completion(self, body: Document, fault: Document) -> Document:
        said = body["messages"][-1]["content"]
        kind = "plan" if said.startswith("Invent") else "session" if said.startswith("Write the text") else "window"
        self.asked[kind] += 1
        made = {"plan": _plan, "session": _dialogue, "window": _records}[kind](said)
        made = self._spoilt(kind, said, made) if self.spoils else made
        text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
        self.reply = text.replace("{marker}", "")
        return super().completion(body, fault)

    def _spoilt(self, kind: str, said: str, made: Document) -> Any:
        table = {"plan": PLAN_SPOILS, "window": SPOILS}.get(kind, {})
        draw = zlib.crc32(said.encode())
        if not table or (kind == "plan" and draw % 8):
            return made
        name = sorted(table)[draw // 8 % len(table)]
        if name == "overlap" and "Context only" not in said:
            return made
        self.spoilt[name] += 1
        return table[name](made)


def _plan(request: str) -> Document:
    start = re.search(r"First day: (\d{4})", request)
    theme = re.search(r"Theme: (.*?)\. They live in (.*?)\. First day: (.*?)\.", request)
    assert start is not None and theme is not None
    dates = [f"{int(start[1]) + 1}-{month:02d}-{day:02d}" for month in range(1, 7) for day in (3, 11, 25)]
    what = f"buys a boat, {theme[1]}, {theme[2]}, {theme[3]}"
    events = [{"date": date, "who": _PEOPLE[n % 2], "what": what} for n, date in enumerate(dates)]
    return {"people": [{"name": name, "about": what} for name in _PEOPLE], "events": events}


def _dialogue(request: str) -> Document:
    draw = zlib.crc32(request.encode()) % 100_000
    turns = []
    for number in range(40):
        text = f"I keep {number + 2} goats in Porto because my sister left me {draw} reasons, and I have more of them."
        turns.append({"speaker": _PEOPLE[number % 2], "text": text})
    return {"turns": turns}


def _records(window: str) -> Document:
    memories = []
    for found in _LINE.finditer(window.partition("New messages:")[2] or window):
        content = f"{found['speaker']} keeps goats in Porto, as message {found['number']} says."
        dimension = {"memory_type": "fact", "time": found["stamp"][:10], "location": "Porto", "keywords": ["goats"]}
        memories.append({"source_id": int(found["number"]), "content": content, "dimension": dimension})
    return {"memories": memories}


def teacher_server() -> tuple[LocalServer, Teacher]:
    """A server, not started, and the teacher behind it."""
    server, teacher = LocalServer(), Teacher()
    server.service = teacher
    return server, teacher
