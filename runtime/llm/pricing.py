"""Tokens and money, before and after a call. Prices are Decimals: a sum of a million calls is exact."""

from __future__ import annotations

from decimal import Decimal

from engrain.runtime.errors import EngrainError, InputError
from engrain.runtime.llm.chat import ChatRequest
from engrain.runtime.llm.endpoint import EndpointSettings

MILLION = Decimal(1_000_000)
# No tokenizer is at hand for an arbitrary endpoint. Three UTF-8 bytes a token lies above what current tokenizers
# make of English (about 4.5 bytes a token) and of Chinese (3 bytes a character, under one token each).
BYTES_PER_TOKEN = 3
# Role markers and separators of the chat template.
TOKENS_PER_MESSAGE = 8
# Reserved for an answer whose length the request leaves open; only the token budget uses it, never money.
OPEN_ANSWER_TOKENS = 1024


class BudgetReachedError(EngrainError):
    """The next call could exceed `budget_usd`. Every answer bought so far is in the ledger."""


def text_tokens(text: str) -> int:
    """An upper estimate of the tokens of a text."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def prompt_tokens(request: ChatRequest) -> int:
    """An upper estimate of the prompt's tokens."""
    return sum(TOKENS_PER_MESSAGE + text_tokens(message.content) for message in request.messages)


def reserved_tokens(request: ChatRequest) -> int:
    """What a call is counted for until its usage is known: prompt estimate plus the longest answer."""
    return prompt_tokens(request) + (request.max_tokens or OPEN_ANSWER_TOKENS)


def price(settings: EndpointSettings, prompt: int, completion: int, factor: Decimal = Decimal(1)) -> Decimal | None:
    """USD of a call with these token counts; None where the endpoint's prices are unknown."""
    if settings.usd_per_million_input is None or settings.usd_per_million_output is None:
        return None
    cost = prompt * settings.usd_per_million_input + completion * settings.usd_per_million_output
    return cost * factor / MILLION


def highest_price(settings: EndpointSettings, request: ChatRequest, factor: Decimal = Decimal(1)) -> Decimal:
    """USD that a call can cost at most, as far as `prompt_tokens` is an upper bound; 0 where prices are unknown."""
    return price(settings, prompt_tokens(request), request.max_tokens or OPEN_ANSWER_TOKENS, factor) or Decimal(0)


def check_budget(settings: EndpointSettings, budget_usd: Decimal | None) -> None:
    """A budget needs prices: without them it would never stop anything."""
    if budget_usd is None:
        return
    if budget_usd < 0:
        raise InputError(f"budget_usd is {budget_usd}: write 0 or more")
    if not settings.priced:
        raise InputError(
            f"budget_usd is set, but endpoint {settings.name!r} has no prices: give usd_per_million_input and "
            "usd_per_million_output (0 for a free server)"
        )


def check_bounded(settings: EndpointSettings, request: ChatRequest, budget_usd: Decimal | None) -> None:
    """A request without `max_tokens` can cost anything, which a budget cannot cover."""
    if budget_usd is not None and request.max_tokens is None and settings.usd_per_million_output:
        raise InputError(
            f"budget_usd is set, but a request to endpoint {settings.name!r} has no max_tokens: its price has no bound"
        )


def budget_message(spent: Decimal, reserved: Decimal, needed: Decimal, budget: Decimal) -> str:
    """What `BudgetReachedError` says."""
    held = f", {reserved} reserved for calls in flight" if reserved else ""
    return (
        f"budget_usd {budget} is reached: {spent} USD spent{held}, and the next call can cost {needed}. "
        "Every answer so far is in the ledger; raise budget_usd and run again to continue"
    )
