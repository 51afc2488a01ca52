"""Requests and tokens a minute as capacity that is reserved before a call and given back after it.

A server counts a request when it arrives, which the client does not see: of two requests sent a minute apart, the
first may arrive late and the second at once, and both fall into one sliding minute. So a reservation occupies its
capacity for a window and `ARRIVAL_SLACK` more. While arrival delays differ by less than that, no sliding window at
the server holds more than the limit; the price is 1 / 1.03 of the throughput.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engrain.runtime.errors import InputError
from engrain.runtime.llm.endpoint import EndpointSettings

# Share of the window.
ARRIVAL_SLACK = 0.03
# Share of the window that a paced budget may run ahead of its even pace, so that a short stall is made up for.
CATCH_UP = 0.02


@dataclass(slots=True)
class Entry:
    """Capacity taken at a moment of the monotonic clock; `live` until it leaves the window."""

    at: float
    amount: int
    live: bool = True


class SlidingBudget:
    """At most `limit` units in any window; with `paced`, spread evenly instead of all at its start."""

    def __init__(self, limit: int, window_s: float, *, paced: bool) -> None:
        self.limit = limit
        self._occupied_for = window_s * (1 + ARRIVAL_SLACK)
        self._interval = window_s / limit if paced else 0.0
        self._tolerance = CATCH_UP * window_s
        self._entries: deque[Entry] = deque()
        self._used = 0
        self._next_even = 0.0

    def wait(self, amount: int, now: float) -> float:
        """Seconds until `amount` units can be taken; 0 when they can be now."""
        while self._entries and self._entries[0].at + self._occupied_for <= now:
            left = self._entries.popleft()
            left.live = False
            self._used -= left.amount
        pace = self._next_even - self._tolerance - now if self._interval else 0.0
        missing = self._used + amount - self.limit
        room = 0.0
        if missing > 0:
            for entry in self._entries:
                missing -= entry.amount
                if missing <= 0:
                    room = entry.at + self._occupied_for - now
                    break
        return max(0.0, pace, room)

    def take(self, amount: int, now: float) -> Entry:
        """Occupy capacity; `wait` must have returned 0 for it."""
        entry = Entry(now, amount)
        self._entries.append(entry)
        self._used += amount
        self._next_even = max(self._next_even, now) + amount * self._interval
        return entry

    def settle(self, entry: Entry, amount: int) -> None:
        """Correct what an entry occupies to what was used. Once it has left the window this changes nothing."""
        if not entry.live:
            return
        self._used += amount - entry.amount
        self._next_even += (amount - entry.amount) * self._interval
        entry.amount = amount


@dataclass(slots=True)
class Reservation:
    """One request's share of the budgets."""

    request: Entry | None
    tokens: Entry | None


class EndpointLimits:
    """Both budgets of an endpoint and its pause. Shared by every run of one client; safe to use from threads.

    Each process has its own: two processes on one endpoint need half the budget each.
    """

    def __init__(self, settings: EndpointSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._clock, self._lock = settings.name, clock, threading.Lock()
        self._requests = self._tokens = None
        if settings.requests_per_minute is not None:
            self._requests = SlidingBudget(settings.requests_per_minute, settings.window_s, paced=True)
        if settings.tokens_per_minute is not None:
            self._tokens = SlidingBudget(settings.tokens_per_minute, settings.window_s, paced=False)
        self._paused_until = 0.0

    def reserve(self, tokens: int) -> Reservation | float:
        """Take one request and `tokens` tokens, or the seconds to wait before trying again."""
        if self._tokens is not None and tokens > self._tokens.limit:
            raise InputError(
                f"endpoint {self._name!r}: one request is counted as {tokens} tokens, more than tokens_per_minute = "
                f"{self._tokens.limit}; lower max_tokens or shorten the prompt"
            )
        with self._lock:
            now = self._clock()
            wait = max(0.0, self._paused_until - now)
            if self._requests is not None:
                wait = max(wait, self._requests.wait(1, now))
            if self._tokens is not None:
                wait = max(wait, self._tokens.wait(tokens, now))
            if wait > 0.0:
                return wait
            return Reservation(
                self._requests.take(1, now) if self._requests is not None else None,
                self._tokens.take(tokens, now) if self._tokens is not None else None,
            )

    def sent(self, reservation: Reservation) -> None:
        """Count the reservation from now on: between taking it and sending lie a commit and the SDK's own work."""
        with self._lock:
            for entry in (reservation.request, reservation.tokens):
                if entry is not None and entry.live:
                    # Perhaps later than its neighbours now; an entry behind it leaves the window that much late.
                    entry.at = self._clock()

    def settle(self, reservation: Reservation, tokens: int) -> None:
        """Give back the tokens that were reserved and not used; the request itself stays counted."""
        with self._lock:
            if self._tokens is not None and reservation.tokens is not None:
                self._tokens.settle(reservation.tokens, tokens)

    def cancel(self, reservation: Reservation) -> None:
        """Give everything back: nothing was sent."""
        with self._lock:
            if self._requests is not None and reservation.request is not None:
                self._requests.settle(reservation.request, 0)
            if self._tokens is not None and reservation.tokens is not None:
                self._tokens.settle(reservation.tokens, 0)

    def pause(self, seconds: float) -> None:
        """Send nothing to this endpoint for that long (Retry-After)."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)
