"""Link: the thread behind a WebSocket transport. It connects, carries frames, and comes back after a loss."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from net.clock import Clock
from net.transport.base import ConnectionStatus, TransportState
from net.transport.dialer import Dialer, UnreachableError
from net.transport.outbox import Outbox
from net.transport.retry import RetryPolicy

_log = logging.getLogger(__name__)

FAREWELL: Final = 0.5
"""seconds that the closing handshake may take"""
INBOX_LIMIT: Final = 10_000
"""messages that may wait for an owner who does not poll; then the socket is read no further"""
BREATH: Final = 0.02
"""seconds between two looks whether the owner polls again"""


class Link:
    """Runs an event loop in a daemon thread. The owner reads `inbox`, writes `outbox`, and calls the rest."""

    def __init__(self, dialer: Dialer, policy: RetryPolicy, outbox: Outbox, clock: Clock, keep: bool) -> None:
        """`keep`: what was sent to a connection that got lost goes to the next one. Otherwise it is thrown away."""
        self.inbox: deque[tuple[float, str | bytes | ConnectionStatus]] = deque()
        """what has arrived, in order, and when: text, binary, and what became of the connection"""
        self.messages_up = 0
        self.bytes_up = 0
        self._dialer = dialer
        self._policy = policy
        self._outbox = outbox
        self._clock = clock
        self._keep = keep
        self._connections = 0
        self._connection: ClientConnection | None = None
        self._filled = asyncio.Event()
        self._again = asyncio.Event()
        self._woken = False
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._live())
        self._thread = threading.Thread(target=self._run, name="websocket", daemon=True)
        self._thread.start()

    # Called by the owner's thread.

    def wake(self) -> None:
        """Say that the outbox has been filled. One wake-up serves all that is put before the loop looks."""
        if not self._woken:
            self._woken = True
            self._call(self._wake)

    def retry(self) -> None:
        """Try again after having given up."""
        self._call(self._again.set)

    def stop(self) -> None:
        """Send what is in the outbox if there is a connection, close it, and end the thread: within a second."""
        self._call(self._task.cancel)
        self._thread.join(2 * FAREWELL)

    def _call(self, function: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function)

    # Called by the loop's thread.

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            self._loop.run_until_complete(self._part())
        except Exception:
            _log.exception("the connection's thread ended")
            self._announce(TransportState.CLOSED, reason="internal error")
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def _wake(self) -> None:
        self._woken = False
        self._filled.set()

    def _announce(self, state: TransportState, attempt: int = 0, code: int | None = None, reason: str = "") -> None:
        status = ConnectionStatus(state, attempt, self._policy.tries, code, reason)
        self.inbox.append((self._clock.now(), status))

    async def _live(self) -> None:
        attempt = 0
        while True:
            code: int | None = None
            try:
                connection = await self._dialer.dial()
            except UnreachableError as error:
                reason = str(error)
            else:
                attempt = 0
                code, reason = await self._serve(connection)
            if attempt >= self._policy.tries or self._policy.final(code):
                self._again.clear()
                self._announce(TransportState.CLOSED, attempt, code, reason)
                await self._again.wait()
                attempt = 0
                self._announce(TransportState.CONNECTING)
            else:
                attempt += 1
                self._announce(TransportState.CONNECTING, attempt, code, reason)
                await asyncio.sleep(self._policy.delay(attempt, random.random()))

    async def _serve(self, connection: ClientConnection) -> tuple[int, str]:
        """Carry frames until the connection ends, and return its close code and reason."""
        self._connection = connection
        self._connections += 1
        self._announce(TransportState.OPEN)
        writer = asyncio.create_task(self._write(connection))
        try:
            while True:
                message = await connection.recv()
                self.inbox.append((self._clock.now(), message))
                while len(self.inbox) >= INBOX_LIMIT:
                    await asyncio.sleep(BREATH)
        except ConnectionClosed as closed:
            self._connection = None
            if not self._keep:
                self._outbox.discard()
            return _ending(closed)
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    async def _write(self, connection: ClientConnection) -> None:
        while True:
            await self._flush(connection)
            await self._filled.wait()
            self._filled.clear()

    async def _flush(self, connection: ClientConnection) -> None:
        while connection.state is State.OPEN and (outgoing := self._outbox.take()) is not None:
            # Before the first connection was seen, frames belong to it.
            if not self._keep and max(1, outgoing.epoch) != self._connections:
                self._outbox.stale += 1
                continue
            self.messages_up += 1
            self.bytes_up += len(outgoing.frame)
            await connection.send(outgoing.frame, text=not outgoing.binary)

    async def _part(self) -> None:
        """Say good-bye if there is somebody to say it to, and cut the connection if the answer takes too long."""
        connection = self._connection
        if connection is None:
            return
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(FAREWELL):
                await self._flush(connection)
                await connection.close()
        connection.transport.abort()
        await connection.wait_closed()


def _ending(closed: ConnectionClosed) -> tuple[int, str]:
    """Close code and reason: theirs, or 1006 with why we had to cut it."""
    if closed.rcvd is not None:
        return closed.rcvd.code, closed.rcvd.reason
    return 1006, closed.sent.reason if closed.sent is not None else "the connection was lost"
