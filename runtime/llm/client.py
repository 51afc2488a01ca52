"""A model behind an OpenAI-compatible endpoint (vLLM, llama.cpp, a provider), as a generator of completions.

Rate limits, retries, the ledger and batches are those of every other paid call (`connect.open_client`). An answer that
ran out of tokens is handed on as such; what failed is handed on with the reason, is not stored, and is therefore sent
again when the same window is asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from engrain.runtime.errors import ModelServiceError
from engrain.runtime.extraction.extractor import Completion
from engrain.runtime.llm.blocking import answer_all
from engrain.runtime.llm.chat import Call, ChatMessage, ChatRequest, ModelClient, Outcome, Stage
from engrain.runtime.llm.connect import open_client
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Ledger

PAPER_MAX_TOKENS, PAPER_TEMPERATURE = 16_384, 0.0
"""DimMem's extraction calls."""


class EndpointGenerator:
    """Answers conversations through a client of any mode. `max_tokens` bounds one answer.

    `json_object` asks the server for a JSON object, where it knows that; a grammar of the server's own goes into the
    endpoint's `extra_body`, as does the switch for thinking.
    """

    def __init__(
        self,
        client: ModelClient,
        *,
        max_tokens: int = PAPER_MAX_TOKENS,
        temperature: float = PAPER_TEMPERATURE,
        json_object: bool = False,
    ) -> None:
        self.client, self.max_tokens, self.temperature, self.json_object = client, max_tokens, temperature, json_object

    @classmethod
    def open(
        cls,
        settings: EndpointSettings,
        ledger: Ledger | None = None,
        *,
        run: str = "extract",
        json_object: bool = False,
    ) -> Self:
        """A generator over a live endpoint; without a ledger, one in memory. The paper's budget and temperature."""
        return cls(open_client(settings, ledger=ledger or Ledger(None), run=run), json_object=json_object)

    def generate(self, conversations: Sequence[list[dict[str, str]]]) -> list[Completion]:
        """One completion a conversation, in order; one that failed after all attempts has the reason `error`.

        Raises `ModelServiceError` when the service cannot be used, or when nothing at all was answered.
        """
        if not conversations:
            return []
        outcomes = answer_all(self.client, [self._call(messages) for messages in conversations])
        answers = [read_outcome(outcome) for outcome in outcomes]
        if all(answer.finish_reason == "error" for answer in answers):
            name = self.client.name
            raise ModelServiceError(f"endpoint {name!r} answered none of {len(answers)} requests: {answers[-1].error}")
        return answers

    def _call(self, messages: list[dict[str, str]]) -> Call:
        request = ChatRequest(
            messages=tuple(ChatMessage.model_validate(message) for message in messages),
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            json_object=self.json_object,
        )
        return Call(request, Stage.EXTRACT)


def read_outcome(outcome: Outcome) -> Completion:
    """The completion that an outcome holds; why it ended is looked at before its text."""
    answer, failure = outcome.answer, outcome.failure
    if answer is None:
        said = f"{failure.kind}: {failure.message} (tried {failure.attempts} times)" if failure else "no answer"
        return Completion("", "error", said)
    if answer.truncated:
        return Completion(answer.text, "length")
    if answer.finish_reason == "content_filter":
        return Completion("", "error", "the service filtered the answer")
    if not answer.text:
        return Completion("", "error", f"the answer has no text (finish_reason {answer.finish_reason})")
    return Completion(answer.text, "stop")
