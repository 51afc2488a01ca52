"""The online client: one endpoint, many concurrent calls, within its budgets, through the ledger."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager
from decimal import Decimal

from engrain.runtime.errors import EngrainError, ModelServiceError
from engrain.runtime.llm import pricing
from engrain.runtime.llm.budget import EndpointLimits, Reservation
from engrain.runtime.llm.chat import Call, ChatAnswer, Failure, Outcome
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.events import log
from engrain.runtime.llm.health import FailureWatch
from engrain.runtime.llm.ledger import Attempt, Ledger
from engrain.runtime.llm.permits import Permits
from engrain.runtime.llm.prepare import Prepared, prepare
from engrain.runtime.llm.service import Service, ServiceError, Trouble
from engrain.runtime.llm.streaming import stream


class OnlineClient:
    """Calls one endpoint. Budgets and pause are kept across runs; each run opens its own connections.

    With `budget_usd` the run stops before a call whose highest price no longer fits beside what is spent and what is
    in flight, here or in another process. The total can pass the budget only by what `pricing.prompt_tokens`
    underestimates in the calls in flight, and by calls that failed or were lost and that the provider bills anyway.
    """

    def __init__(
        self, settings: EndpointSettings, ledger: Ledger, *, run: str, budget_usd: Decimal | None = None
    ) -> None:
        settings.api_key()
        pricing.check_budget(settings, budget_usd)
        self.settings, self.ledger, self.run_name, self.budget_usd = settings, ledger, run, budget_usd
        self.limits = EndpointLimits(settings)

    @property
    def name(self) -> str:
        """The endpoint's name."""
        return self.settings.name

    @asynccontextmanager
    async def session(self) -> AsyncIterator[OnlineSession]:
        """Open connections for single calls: `async with client.session() as s: await s.answer(call)`."""
        async with Service(self.settings) as service:
            yield OnlineSession(self, service)

    async def run(self, calls: Iterable[Call]) -> AsyncGenerator[Outcome, None]:
        """Answer every call, drawing them lazily; outcomes in the order of completion. See `streaming.stream`."""
        # As many calls again wait for a slot, so that a freed one is taken while the last answer is being synced.
        width = 2 * self.settings.concurrency
        # The stream is closed before the connections are: calls in flight still get their answers.
        async with self.session() as session, aclosing(stream(session.answer, calls, width)) as outcomes:
            async for outcome in outcomes:
                try:
                    yield outcome
                except GeneratorExit:
                    session.stop()
                    raise


class OnlineSession:
    """Open connections of an `OnlineClient`, bound to the running event loop."""

    def __init__(self, client: OnlineClient, service: Service) -> None:
        self._client, self._service, self._settings = client, service, client.settings
        self._ledger, self._limits = client.ledger, client.limits
        self._slots = asyncio.Semaphore(self._settings.concurrency)
        self._stopped: EngrainError | None = None
        self._permits = Permits(client.settings, client.ledger, client.limits, client.budget_usd)
        self._watch = FailureWatch(
            f"endpoint {self._settings.name!r}",
            share=self._settings.max_failure_share,
            over=self._settings.failures_judged_over,
        )

    def stop(self) -> None:
        """Send nothing more; what is in flight is finished."""
        self._stopped = self._stopped or ModelServiceError(f"endpoint {self._settings.name!r}: the run was closed")

    async def answer(self, call: Call) -> Outcome:
        """Answer one call from the ledger or the endpoint.

        A failure of this call is an outcome. What ends the run raises: `BudgetReachedError`, and `ModelServiceError`
        for a refused key, an unknown model, or too large a share of failures; from then on every call raises it.
        """
        prepared = prepare(self._settings, call, self._client.run_name)
        pricing.check_bounded(self._settings, prepared.request, self._client.budget_usd)
        try:
            async with self._slots:
                if self._stopped is not None:
                    raise self._stopped
                outcome, storing = await self._buy(prepared)
            # The slot is free before the answer is synced, yet its next call is sent after: the ledger works in order,
            # and grants the next claim only once this answer is committed.
            if storing is not None:
                await asyncio.shield(asyncio.wrap_future(storing))
        except EngrainError as error:
            self._stopped = error
            raise
        return outcome

    async def _buy(self, prepared: Prepared) -> tuple[Outcome, Future[bool] | None]:
        """The outcome, and for a new answer the write that keeps it."""
        call, key = prepared.call, prepared.request_hash
        for attempt in range(1, self._settings.max_attempts + 1):
            grant, reservation = await self._permits.get(prepared)
            if grant.answer is not None:
                return Outcome(call, key, answer=grant.answer, reused=True), None
            if reservation is None:
                held = Failure("held", f"it is part of the open batch {grant.holder}", 0)
                return Outcome(call, key, failure=held), None
            try:
                answer, storing = await self._send(prepared, reservation, attempt)
            except ServiceError as error:
                if not error.trouble.passing or attempt == self._settings.max_attempts:
                    return self._give_up(prepared, error, attempt), None
                await self._back_off(error, attempt)
                continue
            self._watch.success()
            return Outcome(call, key, answer=answer), storing
        raise AssertionError("the last attempt returns")

    async def _send(
        self, prepared: Prepared, reservation: Reservation, attempt: int
    ) -> tuple[ChatAnswer, Future[bool]]:
        """One exchange: the answer, and its write to the ledger, which `answer` awaits before anyone may parse it."""
        key, account = prepared.request_hash, prepared.account
        try:
            answer = await self._service.chat(prepared.body, lambda: self._limits.sent(reservation))
        except ServiceError as error:
            if error.retry_after_s is not None:
                self._limits.pause(error.retry_after_s)
            self._permits.settle(reservation, 0 if error.status is not None else prepared.tokens)
            self._log_failure(prepared, error, attempt)
            failed = Attempt(error.trouble.value, error.message, error.raw)
            await asyncio.wrap_future(self._ledger.fail(key, account, failed))
            raise
        except BaseException:
            # Cancelled: the provider may bill it. Logged without waiting, since waiting is what was cancelled.
            self._ledger.fail(key, account, Attempt("lost", "cancelled while in flight"))
            self._permits.settle(reservation, prepared.tokens)
            raise
        self._permits.settle(reservation, answer.prompt_tokens + answer.completion_tokens)
        cost = pricing.price(self._settings, answer.prompt_tokens, answer.completion_tokens)
        storing = self._ledger.store(key, account, answer, cost, "online")
        self._log_answer(prepared, answer, attempt)
        return answer, storing

    def _give_up(self, prepared: Prepared, error: ServiceError, attempts: int) -> Outcome:
        if error.trouble is Trouble.UNUSABLE:
            raise ModelServiceError(
                f"endpoint {self._settings.name!r} ({self._settings.model}) cannot be used: {error.message}"
            ) from error
        self._watch.failure(f"{error.trouble.value}: {error.message}")
        failure = Failure(error.trouble.value, error.message, attempts)
        return Outcome(prepared.call, prepared.request_hash, failure=failure)

    async def _back_off(self, error: ServiceError, attempt: int) -> None:
        """Exponential backoff with full jitter, after the pause that the server asked for."""
        ceiling = min(self._settings.backoff_cap_s, self._settings.backoff_s * 2.0 ** (attempt - 1))
        await asyncio.sleep((error.retry_after_s or 0.0) + random.uniform(0.0, ceiling))

    def _log_failure(self, prepared: Prepared, error: ServiceError, attempt: int) -> None:
        log(
            logging.WARNING,
            "attempt failed",
            endpoint=self._settings.name,
            stage=prepared.account.stage,
            request=prepared.request_hash,
            attempt=attempt,
            trouble=error.trouble.value,
            status=error.status,
            wait_s=error.retry_after_s or 0.0,
        )

    def _log_answer(self, prepared: Prepared, answer: ChatAnswer, attempt: int) -> None:
        log(
            logging.DEBUG,
            "answered",
            endpoint=self._settings.name,
            stage=prepared.account.stage,
            request=prepared.request_hash,
            attempt=attempt,
            seconds=answer.latency_s,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            finish_reason=answer.finish_reason,
        )
