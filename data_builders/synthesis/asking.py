"""One round of requests to a teacher: answers in order, and a reject for each that did not come or was cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engrain.data_builders.synthesis.rejects import Reject, SynthesisReject
from engrain.data_builders.synthesis.settings import TeacherAsking
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, ChatMessage, ChatRequest, ModelClient, Outcome, Stage

Prompt = str | Sequence[dict[str, str]]
"""A user message, or a whole conversation."""


@dataclass(frozen=True)
class Asked:
    """An answer that came whole, under the id of what was asked."""

    id: str
    text: str


def calls(prompts: Sequence[tuple[str, Prompt]], asking: TeacherAsking, *, temperature: float) -> list[Call]:
    """The requests of a round, in order."""
    return [
        Call(
            ChatRequest(messages=_messages(prompt), max_tokens=asking.max_tokens, temperature=temperature),
            Stage.SYNTHESIZE,
            tag=name,
        )
        for name, prompt in prompts
    ]


def ask(
    client: ModelClient,
    prompts: Sequence[tuple[str, Prompt]],
    asking: TeacherAsking,
    *,
    temperature: float,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Asked], list[Reject]]:
    """Ask everything. What failed is not in the ledger, so the next run asks it again."""
    answers: list[Asked] = []
    rejects: list[Reject] = []
    for outcome in answer_all(client, calls(prompts, asking, temperature=temperature), progress):
        reject = _reject(outcome)
        if reject is not None:
            rejects.append(reject)
        else:
            assert outcome.answer is not None
            answers.append(Asked(str(outcome.call.tag), outcome.answer.text))
    return answers, rejects


def _reject(outcome: Outcome) -> Reject | None:
    name, answer = str(outcome.call.tag), outcome.answer
    if answer is None:
        said = f"{outcome.failure.kind}: {outcome.failure.message}" if outcome.failure else ""
        return Reject(id=name, reason=SynthesisReject.NO_ANSWER, detail=said)
    if answer.truncated:
        return Reject(id=name, reason=SynthesisReject.CUT, detail="out of tokens", raw=answer.text)
    if answer.finish_reason == "content_filter":
        return Reject(id=name, reason=SynthesisReject.FILTERED, detail=answer.finish_reason, raw=answer.text)
    return None


def _messages(prompt: Prompt) -> tuple[ChatMessage, ...]:
    if isinstance(prompt, str):
        return (ChatMessage(role="user", content=prompt),)
    return tuple(ChatMessage.model_validate(message) for message in prompt)
