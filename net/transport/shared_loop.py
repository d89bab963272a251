"""SharedLoop: one background thread with one event loop, for all connections of this process."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Final

ENDING: Final = 0.5
"""seconds that the thread may take to end after its last user has left"""


class SharedLoop:
    """Starts a daemon thread for its first user and ends it with its last; the next one gets a new thread.

    A thread for each connection would cost more than the connections do: they would all wait for one another's turn
    at the interpreter. Users may come and leave on any thread.
    """

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            # A forked child has a copy of all this, but no thread: its users start with one of their own.
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._running: _Running | None = None

    def enter(self) -> asyncio.AbstractEventLoop:
        """The loop, running, until `leave` is called as often."""
        with self._lock:
            if self._running is None:
                self._running = _Running()
            self._users += 1
            return self._running.loop

    def leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give back what `enter` has given. After the last user the thread ends, and whatever still runs there."""
        with self._lock:
            if self._running is None or not self.owns(loop):
                return
            self._users -= 1
            if self._users:
                return
            last, self._running = self._running, None
        last.end()

    def owns(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether somebody uses `loop` here: not in a forked child, which has inherited it without its thread."""
        return self._running is not None and loop is self._running.loop


class _Running:
    """A loop and its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="websocket", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop, and cancel what still runs."""
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(ENDING)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:  # it cancels what is left in the end
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        await self._stop.wait()
