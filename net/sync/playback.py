"""Playback: one clock for everything that one sender's snapshots show, told in the sender's time.

A snapshot is shown at the time at which it was true, not at the time at which it happened to arrive. The clock stands
some delay behind the fastest way. It is led there by playing a little faster or slower, never by a jump, and it never
goes backward. Where there is no snapshot yet for what it wants to show, it goes on into the unknown, slows down, and
stops before HORIZON (the tracks guess what is there); when snapshots come again, it plays faster until it caught up.
"""

from __future__ import annotations

import math
from typing import Final

from net.sync.lateness import Lateness

FASTER: Final = 0.5
"""how much faster than real time it plays at most, to catch up; making good a wrong guess, more looks like a jump"""
SLOWER: Final = 0.75
"""how much slower at most, to fall back: the sooner a stall is ridden out, the less of it is a guess"""
APPROACH: Final = 0.1
"""seconds after which 1/e is left of a small distance to where it should be"""
SNAP: Final = 1.0
"""seconds: from farther behind than this it jumps forward"""
HORIZON: Final = 0.5
"""seconds beyond the newest snapshot that are never reached"""
EASE: Final = 0.3
"""the last seconds of them, in which it slows down"""


class Playback:
    """The time that is shown. All times are seconds; one object a connection and sender: a new sender has a new clock.

    `delay` is how far behind the fastest way to play. None: adaptive, as far as the measured lateness asks for.
    """

    __slots__ = ("_fixed", "_now", "_wanted", "lateness", "time")

    def __init__(self, delay: float | None = None, *, interval: float | None = None) -> None:
        """`interval`: how far apart snapshots are sent, where that is known; otherwise it is learnt."""
        self._fixed = delay
        self._now = -math.inf
        self._wanted = -math.inf
        self.lateness = Lateness(interval)
        self.time = -math.inf
        """the sender's time that is shown; -inf before the first snapshot"""

    def hear(self, sent: float, arrived: float, pause: float = 0.0) -> None:
        """Take in the times of a snapshot: the sender's in it, and the local one of its arrival.

        `pause`: seconds beyond the interval for which the sender may be silent after it, as nothing happens: such a
        silence is not taken for a stall. Times that are no finite numbers are ignored.
        """
        if math.isfinite(sent) and math.isfinite(arrived):
            self.lateness.add(sent, arrived, pause)

    @property
    def wanted(self) -> float:
        """The sender's time that should be shown; -inf before the first snapshot."""
        return self._wanted

    @property
    def delay(self) -> float:
        """How far behind the fastest way it is; 0 before the first snapshot."""
        return self._now - self.lateness.fastest - self.time if self.time > -math.inf else 0.0

    @property
    def depth(self) -> float:
        """How far ahead of what is shown the newest snapshot is; below 0 what is shown is a guess."""
        return self.lateness.newest - self.time if self.time > -math.inf else 0.0

    def advance(self, now: float) -> float:
        """Go on to local time `now`, once a frame, and say which of the sender's times to show.

        It runs between 1 - SLOWER and 1 + FASTER times real time, but for two cases: beyond the newest snapshot it
        slows down until it stands still, and from more than SNAP behind it jumps forward.
        """
        lateness = self.lateness
        if lateness.newest == -math.inf:
            return self.time
        self._wanted = now - lateness.fastest - (lateness.delay(now) if self._fixed is None else self._fixed)
        dt = max(0.0, now - self._now) if self.time > -math.inf else 0.0
        self._now = max(self._now, now)
        gap = self._wanted - self.time - dt
        if self.time == -math.inf or gap > SNAP:
            self.time = max(self.time, min(self._wanted, lateness.newest))
        else:
            pull = gap * -math.expm1(-dt / APPROACH)
            step = dt + max(-SLOWER * dt, min(FASTER * dt, pull))
            self.time += _ease(step, lateness.newest + HORIZON - self.time)
        return self.time


def _ease(step: float, room: float) -> float:
    """The part of `step` that is taken with `room` left: all of it at first, and ever less in the last EASE of it."""
    free = max(0.0, room - EASE)
    if step <= free:
        return step
    return free - max(0.0, min(EASE, room)) * math.expm1((free - step) / EASE)
