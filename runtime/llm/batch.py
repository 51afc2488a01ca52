"""The provider's Batch API behind the same interface: cheaper, slower, resumable after a kill at any step.

Every step ends with an event in the ledger, and the only step that costs money, creating the batch, is preceded on
resumption by a look for a batch with the same input file: one is never bought twice.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager
from decimal import Decimal
from itertools import islice
from pathlib import Path

from pydantic import Field

from engrain.runtime.llm import claims, pricing
from engrain.runtime.llm.batch_files import Draft, input_line
from engrain.runtime.llm.batch_steps import BatchSteps, batch_scope
from engrain.runtime.llm.chat import Call, Failure, Outcome
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.ledger import LOOKUP, Ledger
from engrain.runtime.llm.prepare import Prepared, prepare
from engrain.runtime.llm.service import Service
from engrain.runtime.schema import Contract

# A process that moves batches forward renews its lease at every look; a dead one is noticed at once on one host.
LEASE_S = 3600.0


class BatchSettings(Contract):
    """How requests are packed and how often the provider is asked. The two limits are OpenAI's."""

    poll_s: float = Field(default=30.0, gt=0.0, description="Seconds between two looks at open batches.")
    max_requests: int = Field(default=50_000, ge=1, description="Requests in one batch at most.")
    max_bytes: int = Field(default=200_000_000, ge=1, description="Bytes of one input file at most.")


class BatchClient:
    """Answers calls through batches. Input and output files stay in `folder`, state in the ledger.

    `budget_usd` counts a batch at its highest price (times `batch_price_factor`) until it is collected. Two processes
    take turns at planning and collecting; each yields what it was asked for.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        ledger: Ledger,
        *,
        run: str,
        folder: Path,
        budget_usd: Decimal | None = None,
        batch: BatchSettings | None = None,
    ) -> None:
        settings.api_key()
        pricing.check_budget(settings, budget_usd)
        self.settings, self.ledger, self.run_name, self.budget_usd = settings, ledger, run, budget_usd
        self.batch = batch or BatchSettings()
        self.folder = Path(folder)
        self._endpoint = settings.ledger_identity()

    @property
    def name(self) -> str:
        """The endpoint's name."""
        return self.settings.name

    async def run(self, calls: Iterable[Call]) -> AsyncGenerator[Outcome, None]:
        """Yield what is stored, send the rest as batches, wait, yield their outcomes.

        Calls that wait for a batch are kept in memory. A batch that an earlier, killed run left open is continued.
        """
        async with Service(self.settings) as service:
            steps = BatchSteps(service, self.settings, self.ledger, self.folder)
            waiting: dict[str, list[Call]] = {}
            stop: pricing.BudgetReachedError | None = None
            async with self._lease():
                try:
                    async with aclosing(self._intake(steps, calls, waiting)) as outcomes:
                        async for outcome in outcomes:
                            yield outcome
                except pricing.BudgetReachedError as reached:
                    stop = reached
            async with aclosing(self._collect(steps, waiting)) as outcomes:
                async for outcome in outcomes:
                    yield outcome
            if stop is not None:
                raise stop

    async def _intake(
        self, steps: BatchSteps, calls: Iterable[Call], waiting: dict[str, list[Call]]
    ) -> AsyncGenerator[Outcome, None]:
        held = await steps.held()
        draft = self._draft()
        available = await self._available()
        try:
            for some in _chunks(self._prepared(calls)):
                found = await asyncio.wrap_future(self.ledger.find([one.request_hash for one in some], self._endpoint))
                for one in some:
                    key = one.request_hash
                    if key in found:
                        yield Outcome(one.call, key, answer=found[key], reused=True)
                    elif key in held or key in waiting:
                        waiting.setdefault(key, []).append(one.call)
                    else:
                        line = input_line(key, one.body)
                        if self._full(draft, line):
                            await steps.submit(draft, self.run_name)
                            draft, available = self._draft(), await self._available()
                        self._afford(one, draft, available)
                        draft.add(key, one.account, line, one.price)
                        waiting[key] = [one.call]
        except pricing.BudgetReachedError:
            await steps.submit(draft, self.run_name)
            raise
        except BaseException:
            draft.discard()
            raise
        await steps.submit(draft, self.run_name)

    def _prepared(self, calls: Iterable[Call]) -> Iterator[Prepared]:
        for call in calls:
            one = prepare(self.settings, call, self.run_name, self.settings.batch_price_factor)
            pricing.check_bounded(self.settings, one.request, self.budget_usd)
            yield one

    def _draft(self) -> Draft:
        batch = uuid.uuid4().hex
        return Draft(batch, self.folder / f"{batch}.input.jsonl")

    def _full(self, draft: Draft, line: bytes) -> bool:
        return bool(draft.items) and (
            len(draft.items) >= self.batch.max_requests or draft.size + len(line) > self.batch.max_bytes
        )

    async def _available(self) -> tuple[Decimal, Decimal]:
        """USD spent and reserved so far; zeros when there is no budget to compare with."""
        if self.budget_usd is None:
            return Decimal(0), Decimal(0)
        return await asyncio.wrap_future(self.ledger.spent(self.run_name))

    def _afford(self, one: Prepared, draft: Draft, taken: tuple[Decimal, Decimal]) -> None:
        spent, reserved = taken
        if self.budget_usd is not None and spent + reserved + draft.reserved + one.price > self.budget_usd:
            message = pricing.budget_message(spent, reserved + draft.reserved, one.price, self.budget_usd)
            raise pricing.BudgetReachedError(message)

    async def _collect(self, steps: BatchSteps, waiting: dict[str, list[Call]]) -> AsyncGenerator[Outcome, None]:
        while waiting:
            async with self._lease():
                await steps.sweep()
            # In this order: what another client collects in between is then still held, and found at the next look.
            held = await steps.held()
            found = await asyncio.wrap_future(self.ledger.find(list(waiting), self._endpoint))
            for key in [key for key in waiting if key in found or key not in held]:
                for call in waiting.pop(key):
                    if key in found:
                        yield Outcome(call, key, answer=found[key])
                    else:
                        yield Outcome(call, key, failure=steps.failures.get(key, UNEXPLAINED))
            if waiting:
                await asyncio.sleep(self.batch.poll_s)

    @asynccontextmanager
    async def _lease(self) -> AsyncIterator[None]:
        """Be the only client, of this process or another, that plans and moves the batches of this model."""
        name, owner = f"batches {batch_scope(self.settings)}", claims.Owner.new()
        while not await asyncio.wrap_future(
            self.ledger.submit(lambda connection: claims.take_lease(connection, name, owner, LEASE_S))
        ):
            await asyncio.sleep(min(1.0, self.batch.poll_s))
        try:
            yield
        finally:
            self.ledger.submit(lambda connection: claims.drop_lease(connection, name, owner))
            owner.retire()


UNEXPLAINED = Failure("missing", "its batch is over without an answer; the ledger's attempts say why", 1)


def _chunks(prepared: Iterator[Prepared]) -> Iterator[list[Prepared]]:
    while some := list(islice(prepared, LOOKUP)):
        yield some
