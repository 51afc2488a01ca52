"""A call made ready for one endpoint: resolved, hashed, counted and priced."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from engrain.runtime.llm import pricing
from engrain.runtime.llm.chat import Call, ChatRequest, request_hash
from engrain.runtime.llm.claims import Account
from engrain.runtime.llm.endpoint import EndpointSettings


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call as this endpoint receives it."""

    call: Call
    request: ChatRequest
    body: dict[str, Any]
    request_hash: str
    account: Account
    tokens: int
    price: Decimal


def prepare(settings: EndpointSettings, call: Call, run: str, factor: Decimal = Decimal(1)) -> Prepared:
    """Resolve, hash and price a call."""
    request = settings.resolve(call.request)
    body, identity = request.body(settings.max_tokens_field), settings.ledger_identity()
    account = Account(identity, settings.name, call.stage.value, call.teacher or settings.name, run)
    return Prepared(
        *(call, request, body, request_hash(body, identity, request.draw), account),
        tokens=pricing.reserved_tokens(request),
        price=pricing.highest_price(settings, request, factor),
    )
