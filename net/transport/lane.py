"""Lane: one direction of a bad network. Messages go in with a time, and come out when they are due."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, Generic, TypeVar

from net.transport.conditions import Conditions

T = TypeVar("T")

BACKLOG: Final = 2.0
"""seconds of sending that may wait for bandwidth; a message beyond that is dropped"""
SHORTEST_TIMEOUT: Final = 0.2
LONGEST_TIMEOUT: Final = 60.0
"""seconds between two transmissions of the same message, as TCP's retransmission timer (RFC 6298) has them: it starts
at max(SHORTEST_TIMEOUT, 2 * latency) and doubles with each loss"""
HEAVY_SHAPE: Final = 2.5
"""shape of the Pareto tail: most messages come within one jitter of the latency, one in 300 takes ten"""
HEAVIEST: Final = 30.0
"""no message takes more jitters than this"""


@dataclass(slots=True, order=True)
class _Flight(Generic[T]):
    """A message on its way. Sorts by due time, then by order of sending."""

    due: float
    """when it arrives, or while `timeout` is not 0, when it is sent again"""
    number: int
    message: T
    timeout: float = 0.0
    """seconds from this retransmission to the next one; 0 once a transmission came through"""


class Lane(Generic[T]):
    """Holds messages back, loses, doubles and reorders them as `conditions` say. Reads no clock.

    Ordered: one queue; whatever is late holds up all that follows, also when conditions get better meanwhile.
    Not ordered: each message on its own.
    """

    def __init__(self, conditions: Conditions, random: Random) -> None:
        self.conditions = conditions
        """what happens to messages from now on; may be replaced while some are on their way"""
        self.dropped = 0
        """messages that did not fit into the backlog for bandwidth"""
        self.at = 0.0
        """when the message that `due` gave last has arrived: it may have waited for the question"""
        self._random = random
        self._queue: deque[_Flight[T]] = deque()
        self._heap: list[_Flight[T]] = []
        self._number = 0
        self._busy_until = self._held_up_until = 0.0

    def __len__(self) -> int:
        """Messages on their way."""
        return len(self._queue) + len(self._heap)

    @property
    def clear(self) -> bool:
        """Whether a message may pass at once: perfect conditions, and nothing before it."""
        return self.conditions.perfect and not self

    def put(self, message: T, size: int, now: float) -> None:
        """Send a message of `size` bytes at `now` (seconds)."""
        departure = self._departure(size, now)
        if departure is None:
            self.dropped += 1
        elif self.conditions.ordered:
            flight = self._flight(departure, message)
            self._transmit(flight, max(SHORTEST_TIMEOUT, 2 * self.conditions.latency))
            self._queue.append(flight)
        elif self._random.random() >= self.conditions.loss:
            copies = 2 if self._random.random() < self.conditions.duplicate else 1
            for _ in range(copies):
                heapq.heappush(self._heap, self._flight(departure + self._delay(), message))

    def due(self, now: float) -> Iterator[T]:
        """Take out what has arrived by `now`, in order of arrival. The lane may be changed meanwhile."""
        while True:
            self._retransmit(now)
            queue, heap = self._queue, self._heap
            ordered = bool(queue) and not queue[0].timeout and queue[0].due <= now
            if heap and heap[0].due <= now and not (ordered and queue[0].due < heap[0].due):
                self.at = heap[0].due
                yield heapq.heappop(heap).message
            elif ordered:
                self.at = self._held_up_until = max(queue[0].due, self._held_up_until)
                yield queue.popleft().message
            else:
                return

    def empty(self) -> list[T]:
        """Take out everything, in the order in which it was due or queued, and forget the backlog."""
        messages = [flight.message for flight in (*self._queue, *sorted(self._heap))]
        self._queue.clear()
        self._heap.clear()
        self._busy_until = 0.0
        return messages

    def _departure(self, size: int, now: float) -> float | None:
        """When the last byte has left, or None if the backlog is full."""
        if self.conditions.bandwidth is None:
            return now
        start = max(now, self._busy_until)
        if start - now > BACKLOG:
            return None
        self._busy_until = start + size / self.conditions.bandwidth
        return self._busy_until

    def _flight(self, due: float, message: T) -> _Flight[T]:
        self._number += 1
        return _Flight(due, self._number, message)

    def _transmit(self, flight: _Flight[T], timeout: float) -> None:
        """Send `flight`, which leaves at its `due`: it arrives, or is lost and will be sent again after `timeout`."""
        if self._random.random() < self.conditions.loss:
            flight.timeout = min(timeout, LONGEST_TIMEOUT)
            flight.due += flight.timeout
        else:
            flight.timeout = 0.0
            flight.due += self._delay()

    def _retransmit(self, now: float) -> None:
        """Send the head of the queue again as often as its timer has run out. The others' turn comes behind it."""
        while self._queue and self._queue[0].timeout and self._queue[0].due <= now:
            self._transmit(self._queue[0], 2 * self._queue[0].timeout)

    def _delay(self) -> float:
        """Latency with jitter, seconds."""
        latency, jitter = self.conditions.latency, self.conditions.jitter
        if not jitter:
            return latency
        if self.conditions.distribution == "uniform":
            spread = self._random.uniform(-jitter, jitter)
        elif self.conditions.distribution == "normal":
            spread = self._random.gauss(0.0, jitter)
        else:
            spread = jitter * min(HEAVIEST, self._random.paretovariate(HEAVY_SHAPE) - 1)
        return max(0.0, latency + spread)
