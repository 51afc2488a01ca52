"""One HTTP exchange with an OpenAI-compatible endpoint: the answer, or one classified error. No retries here."""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from engrain.runtime.errors import InputError
from engrain.runtime.llm.chat import ChatAnswer
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.pricing import TOKENS_PER_MESSAGE, text_tokens

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

T = TypeVar("T")
# Kept of an unreadable body, and of a provider's message.
RAW_CHARACTERS = 65_536
MESSAGE_CHARACTERS = 400
OUT_OF_MONEY = "insufficient_quota"
# What decoding a body and looking into it raises when it is not what was expected; the last for thousands of brackets.
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
# A count of tokens beyond this, or below zero, is no count: it would wreck the sums of the ledger.
MOST_TOKENS = 1_000_000_000
# Seconds. A server that asks for a longer pause is out of use for this run: waiting on would look like a hang.
LONGEST_PAUSE_S = 3_600.0


_on_send: ContextVar[Callable[[], None] | None] = ContextVar("on_send", default=None)


async def _note_sending(request: Any) -> None:
    """Hook of the HTTP client, in the task that sends: calls `on_send` now, and again once the body is written."""
    on_send = _on_send.get()
    if on_send is None:
        return

    async def trace(event: str, info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_body.complete"):
            on_send()

    request.extensions["trace"] = trace
    on_send()


class Trouble(StrEnum):
    """How an exchange failed. The first five may pass and are tried again."""

    RATE_LIMITED = "rate_limited"
    SERVER = "server_error"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    MALFORMED = "malformed_body"
    REFUSED = "refused"
    UNUSABLE = "endpoint_unusable"

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self not in (Trouble.REFUSED, Trouble.UNUSABLE)


class ServiceError(Exception):
    """A failed exchange. `raw` is a body that was received and could not be read."""

    def __init__(
        self,
        trouble: Trouble,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        raw: str | None = None,
    ) -> None:
        super().__init__(message)
        self.trouble, self.message, self.status = trouble, message, status
        self.retry_after_s, self.raw = retry_after_s, raw


class Service:
    """An open connection pool to one endpoint. Belongs to the event loop that made it; use `async with`."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings, self._key = settings, settings.api_key()
        try:
            import openai
        except ImportError as error:
            raise InputError("calling a model needs the extra llm: pip install 'engrain[llm]'") from error
        self._openai = openai
        # At DEBUG the SDK logs whole requests, message text included.
        if logging.getLogger("openai").level == logging.NOTSET:
            logging.getLogger("openai").setLevel(logging.INFO)
        # Every request in flight may keep its connection; the SDK's default keeps a hundred.
        limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
            max_connections=settings.concurrency + 1, max_keepalive_connections=settings.concurrency + 1
        )
        self.sdk: AsyncOpenAI = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=settings.base_url,
            timeout=settings.timeout_s,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(limits=limits, event_hooks={"request": [_note_sending]}),
        )

    async def __aenter__(self) -> Service:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.sdk.close()

    async def chat(self, body: Mapping[str, Any], on_send: Callable[[], None] | None = None) -> ChatAnswer:
        """Send one chat completion; `ServiceError` when no answer comes back.

        `on_send` is called when the request has left: before its first one alone the SDK works for 0.2 s.
        """
        _on_send.set(on_send)
        start = time.monotonic()

        async def send() -> str:
            # The body goes as extra fields, which replace the typed ones: the SDK walks every typed value against its
            # annotations, an eighth of a call's CPU time.
            response = await self.sdk.chat.completions.with_raw_response.create(
                model=body["model"], messages=[], extra_body=body
            )
            return response.text

        raw = await self.exchange(send)
        return read_completion(raw, body, time.monotonic() - start)

    async def exchange(self, send: Callable[[], Awaitable[T]], timeout_s: float | None = None) -> T:
        """Await `send` within the time limit and turn every failure of the SDK into a `ServiceError`."""
        limit = timeout_s or self._settings.timeout_s
        try:
            async with asyncio.timeout(limit):
                return await send()
        except (TimeoutError, self._openai.APITimeoutError) as error:
            raise ServiceError(Trouble.TIMEOUT, f"no answer within {limit:g} s") from error
        except self._openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise ServiceError(Trouble.CONNECTION, self._clean(f"{type(cause).__name__}: {cause}")) from error
        except self._openai.APIStatusError as error:
            raise self._status_error(error) from error
        except self._openai.APIError as error:
            raise ServiceError(Trouble.MALFORMED, self._clean(str(error))) from error

    def _status_error(self, error: APIStatusError) -> ServiceError:
        status = error.status_code
        if status == 429:
            trouble = Trouble.UNUSABLE if error.code == OUT_OF_MONEY else Trouble.RATE_LIMITED
        elif status in (401, 403, 404):
            trouble = Trouble.UNUSABLE
        elif status == 408:
            trouble = Trouble.TIMEOUT
        elif status == 409 or status >= 500:
            trouble = Trouble.SERVER
        else:
            trouble = Trouble.REFUSED
        message = self._clean(f"HTTP {status}: {error.message}")
        wait = retry_after(error.response.headers, time.time())
        if wait is not None and wait > LONGEST_PAUSE_S:
            late = f"{message}; it asks to wait {wait / 3600:.1f} h (longest wait: {LONGEST_PAUSE_S / 3600:g} h)"
            return ServiceError(Trouble.UNUSABLE, f"{late}. Run again then: what is done is kept", status=status)
        return ServiceError(trouble, message, status=status, retry_after_s=wait)

    def _clean(self, message: str) -> str:
        return message.replace(self._key, "[key]")[:MESSAGE_CHARACTERS]


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server asks to wait, from `retry-after-ms` or `Retry-After` (seconds or a date)."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            return max(0.0, float(text) * scale)
        except ValueError:
            pass
        try:
            return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now)
        except ValueError:
            continue
    return None


def read_completion(raw: str, request_body: Mapping[str, Any], latency_s: float) -> ChatAnswer:
    """Read the envelope of a chat completion, not what the model wrote. Malformed: `ServiceError` with the body."""
    try:
        return completion_from(json.loads(raw), request_body, latency_s)
    except UNREADABLE as error:
        said = f"the body is not a chat completion ({type(error).__name__})"
        raise ServiceError(Trouble.MALFORMED, said, raw=raw[:RAW_CHARACTERS]) from error


def completion_from(document: Any, request_body: Mapping[str, Any], latency_s: float) -> ChatAnswer:
    """The answer in a decoded envelope; raises what indexing into something else raises."""
    choice = document["choices"][0]
    # Half a surrogate pair is valid JSON but cannot be stored: keep the rest of the answer.
    text = (choice["message"].get("content") or "").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    usage = document.get("usage") or {}
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    reported = all(isinstance(count, int) and 0 <= count <= MOST_TOKENS for count in (prompt, completion))
    if not reported:
        # Never nothing: an unreported answer still counts against the budgets.
        prompt = sum(TOKENS_PER_MESSAGE + text_tokens(message["content"]) for message in request_body["messages"])
        completion = text_tokens(text)
    return ChatAnswer(
        text,
        str(choice.get("finish_reason") or "unknown"),
        prompt_tokens=int(prompt or 0),
        completion_tokens=int(completion or 0),
        model=str(document.get("model") or request_body["model"]),
        latency_s=latency_s,
        usage_reported=reported,
    )
