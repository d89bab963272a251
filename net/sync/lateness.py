"""Lateness: how much later than by the fastest way each snapshot came, and the delay that rides it out.

Packet voice calls that delay the playout delay. A queue only ever adds to a transit, so the shortest one of a window is
the way itself, and all above it is lateness. Sender and receiver need no common clock: whatever their clocks differ by
is in every transit, and falls out of what is compared with it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from typing import Final

WINDOW: Final = 10.0
"""seconds that a snapshot is remembered: for so long the next stall like it is expected"""
LIMIT: Final = 1024
"""snapshots that are remembered at most"""
FIRST: Final = 8
"""snapshots that it takes to know anything: before that the longest delay is the wise one"""
QUANTILE: Final = 0.98
"""the share of the snapshots that are waited for"""
RELEASE: Final = 0.1
"""seconds a second by which it is believed that the way has become better: playback is no faster for it than this"""
LONGEST: Final = 0.22
"""seconds behind the fastest way: to wait even longer for what is late costs more than to guess it"""
SPAN: Final = 1.7
"""intervals of delay at least: most of the gap is bridged that a lost snapshot leaves"""
OVERDUE: Final = 1.5
"""intervals by which a snapshot is overdue before a stall is feared; less is a lost one"""


class Quantiles:
    """The numbers of the last `seconds`, in the order of their size."""

    __slots__ = ("_limit", "_line", "_order", "_seconds")

    def __init__(self, seconds: float = WINDOW, limit: int = LIMIT) -> None:
        self._seconds = seconds
        self._limit = limit
        self._line: deque[tuple[float, float]] = deque()
        self._order: list[float] = []

    def __len__(self) -> int:
        return len(self._order)

    def add(self, now: float, value: float) -> None:
        """Take in a number at `now`, and forget what is too old."""
        line, order = self._line, self._order
        line.append((now, value))
        insort(order, value)
        while line[0][0] < now - self._seconds or len(line) > self._limit:
            del order[bisect_left(order, line.popleft()[1])]

    def at(self, share: float) -> float:
        """The smallest number that `share` (0..1) of them do not exceed; 0 while there are none."""
        order = self._order
        return order[max(0, math.ceil(share * len(order)) - 1)] if order else 0.0


class Lateness:
    """What the times of snapshots tell about their way. All times are finite seconds."""

    __slots__ = ("_arrived", "_awaited", "_gaps", "_interval", "_pause", "_transits", "newest")

    def __init__(self, interval: float | None = None) -> None:
        """`interval`: how far apart snapshots are sent, where that is known; otherwise it is learnt."""
        self._interval = interval
        self._pause = 0.0
        self._transits = Quantiles()
        self._gaps = Quantiles()
        self._awaited = -math.inf
        self._arrived = math.inf
        self.newest = -math.inf
        """the latest sender's time that has come; -inf before the first"""

    def add(self, sent: float, arrived: float, pause: float = 0.0) -> None:
        """Take in one snapshot: the sender's time in it, and the local time of its arrival.

        `pause`: seconds beyond the interval for which the sender may be silent after it.
        """
        self._transits.add(arrived, arrived - sent)
        if sent > self.newest:
            if self.newest > -math.inf:
                self._gaps.add(arrived, sent - self.newest)
            self.newest, self._pause = sent, pause
        released = self._awaited - RELEASE * max(0.0, arrived - self._arrived)
        self._awaited = max(self._transits.at(QUANTILE), min(released, self.fastest + LONGEST))
        self._arrived = arrived

    @property
    def awaited(self) -> float:
        """The lateness that is waited for: the quantile, from which it comes down no faster than by RELEASE.

        It is the transit that comes down. When the whole way has changed, that is found in `fastest` and here at once.
        """
        return self._awaited - self.fastest

    @property
    def fastest(self) -> float:
        """The shortest transit in the window, the difference of the clocks included."""
        return self._transits.at(0.0)

    @property
    def interval(self) -> float:
        """How far apart snapshots are sent: the gaps' lower quartile, as losses and pauses only make gaps longer."""
        return self._gaps.at(0.25) if self._interval is None else self._interval

    def quantile(self, share: float) -> float:
        """The lateness that `share` (0..1) of the snapshots do not exceed."""
        return self._transits.at(share) - self.fastest

    def overdue(self, now: float) -> float:
        """How late the snapshot after the newest is already, at least; below 0 it is not expected yet."""
        return now - self.fastest - self.newest - self.interval - self._pause

    def delay(self, now: float) -> float:
        """How far behind the fastest way to play: then there are snapshots on either side, nearly always.

        At most LONGEST, and that at once if a snapshot is long overdue and later than what is waited for anyway: nobody
        knows when it comes, and to fall back costs least while there is nothing to show.
        """
        awaited, interval = self.awaited, self.interval
        if len(self._transits) < FIRST or self.overdue(now) > max(awaited, OVERDUE * interval):
            return LONGEST
        return min(LONGEST, max(awaited + interval, SPAN * interval))
