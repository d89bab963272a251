"""A delay buffer: remote state is shown a little late, so that there are two snapshots to blend between.

The idea is Valve's entity interpolation (Bernier 2001): render time = now - delay.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, Generic, TypeVar

S = TypeVar("S")

DELAY: Final = 0.12
"""seconds"""
LIMIT: Final = 32
"""snapshots kept"""


class SnapshotBuffer(Generic[S]):
    """Snapshots of one thing in order of their time, sampled `delay` seconds in the past.

    Times are seconds of one clock: stamp and sample with the same, be it arrival time or the sender's. `interpolate`
    gets the snapshots before and after the render time, and t in 0..1. `delay` may be changed at any time.
    """

    __slots__ = ("_interpolate", "_limit", "_times", "_values", "delay")

    def __init__(self, interpolate: Callable[[S, S, float], S], *, delay: float = DELAY, limit: int = LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"a buffer of {limit} snapshots holds nothing")
        self._interpolate = interpolate
        self._limit = limit
        self._times: list[float] = []
        self._values: list[S] = []
        self.delay = delay

    def __len__(self) -> int:
        return len(self._times)

    def push(self, time: float, value: S) -> None:
        """Insert a snapshot in the order of time; it replaces one of the same time. The oldest goes beyond the limit.

        Raises ValueError for a time that is no finite number: it could not be put in order.
        """
        if not -math.inf < time < math.inf:
            raise ValueError(f"{time} is no time of a snapshot")
        times, values = self._times, self._values
        if not times or time > times[-1]:
            times.append(time)
            values.append(value)
        else:
            index = bisect_left(times, time)
            if times[index] == time:
                values[index] = value
                return
            times.insert(index, time)
            values.insert(index, value)
        if len(times) > self._limit:
            del times[0]
            del values[0]

    def sample(self, now: float) -> S | None:
        """What to show at `now`: never extrapolated.

        One snapshot: that, at any time. Two or more: None before the first, the last after the last.
        """
        times = self._times
        count = len(times)
        if count < 2:
            return self._values[0] if count else None
        at = now - self.delay
        if at >= times[-1]:
            return self._values[-1]
        if not at >= times[0]:
            return None
        after = bisect_right(times, at)
        before = times[after - 1]
        values = self._values
        return self._interpolate(values[after - 1], values[after], (at - before) / (times[after] - before))

    def latest(self) -> S | None:
        """The snapshot with the newest time, without delay."""
        return self._values[-1] if self._values else None

    def clear(self) -> None:
        """Forget everything: for a thing that has jumped, or a clock that has started anew."""
        self._times.clear()
        self._values.clear()
