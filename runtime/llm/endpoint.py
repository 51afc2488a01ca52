"""The settings of one OpenAI-compatible endpoint, and its key, which only the environment holds."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any, Literal

from pydantic import Field, field_validator

from engrain.runtime.errors import InputError
from engrain.runtime.llm.chat import ChatRequest
from engrain.runtime.schema import Contract, Identifier

# What a server without keys is sent: the SDK insists on a value.
NO_KEY = "none"


class EndpointSettings(Contract):
    """Where a model is, what it costs and how hard it may be pressed."""

    name: Identifier = Field(description="Shown in reports and logs; a teacher's name unless the call gives another.")
    base_url: str = Field(description="http(s) address up to and with the version, such as https://host/v1.")
    model: Identifier
    identity: str = Field(
        default="",
        description="What stored answers are keyed by; empty: base_url. Set it for a server whose address changes.",
    )
    api_key_env: str = Field(default="", description="Environment variable that holds the key; empty: no key.")
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1, description="Prompt and answer tokens together.")
    window_s: float = Field(default=60.0, gt=0.0, description="Seconds that the two budgets call a minute.")
    concurrency: int = Field(default=16, ge=1, le=4096, description="Requests in flight at most.")
    timeout_s: float = Field(default=120.0, gt=0.0, description="Seconds for one attempt, answer included.")
    max_attempts: int = Field(default=6, ge=1, le=100, description="Sends of one request at most.")
    backoff_s: float = Field(
        default=1.0, ge=0.0, description="Seconds; the first wait is drawn below it, then doubled."
    )
    backoff_cap_s: float = Field(default=60.0, ge=0.0, description="Seconds; no wait is drawn above it.")
    usd_per_million_input: Decimal | None = Field(default=None, ge=0, description="USD; 0 is free, None unknown.")
    usd_per_million_output: Decimal | None = Field(default=None, ge=0, description="USD; 0 is free, None unknown.")
    batch_price_factor: Decimal = Field(default=Decimal(1), gt=0, le=1, description="Share of the price in a batch.")
    max_failure_share: float = Field(
        default=0.5, ge=0.0, le=1.0, description="The run stops when more of the last calls than this share failed."
    )
    failures_judged_over: int = Field(default=20, ge=1, description="Calls that the failure share looks back over.")
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    extra_body: dict[str, Any] = Field(
        default_factory=dict, description="Provider fields of every request; a request's own win."
    )

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError(f"{value!r} is not an address; write http://host:port/v1 or https://host/v1")
        return value.rstrip("/")

    @property
    def priced(self) -> bool:
        """Whether both prices are known; 0 counts as known."""
        return self.usd_per_million_input is not None and self.usd_per_million_output is not None

    def resolve(self, request: ChatRequest) -> ChatRequest:
        """The request as this endpoint receives it: its model and provider fields filled in."""
        return request.model_copy(
            update={"model": request.model or self.model, "extra_body": self.extra_body | request.extra_body}
        )

    def ledger_identity(self) -> str:
        """What stored answers are keyed by, apart from the request."""
        return self.identity or self.base_url

    def api_key(self) -> str:
        """The key from the environment; `InputError` names the variable when it is missing or empty."""
        if not self.api_key_env:
            return NO_KEY
        key = os.environ.get(self.api_key_env, "").strip()
        if not key:
            raise InputError(
                f"endpoint {self.name!r} needs an API key: set the environment variable {self.api_key_env} "
                "(keys are never read from a recipe)"
            )
        return key
