"""A model behind an OpenAI-compatible endpoint (vLLM, llama.cpp, a provider), as a generator of completions.

Why an answer ended is looked at before its text: one that ran out of tokens is returned as such and never bought
again on the same budget. What may pass (429, 5xx, dropped connections, unreadable answers) is tried again, after the
time that the server asks for.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Any

from engrain.runtime.errors import InputError, ModelServiceError
from engrain.runtime.extraction.extractor import Completion

_FATAL = {401: "the key is refused", 403: "the key may not use this model", 404: "no such model or path"}
_RETRIED = frozenset({408, 409, 425, 429})
_MAX_WAIT_S = 120.0
"""Longest wait that a Retry-After is honoured for: beyond it the answer counts as failed."""


class EndpointGenerator:
    """Answers conversations through `POST {base_url}/chat/completions`.

    `api_key_env` names the environment variable that holds the key; empty for a server that wants none. `max_tokens`
    is the budget of one answer (DimMem: 16,384) and `temperature` 0 as in the paper. `timeout_s` bounds one attempt.
    `concurrency` requests run at a time, each tried `attempts` times with waits that double from `backoff_s`. `extra`
    is added to every request body, as {"chat_template_kwargs": {"enable_thinking": False}} for Qwen3 on vLLM.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key_env: str = "OPENAI_API_KEY",
        max_tokens: int = 16_384,
        temperature: float = 0.0,
        timeout_s: float = 300.0,
        concurrency: int = 8,
        *,
        attempts: int = 5,
        backoff_s: float = 1.0,
        extra: dict[str, Any] | None = None,
    ) -> None:
        if min(max_tokens, concurrency, attempts) < 1 or timeout_s <= 0 or backoff_s < 0:
            raise InputError("max_tokens, concurrency, attempts and timeout_s must be positive, backoff_s at least 0")
        self.model = model
        self.concurrency, self.attempts, self.backoff_s = concurrency, attempts, backoff_s
        self._place = f"{model} at {base_url}"
        self._options: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature}
        if extra:
            self._options["extra_body"] = extra
        self._client = _client(base_url, _key(api_key_env), timeout_s)

    def generate(self, conversations: Sequence[list[dict[str, str]]]) -> list[Completion]:
        """One completion a conversation, in order; one that failed after all attempts has the reason `error`.

        Raises `ModelServiceError` when the service refuses the caller (401, 403, 404), or when nothing at all was
        answered.
        """
        if not conversations:
            return []
        with ThreadPoolExecutor(max_workers=min(self.concurrency, len(conversations))) as pool:
            pending = [pool.submit(self._complete, messages) for messages in conversations]
            try:
                answers = [future.result() for future in pending]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        if all(answer.finish_reason == "error" for answer in answers):
            raise ModelServiceError(f"{self._place} answered none of {len(answers)} requests: {answers[-1].error}")
        return answers

    def _complete(self, messages: list[dict[str, str]]) -> Completion:
        for attempt in range(1, self.attempts + 1):
            answer, wait = self._attempt(messages, attempt)
            if answer.finish_reason != "error":
                return answer
            if wait is None or wait > _MAX_WAIT_S or attempt == self.attempts:
                break
            time.sleep(wait)
        return Completion("", "error", f"{answer.error} (tried {attempt} times)")

    def _attempt(self, messages: list[dict[str, str]], attempt: int) -> tuple[Completion, float | None]:
        """One request: what came of it, and seconds to wait before another, or None when another is of no use."""
        import openai

        # Half of the waits is random, so that callers that failed together do not come back together.
        backoff = self.backoff_s * 2 ** (attempt - 1) * (0.5 + random.random() / 2)
        try:
            response = self._client.chat.completions.create(model=self.model, messages=messages, **self._options)
            return read_response(response), None
        except openai.APIStatusError as error:
            return self._refused(error, backoff)
        except (openai.APIConnectionError, openai.APIResponseValidationError) as error:
            return Completion("", "error", f"{type(error).__name__}: {error}"), backoff
        except (json.JSONDecodeError, _UnreadableError) as error:
            return Completion("", "error", f"an answer outside the protocol: {error}"), backoff

    def _refused(self, error: Any, backoff: float) -> tuple[Completion, float | None]:
        status = int(error.status_code)
        if status in _FATAL:
            raise ModelServiceError(f"{self._place}: HTTP {status}, {_FATAL[status]}: {error.message}") from error
        answer = Completion("", "error", f"HTTP {status}: {error.message}")
        if status in _RETRIED or status >= 500:
            return answer, max(backoff, retry_after(error.response.headers.get("retry-after"), time.time()))
        return answer, None


class _UnreadableError(Exception):
    """A response that decodes but is no chat completion."""


def read_response(response: Any) -> Completion:
    """A chat completion's text and why it ended. A filtered answer, and one without text, is an `error`."""
    try:
        choice = response.choices[0]
        reason, text = choice.finish_reason, choice.message.content
    except (AttributeError, IndexError, TypeError) as error:
        raise _UnreadableError(f"{error}: {str(response)[:200]}") from error
    if reason == "length":
        return Completion(text or "", "length")
    if reason == "content_filter":
        return Completion("", "error", "the service filtered the answer")
    if not isinstance(text, str):
        return Completion("", "error", f"the answer has no text (finish_reason {reason})")
    return Completion(text, "stop")


def retry_after(header: str | None, now: float) -> float:
    """Seconds that a Retry-After header asks for, as a number or an HTTP date; 0 when absent or unreadable."""
    if not header:
        return 0.0
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except (TypeError, ValueError):
        return 0.0


def _key(variable: str) -> str:
    if not variable:
        return "none"
    key = os.environ.get(variable, "")
    if not key:
        raise InputError(f"the environment variable {variable} is not set; put the key of the model service there")
    return key


def _client(base_url: str, key: str, timeout_s: float) -> Any:
    try:
        import openai
    except ImportError:
        raise InputError("an endpoint needs the openai client; run `pip install engrain[llm]`") from None
    # Retries are made here, where Retry-After and the kind of failure are looked at.
    return openai.OpenAI(base_url=base_url, api_key=key, timeout=timeout_s, max_retries=0)
