"""WebSocketTransport: messages over a WebSocket, by a background thread, with reconnects."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from net.clock import Clock, MonotonicClock
from net.envelope import encode
from net.subscribers import Subscribers
from net.transport.base import ConnectionStatus, Traffic, TransportState, Unsubscribe
from net.transport.dialer import Dialer
from net.transport.endpoint import Endpoint, check_bytes
from net.transport.link import Link
from net.transport.outbox import Outbox, Outgoing
from net.transport.retry import RetryPolicy

__all__ = ["RetryPolicy", "WebSocketTransport"]


class WebSocketTransport(Endpoint):
    """A peer in a room of a relay or an authority: the room is the path of the URL.

    It starts to connect at once, or with `autoconnect=False` when `connect` is called. Each time the status becomes
    OPEN there is a new connection, and the application greets again. What is sent before the first one waits, in
    order, and leaves as it opens. What is sent later while the connection is away waits too, unless
    `queue_while_away` is False: then it is dropped, with whatever the lost connection had not taken yet, so that a
    greeting sent in the status callback is the first frame of its connection.

    `disconnect` ends a connection and `connect` makes the next one, as often as one likes, with the same name and
    subscribers. `close` is for good.

    Callbacks run inside `poll`. A program without a frame loop awaits `pump` in a task instead, which polls when
    something has arrived. Both work on any thread, with or without an event loop of asyncio: but always on the same.
    """

    reliable_ordered: Final = True

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        peer_id: str | None = None,
        policy: RetryPolicy | None = None,
        autoconnect: bool = True,
        subprotocols: Sequence[str] = (),
        compression: bool = False,
        queue_while_away: bool = True,
        queue_limit: int = 1024,
        queue_bytes: int = 4 * 2**20,
        connect_timeout: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        """Raises ValueError for a malformed URL. Of several the first that answers is kept.

        `policy`: when to come back, RetryPolicy.backoff() unless given. `queue_limit` and `queue_bytes` bound what
        waits for a connection that is away or slow: what does not fit is dropped, and counted in `traffic.dropped`.
        `connect_timeout`: seconds for each address. `clock` stamps what arrives; its `now` is called by another thread.
        """
        urls = [urls] if isinstance(urls, str) else urls
        dialer = Dialer(urls, subprotocols=subprotocols, compression=compression, timeout=connect_timeout)
        policy = policy or RetryPolicy.backoff()
        state = TransportState.CONNECTING if autoconnect else TransportState.CLOSED
        super().__init__(peer_id, state, policy.tries)
        self._queue_while_away = queue_while_away
        self._epoch = 0
        self._away = 0
        self._polling = False
        self._opens: Subscribers[()] = Subscribers("opened connections")
        self._closes: Subscribers[int, str] = Subscribers("ended connections")
        self._errors: Subscribers[str] = Subscribers("failed connections")
        self._outbox = Outbox(queue_limit, queue_bytes)
        self._link = Link(dialer, policy, self._outbox, clock or MonotonicClock(), queue_while_away)
        if autoconnect:
            self._link.connect()

    @property
    def traffic(self) -> Traffic:
        """Counters since the transport was made: one object that goes on counting."""
        self._traffic.messages_up = self._link.messages_up
        self._traffic.bytes_up = self._link.bytes_up
        self._traffic.dropped = self._away + self._outbox.refused + self._outbox.stale
        return self._traffic

    def on_open(self, callback: Callable[[], object]) -> Unsubscribe:
        """Call `callback` when a connection has opened. What had waited for it leaves before what is sent then."""
        return self._opens.add(callback)

    def on_close(self, callback: Callable[[int, str], object]) -> Unsubscribe:
        """Call `callback` with close code and reason when a connection has ended, by whomever, or `disconnect` has.

        1006 is a connection that was lost without a word. Whether another one is tried is what `status` says.
        """
        return self._closes.add(callback)

    def on_error(self, callback: Callable[[str], object]) -> Unsubscribe:
        """Call `callback` with a sentence for people whenever no connection could be opened."""
        return self._errors.add(callback)

    def connect(self) -> None:
        """Begin to connect when the status is CLOSED: not asked yet, disconnected, refused, or given up.

        Returns at once. Nothing while there is a connection, or tries go on; nothing after `close`.
        """
        if self._closed or self._status.state is not TransportState.CLOSED:
            return
        self._outbox.release()
        self._enter(TransportState.CONNECTING)
        self._link.connect()

    def disconnect(self) -> None:
        """Send what is queued if there is a connection, and end it with 1000, or give up to look for one.

        Returns at once, with the status CLOSING; CLOSED follows in `poll`. What is sent from now on waits for the next
        `connect`. Nothing where there is no connection and none is tried.
        """
        if self._status.state not in (TransportState.CONNECTING, TransportState.OPEN):
            return
        self._outbox.hold()
        self._enter(TransportState.CLOSING)
        self._link.disconnect()

    async def wait_open(self, timeout: float) -> None:
        """Return when the connection is open; what arrives until then is delivered.

        Raises TimeoutError after `timeout` seconds, and ConnectionError with the reason once the status is CLOSED.
        """
        try:
            async with asyncio.timeout(timeout):
                while not self._poll_open():
                    await self._arrival()
        except TimeoutError:
            raise self._too_late(timeout) from None

    def wait_open_blocking(self, timeout: float) -> None:
        """The same for plain code: it stops the thread meanwhile. Raises RuntimeError inside a callback."""
        if self._polling:
            raise RuntimeError("a callback cannot wait for the connection: it would come after the callback")
        clock = MonotonicClock()
        end = clock.now() + timeout
        while not self._poll_open():
            arrived = threading.Event()
            with self._watch(arrived.set):
                if not self._link.inbox and not arrived.wait(max(0.0, end - clock.now())):
                    raise self._too_late(timeout)

    async def pump(self) -> None:
        """Deliver what arrives, as it arrives, until `close`. May be cancelled at any time without a loss."""
        while not self._closed:
            self.poll()
            await self._arrival()

    def send(self, data: Any) -> None:
        """Send one JSON value. Raises TypeError or ValueError for what JSON cannot hold. Nothing once closed."""
        if not self._closed:
            self._queue(encode(self._peer_id, data), binary=False)

    def send_bytes(self, data: bytes) -> None:
        """Send one binary message. Raises TypeError for what is not bytes. Nothing once closed."""
        check_bytes(data)
        if not self._closed:
            self._queue(data, binary=True)

    def poll(self) -> None:
        """Deliver everything that has arrived since the last call, and what became of the connection."""
        if self._polling:
            return
        self._polling = True
        try:
            inbox = self._link.inbox
            for _ in range(len(inbox)):
                if self._closed:
                    return
                at, item = inbox.popleft()
                if isinstance(item, ConnectionStatus):
                    self._take_status(item)
                else:
                    self._receive(item, isinstance(item, bytes), at)
        finally:
            self._polling = False

    def close(self) -> None:
        """Send what is queued if there is a connection, and close it with 1000. Safe to call twice.

        The background thread, which all these transports share, ends with the last of them.

        Takes a round trip, and no more than a second if the server does not answer. No callback runs: a program on
        asyncio may leave it to `asyncio.to_thread`.
        """
        if self._closed:
            return
        self._closed = True
        self._status = ConnectionStatus(TransportState.CLOSING)
        self._link.stop()
        self._end()
        for listeners in (self._opens, self._closes, self._errors):
            listeners.clear()
        self._link.call_watchers()

    def _queue(self, frame: bytes, binary: bool) -> None:
        away = self._epoch > 0 and self._status.state is not TransportState.OPEN
        if away and not self._queue_while_away:
            self._away += 1
        elif self._outbox.put(Outgoing(self._epoch, frame, binary)):
            self._link.wake()

    def _enter(self, state: TransportState) -> None:
        """Change the state by our own will: at once for whoever asks, in `poll` for whoever listens."""
        self._status = ConnectionStatus(state, attempts=self._status.attempts)
        self._link.put(self._status)

    def _take_status(self, status: ConnectionStatus) -> None:
        self._epoch += status.state is TransportState.OPEN
        leaving = self._status.state is TransportState.CLOSING
        if leaving and status.state in (TransportState.CONNECTING, TransportState.OPEN):
            return  # it happened before our wish to leave was known there
        if status.state is TransportState.CLOSING and not leaving:
            return  # it had ended by itself
        self._status = status
        self._statuses.notify(status)
        if status.state is TransportState.OPEN:
            self._opens.notify()
        elif status.code is not None:
            self._closes.notify(status.code, status.reason)
        elif status.reason:
            self._errors.notify(status.reason)

    def _poll_open(self) -> bool:
        """Poll, and say whether the connection is open. Raises ConnectionError if it will never be."""
        self.poll()
        if self._status.state is TransportState.CLOSED:
            raise ConnectionError(self._status.reason or "there is no connection, and nobody has asked for one")
        return self._status.state is TransportState.OPEN

    def _too_late(self, timeout: float) -> TimeoutError:
        reason = f": {self._status.reason}" if self._status.reason else ""
        return TimeoutError(f"no connection within {timeout:g} s{reason}")

    async def _arrival(self) -> None:
        """Wait until there is something to poll, or the transport has been closed."""
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody waits any more
                loop.call_soon_threadsafe(arrived.set)

        with self._watch(wake):
            if self._link.inbox or self._closed:
                await asyncio.sleep(0)  # others want their turn, too
            else:
                await arrived.wait()

    @contextlib.contextmanager
    def _watch(self, watcher: Callable[[], object]) -> Iterator[None]:
        """Have `watcher` called at the next arrival."""
        self._link.watchers.append(watcher)
        try:
            yield
        finally:
            with contextlib.suppress(ValueError):  # it has been called
                self._link.watchers.remove(watcher)
