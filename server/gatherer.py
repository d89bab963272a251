"""Under load a server wakes up less often: what many peers send within a moment is taken in one turn of the loop.

Waking up costs more than reading one command. A network card that gathers packets before it interrupts does the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from net.clock import Clock

CROWD: Final = 32
"""connections from which on input is gathered: fewer don't wake a loop that often, and nobody shall wait for nothing"""


class Gatherer:
    """Keeps the turns of a loop that take input at least `spacing` apart, while there is a crowd."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        spacing: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`spacing` in seconds: nothing on the loop is held up for longer than that. `sleep` blocks the loop."""
        self._loop = loop
        self._clock = clock
        self._spacing = spacing
        self._sleep = sleep
        self._next = clock.now()
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
        now = self._clock.now()
        if now < self._next:
            self._sleep(self._next - now)
            now = self._next
        self._next = now + self._spacing
        self.wants = self._crowded
