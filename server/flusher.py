"""What one turn of the loop brings for a peer leaves in one write: who has something to write is visited at its end."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Writer(Protocol):
    """Somebody who gathers what he has to write."""

    def flush(self) -> None:
        """Write it now. Must not raise."""
        ...


class Flusher:
    """Flushes everyone who asked for it during this turn of the loop, once each, when it is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[Writer] = []

    def add(self, writer: Writer) -> None:
        """Flush `writer` at the end of this turn."""
        if not self._waiting:
            self._loop.call_soon(self._run)
        self._waiting.append(writer)

    def _run(self) -> None:
        waiting, self._waiting = self._waiting, []
        for writer in waiting:
            writer.flush()
