"""What one turn of the loop brings for a peer leaves in one write: who has something to write is visited at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Flusher:
    """Calls everyone who asked during this turn of the loop, once each, when it is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[Callable[[], None]] = []

    def add(self, flush: Callable[[], None]) -> None:
        """Call `flush` at the end of this turn. It must not raise."""
        if not self._waiting:
            self._loop.call_soon(self._run)
        self._waiting.append(flush)

    def _run(self) -> None:
        waiting, self._waiting = self._waiting, []
        for flush in waiting:
            flush()
