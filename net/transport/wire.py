"""Wire: an in-process link that carries raw frames both ways, in order, as a WebSocket would."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from enum import StrEnum

OnFrame = Callable[[bytes, bool], object]
"""(frame, whether it is binary)"""
OnClose = Callable[[int, str], object]
"""(close code, reason), once, after the last frame"""

_log = logging.getLogger(__name__)


class Delivery(StrEnum):
    """When frames reach the other end."""

    SEND = "send"
    """before the sender's `push` returns; from inside a callback, right after that callback"""
    POLL = "poll"
    """when the receiving end asks for them"""


class WireEnd:
    """One end of a wire. What arrives before somebody is attached waits."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._inbox: deque[tuple[bytes, bool] | tuple[int, str]] = deque()
        self._on_frame: OnFrame | None = None
        self._on_close: OnClose | None = None
        self._delivering = False
        self.open = True
        """False once either end has closed: nothing more can be pushed"""
        self.other: WireEnd | None = None
        """None for an end without a partner: what it pushes is lost"""

    def attach(self, on_frame: OnFrame, on_close: OnClose) -> None:
        """Call these from now on, first with what is already waiting. What they raise is logged."""
        self._on_frame, self._on_close = on_frame, on_close
        self._arrived()

    @property
    def pending(self) -> int:
        """Frames that wait to be delivered to this end."""
        return sum(1 for item in self._inbox if isinstance(item[0], bytes))

    def push(self, frame: bytes, binary: bool) -> None:
        """Send one frame to the other end. Nothing once closed."""
        if self.open and self.other is not None:
            self.other._inbox.append((frame, binary))
            self.other._arrived()

    def close(self, code: int = 1000, reason: str = "") -> None:
        """End the link. The other end gets what was pushed before, then the code and reason. Safe to call twice."""
        if not self.open:
            return
        self.open = False
        self._inbox.clear()
        if self.other is not None:
            self.other.open = False
            self.other._inbox.append((code, reason))
            self.other._arrived()

    def poll(self, limit: int | None = None) -> None:
        """Deliver what waits for this end now, at most `limit` frames."""
        count = len(self._inbox) if limit is None else min(limit, len(self._inbox))
        if self._on_frame is None or self._delivering:
            return
        self._delivering = True
        try:
            while self._inbox and count > 0:
                count -= 1
                self._deliver(*self._inbox.popleft())
        finally:
            self._delivering = False

    def drop(self) -> None:
        """Lose the frames that wait for this end. A close that waits stays."""
        self._inbox = deque(item for item in self._inbox if not isinstance(item[0], bytes))

    def _arrived(self) -> None:
        if self._delivery is Delivery.SEND:
            while self._inbox and self._on_frame is not None and not self._delivering:
                self.poll()

    def _deliver(self, first: bytes | int, second: bool | str) -> None:
        try:
            if isinstance(first, bytes):
                assert self._on_frame is not None
                self._on_frame(first, bool(second))
            else:
                assert self._on_close is not None
                self._on_close(first, str(second))
        except Exception:
            _log.exception("what is attached to a wire raised")


def wire(delivery: Delivery = Delivery.SEND) -> tuple[WireEnd, WireEnd]:
    """Two ends of one new wire."""
    a, b = WireEnd(delivery), WireEnd(delivery)
    a.other, b.other = b, a
    return a, b
