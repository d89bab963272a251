"""Clocks: the one place that reads the time. Everything else takes `now` or a `Clock`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """A source of monotonic time."""

    def now(self) -> float:
        """Seconds since an arbitrary origin; never goes back."""
        ...


class MonotonicClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds since an arbitrary origin; never goes back."""
        return time.perf_counter()


class ProcessClock:
    """The processor time that this process has used, all its threads, kernel included."""

    def now(self) -> float:
        """Seconds of one core since an arbitrary origin; never goes back."""
        return time.process_time()


class ManualClock:
    """A clock that moves only when it is told to, for tests and for runs faster than real time."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        """Seconds, as last set."""
        return self._now

    def advance(self, seconds: float) -> float:
        """Move forward by `seconds` (>= 0) and return the new time. Raises ValueError for a step back."""
        if seconds < 0:
            raise ValueError(f"a clock cannot go back by {-seconds} s")
        self._now += seconds
        return self._now


class Pacer:
    """Waits for deadlines a fixed period apart: sleeps most of the time, and spins the last bit to be exact.

    Whoever is late by more than a period starts a new row of deadlines, instead of hurrying after the old one.
    """

    def __init__(
        self,
        rate: float,
        clock: Clock,
        *,
        spin: float = 0.0003,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`rate` in Hz; `spin` seconds before the deadline sleeping ends and spinning begins."""
        self._period = 1.0 / rate
        self._clock, self._spin, self._sleep = clock, spin, sleep
        self._deadline = clock.now()

    def wait(self) -> float:
        """Return at the next deadline, or at once if it has passed; gives the time."""
        self._deadline += self._period
        now = self._clock.now()
        if now - self._deadline > self._period:
            self._deadline = now
        if (rest := self._deadline - now - self._spin) > 0:
            self._sleep(rest)
        while (now := self._clock.now()) < self._deadline:
            pass
        return now
