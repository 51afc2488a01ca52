"""Tiny benchmarks in their published layouts, and a scripted reader and judge behind a real HTTP server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# The server that the model client is tested with; importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parents[2] / "runtime" / "llm"))

from local_server import LocalServer

# What the reader is scripted to answer, and the criteria that the judge then finds satisfied; hand-counted in
# test_bench.py.
ANSWERS = {
    "What is on my list?": "Buy oats. Sell the piano.",
    "What was removed?": "The tulips are still planned.",
    "Who leads the choir?": "Ingrid leads it.",
    "How is the weather in general?": "Fine.",
    "Which films do I like?": "Playtime and Stalker, and Jaws.",
}


def criterion(kind: str, text: str, number: int) -> dict[str, str]:
    presence = kind == "memory_presence"
    return {
        "evaluation_question_id": f"{kind}-{number}-{text}",
        "evaluation_question": f"Does the response mention {text}?",
        "expected_answer": "yes" if presence else "no",
        "evaluation_type": kind,
    }


def question(number: int, text: str, present: list[str], gone: list[str]) -> dict[str, Any]:
    criteria = [criterion("memory_presence", value, number) for value in present]
    criteria += [criterion("forgetting_absence", value, number) for value in gone]
    return {
        "question_id": f"q{number}",
        "question": text,
        "question_date": "2025-06-07",
        "memory_evidence": {"items": [{"value": value, "session_id": 1} for value in present]},
        "forgetting_evidence": {"forgotten_items": [{"value": value, "session_id": 2} for value in gone]},
        "evaluation": {"evaluation_questions": criteria},
    }


PERSONAS = {
    "ada": [
        question(1, "What is on my list?", ["oats", "saddle"], ["rhubarb"]),
        question(2, "What was removed?", [], ["tulips"]),
    ],
    "bo": [
        question(3, "Who leads the choir?", ["Ingrid"], []),
        question(4, "How is the weather in general?", [], []),
        question(5, "Which films do I like?", ["Playtime", "Stalker"], ["Jaws", "Alien"]),
    ],
}
SAID = {
    "ada": (
        ["Put oats and a saddle on my list.", "Put tulips and rhubarb on it."],
        ["Take tulips and rhubarb off it."],
    ),
    "bo": (["Ingrid leads the choir. I like Playtime and Stalker."], ["Forget Jaws and Alien, I hate them now."]),
}


@pytest.fixture
def memora(tmp_path: Path) -> Path:
    """Two personas of a weekly split; returns the root."""
    root = tmp_path / "memora"
    for persona, questions in PERSONAS.items():
        folder = root / "data" / "weekly" / persona
        (folder / "conversations").mkdir(parents=True)
        for number, turns in enumerate(SAID[persona], start=1):
            conversation = []
            for text in turns:
                place = len(conversation)
                conversation += [
                    {"turn": place, "speaker": "user_agent", "message": text, "share_memory": True},
                    {"turn": place + 1, "speaker": "ai_agent", "message": "Noted.", "share_memory": False},
                ]
            session = {
                "session_id": number,
                "date": f"2025-06-0{number}",
                "persona": persona,
                "session_type": "todo",
                "operation": "add",
                "conversation": conversation,
            }
            (folder / "conversations" / f"session_{number:04d}.json").write_text(json.dumps(session))
        document = {"persona": persona, "questions": {"remembering": questions}}
        (folder / f"evaluation_questions_{persona}.json").write_text(json.dumps(document))
    return root


@pytest.fixture
def longmemeval(tmp_path: Path) -> Path:
    """Two items, one of them an abstention; returns the file."""
    sessions = [
        [{"role": "user", "content": "My bike is green.", "has_answer": True}, {"role": "assistant", "content": "Ok."}],
        [{"role": "user", "content": "I ate soup."}, {"role": "assistant", "content": "Good."}],
    ]
    items = []
    for name, asked, answer in (
        ("a1", "What colour is my bike?", "green"),
        ("a2_abs", "How old is my cat?", "unknown"),
    ):
        items.append(
            {
                "question_id": name,
                "question_type": "single-session-user",
                "question": asked,
                "question_date": "2023/05/20 (Sat) 02:21",
                "answer": answer,
                "answer_session_ids": ["s1"],
                "haystack_session_ids": ["s1", "s2"],
                "haystack_dates": ["2023/05/01 (Mon) 10:00", "2023/05/02 (Tue) 10:00"],
                "haystack_sessions": sessions,
            }
        )
    file = tmp_path / "longmemeval.json"
    file.write_text(json.dumps(items))
    return file


def scripted(body: dict[str, Any]) -> str:
    """The reader's answer by question; the judge's yes where the response holds the criterion's word."""
    asked = body["messages"][-1]["content"]
    if "Question about the response:" in asked:
        response, _, wanted = asked.partition("Question about the response:")
        word = wanted.removeprefix(" Does the response mention ").removesuffix("?")
        return "yes" if word.lower() in response.lower() else "Let me see.\nNo."
    if "Reference: " in asked or asked.startswith("Question: "):
        return "yes" if "Answer: It is green." in asked or "Answer: That was not mentioned." in asked else "no"
    line = asked.rsplit("Question: ", 1)[-1]
    longmemeval = {"What colour is my bike?": "It is green.", "How old is my cat?": "That was not mentioned."}
    return {**ANSWERS, **longmemeval}[line]


@pytest.fixture
def model_server() -> Iterator[LocalServer]:
    """A server whose reader and judge follow the script; `script` may be replaced."""
    with LocalServer() as server:
        plain = server.service.completion
        server.service.script = scripted  # type: ignore[attr-defined]

        def completion(body: dict[str, Any], fault: dict[str, Any]) -> dict[str, Any]:
            server.service.reply = server.service.script(body)  # type: ignore[attr-defined]
            return plain(body, fault)

        server.service.completion = completion  # type: ignore[method-assign]
        yield server


@pytest.fixture
def endpoint(model_server: LocalServer) -> Callable[[str], dict[str, Any]]:
    """Settings of the scripted server under a name, as a recipe writes them."""

    def make(name: str) -> dict[str, Any]:
        return {
            "name": name,
            "base_url": model_server.url,
            "model": name,
            "backoff_s": 0.01,
            "max_attempts": 2,
            "usd_per_million_input": 1,
            "usd_per_million_output": 2,
        }

    return make
