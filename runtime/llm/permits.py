"""Permission to send a call now: room in the endpoint's budgets, then a claim in the ledger."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from engrain.runtime.llm import pricing
from engrain.runtime.llm.budget import EndpointLimits, Reservation
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import Grant, Ledger
from engrain.runtime.llm.prepare import Prepared

# A claim outlives the longest attempt by this many seconds; then another process may take the call over.
LEASE_SLACK_S = 60.0
# Seconds between looks at a call that another process, or an equal call of this one, is making.
HELD_POLL_S = (0.05, 2.0)


class Permits:
    """Hands out permissions in the order they are asked for. Belongs to one event loop."""

    def __init__(
        self, settings: EndpointSettings, ledger: Ledger, limits: EndpointLimits, budget_usd: Decimal | None
    ) -> None:
        self._settings, self._ledger, self._limits, self._budget = settings, ledger, limits, budget_usd
        self._turn = asyncio.Lock()
        self._settled = asyncio.Event()

    async def get(self, prepared: Prepared) -> tuple[Grant, Reservation | None]:
        """A granted claim with its reservation; or, without one, a stored answer or the open batch that holds it.

        Waits while the call is being made elsewhere, and while calls in flight may still leave room in the budget;
        `BudgetReachedError` when they cannot.
        """
        poll, longest = HELD_POLL_S
        while True:
            reservation = await self._room(prepared)
            if isinstance(reservation, Grant):
                return reservation, None
            self._settled.clear()
            grant = await self._claim(prepared, reservation)
            if grant.state == "granted":
                return grant, reservation
            self._give_back(reservation)
            if grant.state in ("stored", "batch"):
                return grant, None
            if grant.state == "over_budget":
                self._stop_if_spent(grant, prepared.price)
            await self._settlement(poll)
            poll = min(2 * poll, longest)

    def settle(self, reservation: Reservation, tokens: int) -> None:
        """A call has ended and used that many tokens."""
        self._limits.settle(reservation, tokens)
        self._settled.set()

    async def _room(self, prepared: Prepared) -> Reservation | Grant:
        """Capacity, first come first served; a stored answer need not wait for it."""
        if not self._turn.locked() and isinstance(now := self._limits.reserve(prepared.tokens), Reservation):
            return now
        key, endpoint = prepared.request_hash, prepared.account.endpoint
        found = await asyncio.wrap_future(self._ledger.find([key], endpoint))
        if key in found:
            return Grant("stored", answer=found[key])
        async with self._turn:
            while True:
                reservation = self._limits.reserve(prepared.tokens)
                if isinstance(reservation, Reservation):
                    return reservation
                self._settled.clear()
                await self._settlement(reservation)

    async def _claim(self, prepared: Prepared, reservation: Reservation) -> Grant:
        asked = self._ledger.claim(
            prepared.request_hash,
            prepared.account,
            lease_s=self._settings.timeout_s + LEASE_SLACK_S,
            price=prepared.price,
            budget=self._budget,
        )
        try:
            return await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            # Perhaps granted already: nothing was sent, so nothing is lost.
            self._ledger.release(prepared.request_hash, prepared.account)
            self._give_back(reservation)
            raise

    def _stop_if_spent(self, grant: Grant, price: Decimal) -> None:
        """Stop unless calls in flight may still give back enough of what they reserved."""
        assert self._budget is not None
        if grant.reserved == 0 or grant.spent + price > self._budget:
            raise pricing.BudgetReachedError(pricing.budget_message(grant.spent, grant.reserved, price, self._budget))

    async def _settlement(self, seconds: float) -> None:
        """Wait until a call of this session settles, which may free capacity, or for that long."""
        try:
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        except TimeoutError:
            pass

    def _give_back(self, reservation: Reservation) -> None:
        self._limits.cancel(reservation)
        self._settled.set()
