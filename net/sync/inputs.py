"""The authority's command buffer: simulated time is bought with real time.

Commands carry the time that they simulate, in ticks. Whoever sends more than real time has paid for gets it applied
later or not at all, so a speed hack buys nothing. What else becomes of commands that come unevenly is a policy.
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
    """its seq is not above the highest one that came"""
    LATE = "late"
    """a repetition has played its tick: it counts as processed, without effect"""


class Read(StrEnum):
    """Which of the commands that wait are applied."""

    QUEUE = "queue"
    """every one, in order"""
    LATEST = "latest"
    """the newest one: those before it count as processed, without effect"""


class InputBuffer(Generic[C]):
    """One player's commands, each seq at most once, in order, no faster than real time.

    The total of ticks taken never exceeds `slack` + `rate` * (time since the first `take`), by any policy. Credit that
    is not used is kept up to `bank` ticks, and at most `limit` ticks wait: beyond that the oldest are discarded, so
    that a player loses old time after a long stall instead of living in the past for ever.

    The policies. By default every command is applied once, as soon as it is paid for: while none is there the player's
    own time stands still, and what comes late is made up for at once. The last three count calls of `take`, so one call
    has to be one tick.

    - `read`: see `Read`.
    - `repeat`: when the buffer runs dry, the last command is taken again, for up to so many ticks in a row. A
      repetition stands for the next seq: `last_seq` counts it, and the command that comes too late is `LATE`. So the
      player mispredicts only where he wanted something else. 0 holds his time instead.
    - `depth`: a jitter buffer, in ticks. The first command, and the first after a dry buffer, waits for so many calls,
      or until more than `depth` ticks wait.
    - `catch_up`: how many ticks a call takes at most while more than `depth` wait; otherwise it takes one. 1 is exactly
      one per tick; None is as many as are paid for.

    By default an honest player is never held back while what may come in one burst fits into the bank and the limit:
    the ticks of his path's jitter, of one command, and of the time between two calls of `take`.
    """

    __slots__ = (
        "_catch_up",
        "_depth",
        "_filling",
        "_highest",
        "_last",
        "_lasting",
        "_latest",
        "_limit",
        "_longest",
        "_paced",
        "_queue",
        "_repeat",
        "_run",
        "_simple",
        "bank",
        "discarded",
        "last_seq",
        "rate",
        "repeated",
        "slack",
        "spent",
        "start",
        "waiting",
    )

    def __init__(
        self,
        *,
        rate: float = 60.0,
        slack: int = 15,
        bank: int = 60,
        limit: int = 60,
        read: Read = Read.QUEUE,
        repeat: int = 0,
        depth: int = 0,
        catch_up: int | None = None,
    ) -> None:
        if not (rate > 0 and 0 <= slack <= bank and bank >= 1 and limit >= 1):
            raise ValueError(f"rate {rate}, slack {slack}, bank {bank}, limit {limit}: no player could move by these")
        if not (repeat >= 0 and 0 <= depth < limit and (catch_up is None or catch_up >= 1)):
            raise ValueError(f"repeat {repeat}, depth {depth} of {limit}, catch_up {catch_up}: no such policy")
        if read is Read.LATEST and (depth or catch_up is not None):
            raise ValueError("whoever reads the latest command alone keeps none and has nothing to catch up with")
        self.rate = rate
        self.slack = slack + _ROUNDING
        self.bank = bank + _ROUNDING
        self._limit = limit
        self._longest = min(bank, limit)
        self._latest = read is Read.LATEST
        self._repeat = repeat
        self._depth = depth
        self._catch_up = catch_up
        self._paced = depth > 0 or catch_up is not None
        self._simple = not (repeat or self._paced)
        self._queue: deque[tuple[int, C, int]] = deque()
        self._highest = 0
        self.start: float | None = None
        """when the first `take` was"""
        self.spent = 0.0
        """ticks taken, and credit lost above the bank: kept as a sum, so that rounding doesn't add up"""
        self._last: tuple[int, C, int] | None = None
        """what was taken last, for repetition"""
        self._lasting = 0
        """ticks for which that goes on after the call that took it"""
        self._filling = depth
        """calls for which the next command has to wait"""
        self._run = 0
        """ticks repeated since the last command that came"""
        self.waiting = 0
        """ticks that wait"""
        self.last_seq = 0
        """highest seq that was taken, repeated over or discarded: what the player is told"""
        self.discarded = 0
        """commands that came, and never had an effect"""
        self.repeated = 0
        """ticks that were played by repetition"""

    def push(self, seq: int, command: C, ticks: int) -> Push:
        """Queue a command that simulates `ticks`. Gaps in seq are allowed, going back is not.

        Raises ValueError for ticks that could never be taken: below 1, or above the bank or the limit.
        """
        if not 1 <= ticks <= self._longest:
            raise ValueError(f"a command of {ticks} ticks could never be taken")
        if seq <= self._highest:
            return Push.DUPLICATE
        self._highest = seq
        if seq <= self.last_seq:
            self.discarded += 1
            return Push.LATE
        self._queue.append((seq, command, ticks))
        self.waiting += ticks
        if self.waiting > ticks and (self._latest or self.waiting > self._limit):
            self._discard(ticks if self._latest else self._limit)
        return Push.ACCEPTED

    def take(self, now: float) -> list[C]:
        """The commands to apply at `now` (seconds), in order. A `now` that goes back buys nothing."""
        if self.start is None:
            self.start = now
        if self._simple and not self._queue:
            return []  # credit is counted when it is asked for
        credit = self.slack + (now - self.start) * self.rate - self.spent
        if credit > self.bank:
            self.spent += credit - self.bank
            credit = self.bank
        if self._simple:
            if self.waiting == 1 <= credit:  # nearly every call
                self.last_seq, command, _ = self._queue.popleft()
                self.waiting = 0
                self.spent += 1
                return [command]
            return self._take(credit, credit)
        return self._take_by_policy(credit)

    @property
    def at_rest(self) -> bool:
        """Whether `start`, `spent` and `last_seq` say all there is: nothing waits, and no policy remembers anything."""
        return self._simple and not self._queue

    def settle(self, spent: float, last_seq: int) -> None:
        """Commands up to `last_seq` were dealt with elsewhere, by the same rule, while it was `at_rest`."""
        self.spent = spent
        self._highest = self.last_seq = last_seq

    def _take(self, credit: float, pace: float) -> list[C]:
        """Commands in order while they are paid for, and while `pace` ticks are not yet used up."""
        queue = self._queue
        taken: list[C] = []
        while queue and pace > 0 and queue[0][2] <= credit:
            self._last = queue.popleft()
            seq, command, ticks = self._last
            credit -= ticks
            pace -= ticks
            self.spent += ticks
            self.waiting -= ticks
            self.last_seq = seq
            taken.append(command)
        return taken

    def _take_by_policy(self, credit: float) -> list[C]:
        lasting = self._lasting
        self._lasting = max(0, lasting - 1)
        if not self._queue:
            return [] if lasting else self._run_dry(credit)
        if self._filling:
            if self.waiting <= self._depth:
                self._filling -= 1
                return []
            self._filling = 0
        taken = self._take(credit, self._pace() - lasting if self._paced else credit)
        if taken:
            assert self._last is not None
            self._lasting = self._last[2] - 1
            self._run = 0
        return taken

    def _pace(self) -> int:
        """Ticks that this call should take."""
        surplus = max(1, self.waiting - self._depth)
        return surplus if self._catch_up is None else min(surplus, self._catch_up)

    def _run_dry(self, credit: float) -> list[C]:
        if self._last is not None:
            _, command, ticks = self._last
            if self._run + ticks <= self._repeat and ticks <= credit:
                self._run += ticks
                self.spent += ticks
                self._lasting = ticks - 1
                self.last_seq += 1
                self.repeated += ticks
                return [command]
        self._filling = self._depth
        return []

    def _discard(self, keep: int) -> None:
        """Discard the oldest until at most `keep` ticks wait."""
        while self.waiting > keep:
            self.last_seq, _, ticks = self._queue.popleft()
            self.waiting -= ticks
            self.discarded += 1
