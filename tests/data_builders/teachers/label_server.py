"""A real HTTP server whose models answer as annotation teachers, by what the target says.

`prefer`, `plan`, `saw` and `thanks` in a target decide its type; `split` makes the model named `odd` disagree. A bad
answer can be scripted for a target and a model: `bad[model, word] = [answer, ...]` are given before the good one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "runtime" / "llm"))

from local_server import LocalServer, Service

TYPES = {
    "prefer": ("personal_semantic", True),
    "plan": ("prospective", True),
    "saw": ("autobiographical_episodic", False),
    "thanks": ("non_memory", False),
}


def target_of(content: str) -> str:
    """The target in a user message of a request or of a correction."""
    return content.rsplit("[TARGET]\nS1: ", 1)[1].splitlines()[0]


def good_answer(target: str, model: str = "m") -> dict[str, Any]:
    """What a careful teacher says of a target."""
    kind, admit = next((given for word, given in TYPES.items() if word in target.lower()), ("non_memory", False))
    if "split" in target and model == "odd":
        kind, admit = ("non_memory", False) if admit else ("personal_semantic", True)
    return {
        "primary_memory_type": kind,
        "context_dependency": "context_dependent" if "it" in target.split() else "self_contained",
        "candidate_memory": admit,
        "confidence": 0.9,
        "evidence": [target[:12].upper()],
        "reason": f"It says: {target}",
    }


class TeacherService(Service):
    """Answers by rule; remembers what it was asked of which target."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: dict[tuple[str, str], list[str]] = {}
        self.always: str | None = None
        self.finish: dict[str, str] = {}

    def completion(self, body: dict[str, Any], fault: dict[str, Any]) -> dict[str, Any]:
        """The envelope of an answer, its text by rule or as scripted."""
        document = super().completion(body, fault)
        target, model = target_of(body["messages"][-1]["content"]), body["model"]
        scripted = next((answers for (who, word), answers in self.bad.items() if who == model and word in target), [])
        text = scripted.pop(0) if scripted else self.always or json.dumps(good_answer(target, model))
        choice = document["choices"][0]
        choice["message"]["content"] = text
        choice["finish_reason"] = self.finish.pop(text, choice["finish_reason"])
        return document


class TeacherServer(LocalServer):
    """The server in a thread."""

    service: TeacherService

    def __init__(self) -> None:
        super().__init__()
        self.service = TeacherService()

    def asked(self, word: str) -> list[dict[str, Any]]:
        """The bodies of all requests about targets that hold a word."""
        return [body for body in self.service.bodies if word in target_of(body["messages"][-1]["content"])]
