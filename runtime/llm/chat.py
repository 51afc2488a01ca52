"""What is asked of a model and what comes back: requests with a stable hash, answers, calls and their outcomes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol

from pydantic import Field, field_validator

from engrain.runtime.schema import Contract

# Part of the hash: raise it when the meaning of a field changes, and every answer is bought again.
HASH_VERSION = 1
# What two identical purchases may differ in: none of it reaches the model. Fields of `EndpointSettings` and `Call`;
# a test asserts that every field of both is either in the hashed body or named here.
NOT_HASHED = (
    "name",
    "base_url",  # through `identity`, which defaults to it
    "api_key_env",
    "requests_per_minute",
    "tokens_per_minute",
    "window_s",
    "concurrency",
    "timeout_s",
    "max_attempts",
    "backoff_s",
    "backoff_cap_s",
    "usd_per_million_input",
    "usd_per_million_output",
    "batch_price_factor",
    "max_failure_share",
    "failures_judged_over",
    "stage",
    "teacher",
    "tag",
)


class Stage(StrEnum):
    """What a call is bought for; cost is reported by it."""

    LABEL = "label"
    SYNTHESIZE = "synthesize"
    EXTRACT = "extract"
    CONSOLIDATE = "consolidate"
    PARSE = "parse"
    ANSWER = "answer"
    JUDGE = "judge"


class ChatMessage(Contract):
    """One message of the conversation that the model continues."""

    role: Literal["system", "user", "assistant"]
    content: str

    @field_validator("content")
    @classmethod
    def _sendable(cls, value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"character {error.start} is half of a surrogate pair; repair the text's decoding"
            ) from error
        return value


class ChatRequest(Contract):
    """A chat completion request. Optional fields that are None are not sent and leave the hash alone."""

    messages: tuple[ChatMessage, ...] = Field(min_length=1)
    model: str = Field(default="", description="Empty: the endpoint's model.")
    temperature: float | None = Field(default=0.0, ge=0.0, le=2.0)
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    max_tokens: int | None = Field(default=None, ge=1, description="Tokens of the answer at most.")
    seed: int | None = None
    json_object: bool = Field(default=False, description="Ask for response_format json_object.")
    extra_body: dict[str, Any] = Field(
        default_factory=dict, description="Provider fields sent as they are, such as a switch for thinking."
    )
    draw: int = Field(default=0, ge=0, description="Tells repeated samples of one request apart; hashed, never sent.")

    def body(self, max_tokens_field: str = "max_tokens") -> dict[str, Any]:
        """The JSON body of the HTTP request. `extra_body` wins over a field of the same name."""
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "temperature": self.temperature,
            "top_p": self.top_p,
            max_tokens_field: self.max_tokens,
            "seed": self.seed,
            "response_format": {"type": "json_object"} if self.json_object else None,
        }
        return {name: value for name, value in fields.items() if value is not None} | self.extra_body


def request_hash(body: dict[str, Any], identity: str, draw: int = 0) -> str:
    """SHA-256, as hex, of everything that decides the answer: the endpoint's identity, the wire body, the draw."""
    document = {"version": HASH_VERSION, "endpoint": identity, "body": body, "draw": draw}
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A model's answer. Look at `truncated` before parsing `text`.

    `usage_reported` is False where the server sent no usage and the token counts are estimates.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    model: str
    latency_s: float
    usage_reported: bool = True

    @property
    def truncated(self) -> bool:
        """Whether the answer hit the token limit: asking again with the same limit buys the same cut."""
        return self.finish_reason == "length"


@dataclass(frozen=True, slots=True)
class Call:
    """A request and its account. `tag` is handed back untouched: the caller's own key for the request."""

    request: ChatRequest
    stage: Stage
    teacher: str = ""
    tag: Any = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call ended without an answer. It is not stored as done: the next run tries again."""

    kind: str
    message: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call: exactly one of `answer` and `failure` is set."""

    call: Call
    request_hash: str
    answer: ChatAnswer | None = None
    failure: Failure | None = None
    reused: bool = False


class ModelClient(Protocol):
    """One endpoint in one of the modes: online, batch or replay."""

    @property
    def name(self) -> str:
        """The endpoint's name."""
        ...

    def run(self, calls: Iterable[Call]) -> AsyncGenerator[Outcome, None]:
        """Answer every call, yielding outcomes as they complete, in any order.

        Who may stop early wraps it in `contextlib.aclosing`, which waits for what is in flight and keeps it.
        """
        ...
