"""Matches whose authority is in this very program."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from game.session.base import Frame, Pilot, Role
from game.session.online import OnlineSession
from net.clock import Clock
from net.transport.base import Transport


class Server(Protocol):
    """An authority that lives on its player's time."""

    def connect(self) -> Transport:
        """A connection to it."""
        ...

    def advance(self, now: float) -> None:
        """Run the ticks that are due at `now` (seconds)."""
        ...


class OfflineSession(OnlineSession):
    """The same match as online, for one player and whoever lives on `server`."""

    role: ClassVar[Role] = Role.OFFLINE

    def __init__(self, server: Server, clock: Clock, **options: Any) -> None:
        """`options` are those of a `Match`."""
        self._server = server
        super().__init__(server.connect, clock, **options)

    def update(self, now: float, pilot: Pilot) -> Frame:
        """Let the server do what is due, then as ever."""
        self._server.advance(now)
        return super().update(now, pilot)


class HostSession(OnlineSession):
    """The match of the player whose program others play on too."""

    role: ClassVar[Role] = Role.HOST
