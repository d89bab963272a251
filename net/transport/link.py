"""Link: what a WebSocket transport has on the background thread. It connects, carries frames, and comes back."""

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
from net.transport.shared_loop import SharedLoop

_log = logging.getLogger(__name__)
_shared_loop = SharedLoop()

FAREWELL: Final = 0.5
"""seconds that the closing handshake may take"""
INBOX_LIMIT: Final = 10_000
"""messages that may wait for an owner who does not poll; then the socket is read no further"""
BREATH: Final = 0.02
"""seconds between two looks whether the owner polls again"""
FAIR_SHARE: Final = 64
"""messages that one link may send in a row while others wait for the thread"""


class Link:
    """Lives on the event loop that all links share. The owner reads `inbox`, writes `outbox`, and calls the rest.

    A life lasts from `connect` over all reconnects to the CLOSED that ends it. There is one at a time.
    """

    def __init__(self, dialer: Dialer, policy: RetryPolicy, outbox: Outbox, clock: Clock, keep: bool) -> None:
        """`keep`: what was sent to a connection that got lost goes to the next one. Otherwise it is thrown away."""
        self.inbox: deque[tuple[float, str | bytes | ConnectionStatus]] = deque()
        """what has arrived, in order, and when: text, binary, and what became of the connection"""
        self.watchers: deque[Callable[[], object]] = deque()
        """to be called when something arrives, once each, by any thread"""
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
        self._woken = False
        self._lives: asyncio.Queue[asyncio.Task[None] | None] = asyncio.Queue()
        self._life: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: asyncio.Task[None] | None = None
        self._ended = threading.Event()

    # Called by the owner's thread.

    def wake(self) -> None:
        """Say that the outbox has been filled. One wake-up serves all that is put before the loop looks."""
        if not self._woken and self._loop is not None:
            self._woken = True
            self._call(self._wake)

    def connect(self) -> None:
        """Begin a new life."""
        if self._loop is None:
            self._loop = _shared_loop.enter()
            self._call(self._start)
        self._call(self._begin)

    def disconnect(self) -> None:
        """End the life: send what is in the outbox if there is a connection, and close it. Nothing between lives."""
        self._call(self._hang_up)

    def stop(self) -> None:
        """The same for good, within a second; the thread ends with the last link."""
        if self._loop is not None and _shared_loop.owns(self._loop):
            self._call(self._stop)
            self._ended.wait(2 * FAREWELL)
            _shared_loop.leave(self._loop)

    def put(self, item: str | bytes | ConnectionStatus) -> None:
        """Append to the inbox. The loop's thread does so too."""
        self.inbox.append((self._clock.now(), item))
        self.call_watchers()

    def call_watchers(self) -> None:
        """Call who waits for something to arrive."""
        while self.watchers:
            with contextlib.suppress(IndexError):  # it has just been taken back
                self.watchers.popleft()()

    def _call(self, function: Callable[[], object]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(function)

    # Called by the loop's thread.

    def _start(self) -> None:
        self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        try:
            await self._live()
        except Exception:
            _log.exception("a connection ended")
            self._announce(TransportState.CLOSED, reason="internal error")
        finally:
            self._ended.set()

    def _wake(self) -> None:
        self._woken = False
        self._filled.set()

    def _begin(self) -> None:
        self._life = asyncio.ensure_future(self._come_and_go())
        self._lives.put_nowait(self._life)

    def _hang_up(self) -> None:
        if self._life is not None and not self._life.cancelling():
            self._life.cancel()

    def _stop(self) -> None:
        self._hang_up()
        self._lives.put_nowait(None)

    def _announce(self, state: TransportState, attempt: int = 0, code: int | None = None, reason: str = "") -> None:
        self.put(ConnectionStatus(state, attempt, self._policy.tries, code, reason))

    async def _live(self) -> None:
        while (life := await self._lives.get()) is not None:
            await asyncio.wait((life,))
            if life.cancelled():
                self._announce(TransportState.CLOSED, 0, *await self._part())
            else:
                life.result()

    async def _come_and_go(self) -> None:
        """Connect, and connect again, until the policy says that it is enough."""
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
                self._announce(TransportState.CLOSED, attempt, code, reason)
                return
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
                self.put(message)
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
        sent = 0
        while connection.state is State.OPEN and (outgoing := self._outbox.take()) is not None:
            # Before the first connection was seen, frames belong to it.
            if not self._keep and max(1, outgoing.epoch) != self._connections:
                self._outbox.stale += 1
                continue
            self.messages_up += 1
            self.bytes_up += len(outgoing.frame)
            await connection.send(outgoing.frame, text=not outgoing.binary)
            sent += 1
            if sent % FAIR_SHARE == 0:
                await asyncio.sleep(0)

    async def _part(self) -> tuple[int, str]:
        """Say good-bye if there is somebody to say it to, cut the connection if the answer takes too long.

        Returns close code and reason.
        """
        connection, self._connection = self._connection, None
        if connection is None:
            return 1000, ""
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(FAREWELL):
                await self._flush(connection)
                await connection.close()
        connection.transport.abort()
        await connection.wait_closed()
        return connection.close_code or 1006, connection.close_reason or ""


def _ending(closed: ConnectionClosed) -> tuple[int, str]:
    """Close code and reason: theirs, or 1006 with why we had to cut it."""
    if closed.rcvd is not None:
        return closed.rcvd.code, closed.rcvd.reason
    return 1006, closed.sent.reason if closed.sent is not None else "the connection was lost"
