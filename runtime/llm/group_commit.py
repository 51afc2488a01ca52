"""One thread that owns one SQLite connection and commits whatever has queued up as one transaction.

A synced commit costs milliseconds whatever it holds, so 64 answers that arrive together share one. An operation's
future resolves only after its transaction is committed.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from engrain.runtime.errors import StoreError

T = TypeVar("T")
# Operations in one transaction at most: bounds how long another process waits for the write lock.
GROUP = 256


@dataclass(slots=True)
class _Operation:
    run: Callable[[sqlite3.Connection], Any]
    durable: bool
    future: Future[Any]


class GroupCommit:
    """Runs operations in order, in the thread that opened the connection."""

    def __init__(
        self, name: str, connect: Callable[[], sqlite3.Connection], on_rollback: Callable[[], None] = lambda: None
    ) -> None:
        self._name, self._connect, self._on_rollback = name, connect, on_rollback
        self._queue: queue.SimpleQueue[_Operation | None] = queue.SimpleQueue()
        self._lock, self._closed = threading.Lock(), False
        self._synced: bool | None = None
        opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._work, args=(opened,), name="engrain-ledger", daemon=True)
        self._thread.start()
        opened.result()

    def submit(self, run: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> Future[T]:
        """Queue an operation. `durable`: synced to the disk before the future resolves, so power loss keeps it."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._name}: already closed")
            self._queue.put(_Operation(run, durable, future))
        return future

    def close(self) -> None:
        """Finish what is queued and close the connection. Closing twice is harmless."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _work(self, opened: Future[None]) -> None:
        try:
            connection = self._connect()
        except Exception as error:
            opened.set_exception(error)
            return
        opened.set_result(None)
        last = False
        while not last:
            first = self._queue.get()
            group = [first] if first is not None else []
            last = first is None
            while not last and len(group) < GROUP and not self._queue.empty():
                following = self._queue.get()
                last = following is None
                group += [following] if following is not None else []
            # One that its caller has cancelled meanwhile is not run.
            group = [operation for operation in group if operation.future.set_running_or_notify_cancel()]
            if group:
                self._commit(connection, group)
        connection.close()

    def _commit(self, connection: sqlite3.Connection, group: list[_Operation]) -> None:
        """One transaction for the group; when an operation fails, one for each, so that it fails alone."""
        try:
            results = self._transaction(connection, group)
        except Exception as error:
            if len(group) > 1:
                for operation in group:
                    self._commit(connection, [operation])
                return
            failed = StoreError(f"{self._name}: {error}") if isinstance(error, sqlite3.OperationalError) else error
            group[0].future.set_exception(failed)
            return
        for operation, value in zip(group, results, strict=True):
            operation.future.set_result(value)

    def _transaction(self, connection: sqlite3.Connection, group: list[_Operation]) -> list[Any]:
        durable = any(operation.durable for operation in group)
        if durable != self._synced:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._synced = durable
        try:
            connection.execute("BEGIN IMMEDIATE")
            results = [operation.run(connection) for operation in group]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._on_rollback()
            raise
        return results
