"""Headless: sessions whose match nobody looks at."""

from __future__ import annotations

from game.session.base import Frame, Pilot
from game.session.match import Match
from game.session.online import OnlineSession
from game.session.peer import PeerSession


class Headless(Match):
    """Plays as every session does, but works out no poses: with many players those are most of the work."""

    def _draw(self, now: float, dt: float, pilot: Pilot) -> Frame:
        return self._finish_frame(now)


class HeadlessOnline(Headless, OnlineSession):
    """`OnlineSession` without eyes: its frames show nobody."""

    def _follow(self, time: float) -> None:
        """Where the others are is nobody's business."""


class HeadlessPeer(Headless, PeerSession):
    """`PeerSession` without eyes: its frames show nobody."""
