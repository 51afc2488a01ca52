"""What readers and judges are told: own wording, named, versioned, hashed. A changed word is another run."""

from __future__ import annotations

from engrain.recipes.benchmarks.suites.suite import Question
from engrain.runtime.bundle import text_hash
from engrain.runtime.llm.chat import ChatMessage

VERSION = 1

READER = """\
You answer a question about someone's past conversations, from notes that were kept of them. Each note begins with the \
time at which it was said.
Rules:
- Use only the notes. When they do not hold the answer, say that it was not mentioned.
- Where notes contradict each other, the later one holds, unless the question asks how things were before.
- Never mention something that a note says was removed, cancelled or replaced, unless the question asks about it.
- Work out relative dates from the time of the note, and how long ago something was from the time of the question.
- Answer briefly: the fact itself, or the list that was asked for."""

JUDGE_ANSWER = """\
You grade an answer against a reference. The answer is right when it holds everything that the reference asks for, in \
whatever words; more detail does no harm, a contradiction does. A date or number must be the same, though its form may \
differ, and an amount of days, weeks or months may be off by one.
Reply with one word: yes when the answer is right, no when it is not."""

JUDGE_ABSTENTION = """\
You grade an answer to a question that the conversation cannot answer. The answer is right when it says that the \
information is missing, was not mentioned or cannot be known; it is wrong when it gives an answer nevertheless.
Reply with one word: yes when the answer is right, no when it is not."""

JUDGE_CRITERION = """\
You are given a response and a question about the response. Look only at what the response itself states: naming \
something as removed, past or unwanted is not the same as presenting it as current.
Reply with one word: yes or no."""

PROMPTS = {
    "reader": READER,
    "judge-answer": JUDGE_ANSWER,
    "judge-abstention": JUDGE_ABSTENTION,
    "judge-criterion": JUDGE_CRITERION,
}
PROMPT_HASH = {name: text_hash("benchmark-prompt", str(VERSION), name, text) for name, text in PROMPTS.items()}
"""Hash of a prompt's version and wording, by its name."""


def reader_messages(question: Question, context: str) -> tuple[ChatMessage, ...]:
    """The chat that asks for an answer from a packed context."""
    asked = f"Notes:\n{context or '(none)'}\n\nTime of the question: {question.asked_at:%Y-%m-%d %H:%M}\n"
    return _chat(READER, f"{asked}Question: {question.question}")


def answer_judge_messages(question: Question, answer: str) -> tuple[ChatMessage, ...]:
    """The chat that grades an answer against the reference, or against the silence of the conversation."""
    if question.abstention:
        return _chat(JUDGE_ABSTENTION, f"Question: {question.question}\nAnswer: {answer}")
    body = f"Question: {question.question}\nReference: {question.answer}\nAnswer: {answer}"
    return _chat(JUDGE_ANSWER, body)


def criterion_judge_messages(answer: str, criterion: str) -> tuple[ChatMessage, ...]:
    """The chat that asks one criterion of an answer (Memora)."""
    return _chat(JUDGE_CRITERION, f"Response:\n{answer}\n\nQuestion about the response: {criterion}")


def _chat(system: str, user: str) -> tuple[ChatMessage, ...]:
    return ChatMessage(role="system", content=system), ChatMessage(role="user", content=user)
