"""Emotes: who says what, and for how long."""

from __future__ import annotations

import math
from typing import Final

from game.wire import EMOTES

SHOWN: Final = 2.5
"""seconds"""
GAP: Final = 0.5
"""seconds that one player has to wait between two"""


class Emotes:
    """The newest emote of every player, while it is shown."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[int, float]] = {}

    def say(self, peer_id: str, index: int, now: float) -> bool:
        """A player says EMOTES[index] at `now` (seconds). False if the last one was only a moment ago."""
        if now - self._said.get(peer_id, (0, -math.inf))[1] < GAP:
            return False
        self._said[peer_id] = index, now
        return True

    def texts(self, now: float) -> dict[str, str]:
        """What everybody says now who has said something: nothing any more, if that was too long ago."""
        return {peer_id: EMOTES[index] if now - at < SHOWN else "" for peer_id, (index, at) in self._said.items()}

    def forget(self, peer_id: str) -> None:
        """A player has left."""
        self._said.pop(peer_id, None)
