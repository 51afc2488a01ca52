"""The steps of a provider batch: submit, upload, create, look, collect. Each ends with an event in the ledger."""

from __future__ import annotations

import asyncio
import logging
import random
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from engrain.runtime.errors import ModelServiceError
from engrain.runtime.llm import batch_state, pricing
from engrain.runtime.llm.batch_files import Draft, results, save
from engrain.runtime.llm.batch_state import BatchState
from engrain.runtime.llm.chat import ChatAnswer, Failure
from engrain.runtime.llm.endpoint import EndpointSettings
from engrain.runtime.llm.events import log
from engrain.runtime.llm.ledger import Attempt, Ledger, insert_answer, insert_attempt
from engrain.runtime.llm.service import Service, ServiceError

if TYPE_CHECKING:
    from openai.types import Batch

T = TypeVar("T")
FINISHED = ("completed", "failed", "expired", "cancelled")
# Up- and downloads of input files of 200 MB outlast a chat completion.
TRANSFER_TIMEOUT_S = 900.0
METADATA_KEY = "engrain_batch"


def batch_scope(settings: EndpointSettings) -> str:
    """What a batch belongs to: an endpoint and one of its models, since prices and limits are a model's."""
    return f"{settings.ledger_identity()} {settings.model}"


class BatchSteps:
    """Moves the batches of one model of an endpoint forward.

    `failures` holds why requests of collected batches have no answer.
    """

    def __init__(self, service: Service, settings: EndpointSettings, ledger: Ledger, folder: Path) -> None:
        self._service, self._settings, self._ledger, self._folder = service, settings, ledger, folder
        self._endpoint, self._scope = settings.ledger_identity(), batch_scope(settings)
        self.failures: dict[str, Failure] = {}

    async def held(self) -> set[str]:
        """Hashes of the requests in open batches."""
        return await self._write(lambda connection: batch_state.held_by_batches(connection, self._endpoint))

    async def submit(self, draft: Draft, run: str) -> None:
        """Record, upload and create a drafted batch; an empty draft is nothing."""
        if not draft.items:
            return
        draft.finish()
        await self._write(
            lambda connection: batch_state.plan(connection, self._scope, draft.batch, draft.items, run, draft.reserved)
        )
        state = await self._upload(BatchState(draft.batch, run, "written", "", draft.reserved))
        await self._create(state, resumed=False)

    async def sweep(self) -> None:
        """Take every open batch of the model as far as it goes now."""
        for state in await self._write(lambda connection: batch_state.open_batches(connection, self._scope)):
            if state.event == "written":
                if not self._file(state, "input").is_file():
                    await self._abandon(state, f"its input file is gone: {self._file(state, 'input').name}")
                    continue
                state = await self._upload(state)
            if state.event == "uploaded":
                state = await self._create(state, resumed=True)
            await self._look(state)

    async def _upload(self, state: BatchState) -> BatchState:
        path = self._file(state, "input")
        uploaded = await self._persist(
            lambda: self._service.sdk.files.create(file=path, purpose="batch", timeout=TRANSFER_TIMEOUT_S)
        )
        return await self._event(replace(state, event="uploaded", detail=uploaded.id))

    async def _create(self, state: BatchState, *, resumed: bool) -> BatchState:
        """Create the provider's batch, unless an attempt whose reply was lost already did."""
        maybe_there = resumed

        async def create() -> str:
            nonlocal maybe_there
            if maybe_there and (existing := await self._existing(state.detail)):
                return existing
            maybe_there = True
            created = await self._service.sdk.batches.create(
                input_file_id=state.detail,
                endpoint="/v1/chat/completions",
                completion_window="24h",  # the only one on offer
                metadata={METADATA_KEY: state.batch},
            )
            return created.id

        return await self._event(replace(state, event="created", detail=await self._persist(create)))

    async def _existing(self, file_id: str) -> str | None:
        async for batch in self._service.sdk.batches.list(limit=100):
            if batch.input_file_id == file_id:
                return batch.id
        return None

    async def _look(self, state: BatchState) -> None:
        batch = await self._persist(lambda: self._service.sdk.batches.retrieve(state.detail))
        log(logging.INFO, "batch", endpoint=self._settings.name, batch=state.batch, state=batch.status)
        if batch.status not in FINISHED:
            return
        if batch.status == "failed":
            reasons = "; ".join(error.message or "" for error in (batch.errors.data if batch.errors else None) or ())
            await self._abandon(state, f"the provider refused the batch: {reasons or 'no reason given'}")
            return
        await self._collect(state, batch)

    async def _collect(self, state: BatchState, batch: Batch) -> None:
        paths = []
        for kind, file_id in (("output", batch.output_file_id), ("errors", batch.error_file_id)):
            if file_id:
                paths.append(self._file(state, kind))
                await self._download(file_id, paths[-1])
        reason = Attempt("missing", f"the batch is {batch.status} and holds no line for it")
        failed = await self._write(lambda connection: self._book(connection, state, paths, reason))
        self.failures.update({key: Failure(attempt.outcome, attempt.detail, 1) for key, attempt in failed.items()})

    def _book(
        self, connection: sqlite3.Connection, state: BatchState, paths: list[Path], reason: Attempt
    ) -> dict[str, Attempt]:
        """Write every result and the event in one transaction, so that a kill cannot book half of them."""
        open_items = batch_state.items(connection, state.batch)
        stray = next(iter(open_items.values()))
        failed: dict[str, Attempt] = {}
        for path in paths:
            for key, result in results(path, self._settings.model):
                account = open_items.get(key) if key is not None else None
                if key is None or account is None:
                    insert_attempt(connection, state.batch, stray, _unplaced(result))
                elif isinstance(result, ChatAnswer):
                    cost = pricing.price(
                        self._settings,
                        result.prompt_tokens,
                        result.completion_tokens,
                        self._settings.batch_price_factor,
                    )
                    insert_answer(connection, key, account, result, cost, "batch")
                    del open_items[key]
                else:
                    failed[key] = result
        failed |= {key: reason for key in open_items if key not in failed}
        for key, attempt in failed.items():
            if key in open_items:
                insert_attempt(connection, key, open_items[key], attempt)
        batch_state.append(connection, self._scope, replace(state, event="collected"))
        return {key: attempt for key, attempt in failed.items() if key in open_items}

    async def _download(self, file_id: str, path: Path) -> None:
        content = await self._persist(lambda: self._service.sdk.files.content(file_id, timeout=TRANSFER_TIMEOUT_S))
        self._folder.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(save, path, content.content)

    async def _abandon(self, state: BatchState, why: str) -> None:
        items = await self._write(lambda connection: batch_state.items(connection, state.batch))
        self.failures.update({key: Failure("batch_failed", why, 1) for key in items})
        await self._event(replace(state, event="abandoned", detail=why))

    async def _event(self, state: BatchState) -> BatchState:
        await self._write(lambda connection: batch_state.append(connection, self._scope, state))
        log(logging.INFO, "batch", endpoint=self._settings.name, batch=state.batch, state=state.event)
        return state

    async def _persist(self, step: Callable[[], Awaitable[T]]) -> T:
        """Repeat a step through passing trouble; `ModelServiceError` when it stays."""
        for attempt in range(1, self._settings.max_attempts + 1):
            try:
                return await self._service.exchange(step, TRANSFER_TIMEOUT_S)
            except ServiceError as error:
                if not error.trouble.passing or attempt == self._settings.max_attempts:
                    raise ModelServiceError(
                        f"endpoint {self._settings.name!r}, Batch API: {error.message}. Run again to continue: the "
                        "ledger knows how far each batch got"
                    ) from error
                ceiling = min(self._settings.backoff_cap_s, self._settings.backoff_s * 2.0 ** (attempt - 1))
                await asyncio.sleep((error.retry_after_s or 0.0) + random.uniform(0.0, ceiling))
        raise AssertionError("the last attempt returns or raises")

    async def _write(self, write: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.wrap_future(self._ledger.submit(write))

    def _file(self, state: BatchState, kind: str) -> Path:
        return self._folder / f"{state.batch}.{kind}.jsonl"


def _unplaced(result: ChatAnswer | Attempt) -> Attempt:
    """What is logged for a line that belongs to no request of the batch."""
    return result if isinstance(result, Attempt) else Attempt("unknown_item", "a result for no request", result.text)
