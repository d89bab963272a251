"""Server time from clock samples, by NTP's on-wire arithmetic and clock filter (RFC 5905, sections 8 and 10).

A sample's error is at most half its round trip, and queues only ever make round trips longer: so of the recent samples
the one with the shortest round trip is the best, and a spike of latency cannot move the estimate at all.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final, NamedTuple

WINDOW: Final = 16
"""samples that are looked at"""
WINDOW_SECONDS: Final = 6.0
"""and how old they may be: a path that has become slower is believed after this long"""
SLEW: Final = 0.05
"""how much faster or slower than real time a shown clock may run while it approaches a new estimate"""
STEP: Final = 0.25
"""seconds: a larger error is not worth minutes of slewing, the clock steps"""
DRIFT: Final = 0.0005
"""how much faster or slower than real time the pace may be: clocks of computers differ by less"""


class _Sample(NamedTuple):
    received: float
    rtt: float
    offset: float


class _SlewedClock:
    """A clock that runs `offset` ahead of the local one and approaches a changed offset smoothly."""

    __slots__ = ("_anchor", "_asked", "_from", "_slew", "_step", "_target")

    def __init__(self, slew: float = SLEW, step: float = STEP) -> None:
        self._slew = slew
        self._step = step
        self._anchor = -math.inf
        self._asked = -math.inf
        self._from = 0.0
        self._target = 0.0

    def aim(self, now: float, target: float, at_once: bool) -> None:
        """Approach `target` from `now` on, or from the last time that was asked for: what was told stays told."""
        start = max(now, self._asked)
        shown = self._offset(start)
        self._from = target if at_once or abs(target - shown) > self._step else shown
        self._anchor = start
        self._target = target

    def read(self, now: float) -> float:
        self._asked = max(self._asked, now)
        return now + self._offset(now)

    def _offset(self, now: float) -> float:
        gap = self._target - self._from
        if gap == 0.0:
            return self._target
        room = self._slew * max(0.0, now - self._anchor)
        return self._target if abs(gap) <= room else self._from + math.copysign(room, gap)


class TimeSync:
    """The server's clock, as well as it can be known from here. All times are seconds.

    One object a connection: a server that restarts has a new clock.
    """

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=WINDOW)
        self._best = _Sample(0.0, 0.0, 0.0)
        self._last_rtt = 0.0
        self._server = _SlewedClock()
        self._arrival = _SlewedClock()
        self._pace = _SlewedClock(DRIFT, math.inf)
        self._pace_from: float | None = None
        self.rtt = 0.0
        """the round trip, smoothed with gain 1/8 (RFC 6298's SRTT); 0 before the first sample"""
        self.jitter = 0.0
        """mean change from one round trip to the next, smoothed with gain 1/16 (RFC 3550's estimator)"""

    def add(self, sent: float, server: float, received: float) -> None:
        """Take in one sample: local time of sending, the server's time when it answered, local time of receipt.

        A sample that cannot be (received before it was sent, NaN, infinite) is ignored.
        """
        rtt = received - sent
        if not (0.0 <= rtt < math.inf and math.isfinite(server)):
            return
        first = not self._samples
        self.rtt = rtt if first else self.rtt + (rtt - self.rtt) / 8
        if not first:
            self.jitter += (abs(rtt - self._last_rtt) - self.jitter) / 16
        self._last_rtt = rtt

        samples = self._samples
        while samples and samples[0].received < received - WINDOW_SECONDS:
            samples.popleft()
        samples.append(_Sample(received, rtt, server - sent - rtt / 2))
        # of equal round trips the newest: the clocks may drift against each other
        self._best = min(reversed(samples), key=lambda sample: sample.rtt)
        self._server.aim(received, self._best.offset, first)
        self._arrival.aim(received, self._best.offset - self._best.rtt / 2, first)
        if self._pace_from is None and len(samples) == WINDOW:
            self._pace_from = self._best.offset
        if self._pace_from is not None:
            self._pace.aim(received, self._best.offset - self._pace_from, at_once=False)

    @property
    def ready(self) -> bool:
        """There was a sample; before that, server time is just local time."""
        return bool(self._samples)

    @property
    def offset(self) -> float:
        """The estimate: the server's clock minus the local one."""
        return self._best.offset

    @property
    def rtt_min(self) -> float:
        """The shortest round trip in the window."""
        return self._best.rtt

    def server_time(self, now: float) -> float:
        """The server's clock at local time `now`.

        It never goes back and runs between 0.95 and 1.05 times real time, but for a step when it is wrong by more
        than STEP. If the ways up and down differ, it is wrong by half the difference: no exchange can tell.
        """
        return self._server.read(now)

    def arrival_time(self, now: float) -> float:
        """The server's time of sending of what arrives at local time `now` by the fastest recent way.

        That is server_time - rtt_min / 2, and exact also when the ways up and down differ, as both errors cancel: it
        comes down to the best sample's `server - received`. Slewed like `server_time`, so that what is played by it
        does not jump.
        """
        return self._arrival.read(now)

    def paced_time(self, now: float) -> float:
        """Local time `now` at the server's pace: what is stepped by it makes as many steps as the server does.

        It starts as `now` itself, and follows what the two clocks drift apart, by at most DRIFT: that differs from
        local time by milliseconds in a minute, but from the server's steps by none in an hour.
        """
        return self._pace.read(now)
