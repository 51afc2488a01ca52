"""Answers and verdicts by any OpenAI-compatible model, through the ledger: nothing is bought twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engrain.recipes.benchmarks.pipeline import prompts
from engrain.recipes.benchmarks.pipeline.context import pack_tokens
from engrain.recipes.benchmarks.suites.suite import Question
from engrain.recipes.benchmarks.systems.system import Found
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, ChatRequest, ModelClient, Outcome, Stage

_WORD = re.compile(r"[a-z]+")
VERDICT_TOKENS = 512
"""Room for a judge that thinks before its one word."""


@dataclass(frozen=True)
class Answered:
    """An answer, or why there is none. `words` and `entries` say what the reader was given."""

    question: Question
    text: str | None
    failure: str
    entries: int
    words: int


@dataclass(frozen=True)
class Judged:
    """What one judge said about one answer, criterion by criterion where there are any.

    `verdicts` maps a criterion's id (`answer` where there is none) to True, False or None: unread.
    """

    question: Question
    judge: str
    verdicts: dict[str, bool | None]
    said: dict[str, str]


def answer(
    client: ModelClient,
    questions: Sequence[Question],
    rankings: Sequence[Sequence[Found]],
    *,
    context_tokens: int,
    max_tokens: int,
    draw: int = 0,
) -> list[Answered]:
    """One answer a question from its packed ranking. A failed call is an answer with its failure, never a wrong one."""
    packed = [pack_tokens(ranking, context_tokens) for ranking in rankings]
    calls = [
        Call(
            ChatRequest(messages=prompts.reader_messages(question, context.text), max_tokens=max_tokens, draw=draw),
            Stage.ANSWER,
        )
        for question, context in zip(questions, packed, strict=True)
    ]
    outcomes = answer_all(client, calls)
    return [
        Answered(question, _text(outcome), _failure(outcome), len(context.entries), context.words)
        for question, context, outcome in zip(questions, packed, outcomes, strict=True)
    ]


def judge(client: ModelClient, answers: Sequence[Answered], *, draw: int = 0) -> list[Judged]:
    """Verdicts of one judge on the answers there are; an answer that failed is not judged."""
    given = [one for one in answers if one.text is not None]
    asked = [(one, name, messages) for one in given for name, messages in _questions_about(one)]
    calls = [
        Call(ChatRequest(messages=messages, max_tokens=VERDICT_TOKENS, draw=draw), Stage.JUDGE)
        for _, _, messages in asked
    ]
    said: dict[str, dict[str, str]] = {one.question.id: {} for one in given}
    for (one, name, _), outcome in zip(asked, answer_all(client, calls), strict=True):
        said[one.question.id][name] = _text(outcome) or f"(no verdict: {_failure(outcome)})"
    return [
        Judged(one.question, client.name, {name: _reading(one, name, text) for name, text in words.items()}, words)
        for one, words in ((one, said[one.question.id]) for one in given)
    ]


def read_verdict(text: str) -> bool | None:
    """True for yes, False for no; None when the words are neither, or both.

    The last line decides, since some judges think aloud; else the whole text, when only one of the two words is in it.
    """
    lines = [line for line in text.strip().lower().splitlines() if line.strip()]
    for part in (lines[-1] if lines else "", text.lower()):
        found = {word for word in _WORD.findall(part) if word in ("yes", "no")}
        if len(found) == 1:
            return found == {"yes"}
    return None


def _questions_about(one: Answered) -> list[tuple[str, Any]]:
    """Criteria where there are any, else the reference; a question with neither has nothing to be asked."""
    text, question = one.text or "", one.question
    if not question.criteria and (question.answer or question.abstention):
        return [("answer", prompts.answer_judge_messages(question, text))]
    return [
        (criterion.id, prompts.criterion_judge_messages(text, criterion.question)) for criterion in question.criteria
    ]


def _reading(one: Answered, name: str, text: str) -> bool | None:
    """Whether the verdict counts for the answer: for a criterion, whether it is what satisfies it."""
    said = None if text.startswith("(no verdict") else read_verdict(text)
    wanted = {criterion.id: criterion.satisfied_by == "yes" for criterion in one.question.criteria}
    return said if said is None or name == "answer" else said == wanted[name]


def _text(outcome: Outcome) -> str | None:
    return outcome.answer.text if outcome.answer is not None else None


def _failure(outcome: Outcome) -> str:
    return f"{outcome.failure.kind}: {outcome.failure.message}" if outcome.failure is not None else ""
