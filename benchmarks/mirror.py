"""A yardstick for playback: how Mirror, the networking library for Unity, plays snapshots with its default settings.

The algorithm remade in Python: a buffer of two intervals, longer by the standard deviation of the gaps between
arrivals; a timeline that runs 2 % faster or 4 % slower while the mean drift is off by more than an interval, and that
is clamped to within one buffer of where it should be.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import Final

INTERVAL: Final = 50.0
"""ms between two snapshots: the sender's rate, which Mirror is told"""
BUFFER: Final = 32
"""snapshots kept at most"""
FASTER: Final = 1.02
SLOWER: Final = 0.96
DRIFT_SNAPSHOTS: Final = 20
"""over how many snapshots the drift is averaged: a second of them"""
GAP_SNAPSHOTS: Final = 40
"""and the gaps: two seconds"""

Place = tuple[float, float, float]
"""x, y, and the time at which it was there"""


class Average:
    """The exponential moving average of about `count` numbers, and their variance."""

    def __init__(self, count: int) -> None:
        self._share = 2 / (count + 1)
        self._empty = True
        self.mean = 0.0
        self.variance = 0.0

    def add(self, number: float) -> None:
        if self._empty:
            self._empty, self.mean = False, number
            return
        off = number - self.mean
        self.mean += self._share * off
        self.variance = (1 - self._share) * (self.variance + self._share * off * off)


class MirrorPlayback:
    """One sender's snapshots on a timeline of its own. All times are ms."""

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._sent: list[float] = []
        self._arrived: list[float] = []
        self._time = 0.0
        self._scale = 1.0
        self._drift = Average(DRIFT_SNAPSHOTS)
        self._gaps = Average(GAP_SNAPSHOTS)

    def push(self, arrived: float, place: Place) -> None:
        """Take in a snapshot in the frame at `arrived`."""
        sent, delay = place[2], 2 * INTERVAL + math.sqrt(self._gaps.variance)
        if not self._sent:
            self._time = sent - delay
        index = bisect_left(self._sent, sent)
        if len(self._sent) >= BUFFER or sent in self._sent[index : index + 1]:
            return
        self._sent.insert(index, sent)
        self._arrived.insert(index, arrived)
        self._places.insert(index, place)
        if len(self._sent) > 1:
            self._gaps.add(self._arrived[-1] - self._arrived[-2])
        self._time = max(sent - 2 * delay, min(sent, self._time))
        self._drift.add(sent - self._time)
        off = self._drift.mean - delay
        self._scale = FASTER if off > INTERVAL else SLOWER if off < -INTERVAL else 1.0

    def step(self, dt: float) -> tuple[Place, Place, float] | None:
        """Go on by dt, and give the snapshots before and after, and how far it is between them (0..1)."""
        if not self._sent:
            return None
        self._time += dt * self._scale
        after = bisect_right(self._sent, self._time)
        if after == 0 or after == len(self._sent):
            end = self._places[max(0, after - 1)]
            found = end, end, 0.0
        else:
            a, b = self._places[after - 1], self._places[after]
            found = a, b, (self._time - a[2]) / (b[2] - a[2])
        for column in (self._places, self._sent, self._arrived):
            del column[: max(0, after - 1)]
        return found
