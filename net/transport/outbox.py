"""Outbox: frames on their way from the owner's thread to the socket's. Bounded, because a connection may be away."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Outgoing(NamedTuple):
    """One frame to be sent."""

    epoch: int
    """how many connections its sender had seen open when it was sent"""
    frame: bytes
    binary: bool


class Outbox:
    """A queue with one thread that puts and one that takes. No lock: each counter has one thread that writes it."""

    def __init__(self, limit: int, limit_bytes: int) -> None:
        self._queue: deque[Outgoing] = deque()
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._bytes_in = 0
        self._bytes_out = 0
        self._puts = 0
        self._takes = 0
        self._held_from: int | None = None
        self.refused = 0
        """frames that did not fit; counted by the thread that puts"""
        self.stale = 0
        """frames thrown away because their connection is gone; counted by the thread that takes"""

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, outgoing: Outgoing) -> bool:
        """Append one frame, or refuse and count it when the queue is full: what was first stays first."""
        size = len(outgoing.frame)
        full = len(self._queue) >= self._limit or self._bytes_in - self._bytes_out + size > self._limit_bytes
        if full:
            self.refused += 1
            return False
        self._bytes_in += size
        self._puts += 1
        self._queue.append(outgoing)
        return True

    def take(self) -> Outgoing | None:
        """The oldest frame, or None if there is none but held ones."""
        if not self._queue or self._takes == self._held_from:
            return None
        outgoing = self._queue.popleft()
        self._takes += 1
        self._bytes_out += len(outgoing.frame)
        return outgoing

    def hold(self) -> None:
        """Keep what is put from now on until `release`."""
        self._held_from = self._puts

    def release(self) -> None:
        """Let what was kept be taken."""
        self._held_from = None

    def discard(self) -> None:
        """Throw away and count everything that is not held."""
        while self.take() is not None:
            self.stale += 1
