"""What one connection may say, and how often: floods and nonsense are dropped, told about, and at last thrown out."""

from __future__ import annotations

from enum import Enum
from typing import Final

RATE: Final = 240.0
"""messages a second: four times what an honest client sends"""
BURST: Final = 480.0
"""messages at once: what an honest client has to say after two seconds of stall, twice over"""
WINDOW: Final = 10.0
"""seconds over which drops and malformed messages are counted"""
MAX_DROPPED: Final = 2000
"""dropped messages in one window; more close the connection"""
MAX_MALFORMED: Final = 50
"""malformed messages in one window; this many close the connection"""
TELL_EVERY: Final = 1.0
"""seconds between two complaints of one kind"""


class Verdict(Enum):
    """What to do with a message."""

    PASS = "pass"
    DROP = "drop"
    TELL = "drop it, and tell the peer"
    CLOSE = "close the connection"


_PASS: Final = Verdict.PASS
_LONG_AGO: Final = -1e300
"""seconds; finite, so that no tokens at all come of it at a rate of 0"""


class _Offence:
    """One kind of misbehaviour: how often in this window, and when the peer was last told."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self._since = float("-inf")
        self._told = float("-inf")

    def again(self, now: float, silent: bool) -> Verdict:
        if now - self._since > WINDOW:
            self._since, self._count = now, 0
        self._count += 1
        if self._count >= self._limit:
            return Verdict.CLOSE
        if not silent and now - self._told >= TELL_EVERY:
            self._told = now
            return Verdict.TELL
        return Verdict.DROP


class Guard:
    """The limits of one connection: a token bucket for messages, and how often it misbehaves. Times are seconds."""

    __slots__ = ("_at", "_burst", "_dropped", "_malformed", "_rate", "_tokens")

    def __init__(self, *, rate: float = RATE, burst: float = BURST) -> None:
        """At most `burst` messages at once, and `rate` a second in the long run."""
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = _LONG_AGO
        self._dropped = _Offence(MAX_DROPPED + 1)
        self._malformed = _Offence(MAX_MALFORMED)

    def message(self, now: float, *, silent: bool = False) -> Verdict:
        """A message has arrived, whatever is in it: PASS, or what to do about a flood. Never TELL when `silent`.

        A `now` that goes back brings no tokens.
        """
        tokens = self._tokens
        if now > self._at:
            tokens = min(self._burst, tokens + (now - self._at) * self._rate)
            self._at = now
        if tokens >= 1.0:
            self._tokens = tokens - 1.0
            return _PASS
        self._tokens = tokens
        return self._dropped.again(now, silent)

    def malformed(self, now: float, *, silent: bool = False) -> Verdict:
        """A message turned out to be malformed. Never PASS, and never TELL when `silent`."""
        return self._malformed.again(now, silent)
