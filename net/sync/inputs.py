"""The authority's command buffer: simulated time is bought with real time.

Commands carry the time that they simulate, in ticks. Whoever sends more than real time has paid for gets it applied
later or not at all, so a speed hack buys nothing, while a burst after a stall is applied at once.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import Final, Generic, TypeVar

C = TypeVar("C")

_ROUNDING: Final = 1e-6
"""ticks: credit is a float, and an honest player must not wait for its last bit"""


class Push(StrEnum):
    """What became of a command."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    """its seq is not above the highest accepted one"""


class InputBuffer(Generic[C]):
    """One player's commands, each seq at most once, in order, no faster than real time.

    The total of ticks taken never exceeds `slack` + `rate` * (time since the first `take`). Credit that is not used is
    kept up to `bank` ticks, and at most `limit` ticks wait: beyond that the oldest are discarded, so that a player
    loses old time after a long stall instead of living in the past for ever.

    An honest player is never held back while what may come in one burst fits into the bank and the limit: the ticks of
    his path's jitter, of one command, and of the time between two calls of `take`.
    """

    def __init__(self, *, rate: float = 60.0, slack: int = 15, bank: int = 60, limit: int = 60) -> None:
        if not (rate > 0 and 0 <= slack <= bank and bank >= 1 and limit >= 1):
            raise ValueError(f"rate {rate}, slack {slack}, bank {bank}, limit {limit}: no player could move by these")
        self._rate = rate
        self._slack = slack
        self._bank = bank
        self._limit = limit
        self._waiting: deque[tuple[int, C, int]] = deque()
        self._highest = 0
        self._start: float | None = None
        self._spent = 0.0
        """ticks taken, and credit lost above the bank: kept as a sum, so that rounding doesn't add up"""
        self.waiting = 0
        """ticks that wait"""
        self.last_seq = 0
        """highest seq that was taken or discarded: what the player is told"""
        self.discarded = 0
        """commands that were discarded"""

    def push(self, seq: int, command: C, ticks: int) -> Push:
        """Queue a command that simulates `ticks`. Gaps in seq are allowed, going back is not.

        Raises ValueError for ticks that could never be taken: below 1, or above the bank or the limit.
        """
        if not 1 <= ticks <= min(self._bank, self._limit):
            raise ValueError(f"a command of {ticks} ticks could never be taken")
        if seq <= self._highest:
            return Push.DUPLICATE
        self._highest = seq
        self._waiting.append((seq, command, ticks))
        self.waiting += ticks
        while self.waiting > self._limit:
            self._pop()
            self.discarded += 1
        return Push.ACCEPTED

    def take(self, now: float) -> list[C]:
        """The commands that may be applied at `now` (seconds), in order. A `now` that goes back buys nothing."""
        credit = self._credit(now) + _ROUNDING
        taken: list[C] = []
        waiting = self._waiting
        while waiting and waiting[0][2] <= credit:
            command, ticks = self._pop()
            credit -= ticks
            self._spent += ticks
            taken.append(command)
        return taken

    def _credit(self, now: float) -> float:
        if self._start is None:
            self._start = now
        credit = self._slack + (now - self._start) * self._rate - self._spent
        if credit > self._bank:
            self._spent += credit - self._bank
            return self._bank
        return credit

    def _pop(self) -> tuple[C, int]:
        seq, command, ticks = self._waiting.popleft()
        self.waiting -= ticks
        self.last_seq = seq
        return command, ticks
