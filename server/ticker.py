"""The steps of a server's rooms, at the rate of the simulation, on the event loop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from game.sim.constants import TICK_RATE
from net.clock import Clock
from net.sync.fixedstep import FixedStep


class Ticker:
    """Calls `tick` at a fixed rate on the event loop, each step with the time that it was due at."""

    def __init__(self, clock: Clock, tick: Callable[[float], None], *, rate: float = TICK_RATE) -> None:
        """It starts at once; `rate` in steps a second."""
        self._clock = clock
        self._tick = tick
        self._steps = FixedStep(rate)
        self._loop = asyncio.get_running_loop()
        self._run()

    @property
    def dropped(self) -> int:
        """Steps that were left out because the process was too late for them."""
        return self._steps.dropped

    def stop(self) -> None:
        """No more steps."""
        self._timer.cancel()

    def _run(self) -> None:
        steps = self._steps
        due = steps.due(self._clock.now())
        try:
            for left in range(due, 0, -1):
                self._tick(steps.next_at - left / steps.rate)
        finally:
            # Whole ms, rounded up: a loop that counts in them would wake early, and spin until it is time.
            wait = math.ceil(max(0.0, steps.next_at - self._clock.now()) * 1000) / 1000
            self._timer = self._loop.call_later(wait, self._run)
