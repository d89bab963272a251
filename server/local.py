"""A server within the program that plays on it: the same rooms and rules, no socket, and no thread."""

from __future__ import annotations

from game.sim.constants import TICK_RATE
from net.clock import Clock
from net.sync.fixedstep import FixedStep
from net.transport.base import Transport
from server.authority import Authority
from server.inprocess import connect
from server.log import unheard


class LocalServer:
    """An authority whose time goes on when its player says so."""

    def __init__(self, clock: Clock, *, bots: int = 0) -> None:
        """`bots` live in its room."""
        self._authority = Authority(clock, unheard, bots=bots)
        self._steps = FixedStep(TICK_RATE)

    def connect(self) -> Transport:
        """A connection to its room."""
        return connect(self._authority)

    def advance(self, now: float) -> None:
        """Run the ticks that are due at `now` (seconds)."""
        steps = self._steps
        for left in range(steps.due(now), 0, -1):
            self._authority.tick(steps.next_at - left / steps.rate)
