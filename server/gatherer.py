"""Under load a server wakes up once a tick: what many peers have sent is taken together, right before it counts.

Waking up costs more than reading one command. A network card that gathers packets before it interrupts does the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from net.clock import Clock
from server.flusher import Flusher

CROWD: Final = 32
"""connections from which on input is gathered: fewer don't wake a loop that often, and nobody shall wait for nothing"""
LONGEST: Final = 0.05
"""seconds that input waits at most, whenever it is due"""


class Gatherer:
    """Lets a loop that has taken some input take no more of it before it is due, while there is a crowd."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        due: Callable[[], float],
        flusher: Flusher,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`due`: when input is looked at next. `sleep` blocks the loop, so that what `flusher` has goes first."""
        self._loop = loop
        self._clock = clock
        self._due = due
        self._flusher = flusher
        self._sleep = sleep
        self._crowded = False
        self.wants = False
        """whether to call `came` when input comes: once a turn, while there is a crowd"""

    def count(self, connections: int) -> None:
        """So many are connected now."""
        crowded = connections >= CROWD
        if crowded != self._crowded:
            self._crowded = self.wants = crowded

    def came(self) -> None:
        """Input has come: no more of it is read before its time."""
        self.wants = False
        self._loop.call_soon(self._wait)

    def _wait(self) -> None:
        if self._flusher.waiting:
            self._loop.call_soon(self._wait)
            return
        wait = min(LONGEST, self._due() - self._clock.now())
        if wait > 0:
            self._sleep(wait)
        self.wants = self._crowded
