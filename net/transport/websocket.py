"""WebSocketTransport: messages over a WebSocket, by a background thread, with reconnects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from net.clock import Clock, MonotonicClock
from net.envelope import encode
from net.transport.base import ConnectionStatus, Traffic, TransportState
from net.transport.dialer import Dialer
from net.transport.endpoint import Endpoint, check_bytes
from net.transport.link import Link
from net.transport.outbox import Outbox, Outgoing
from net.transport.retry import RetryPolicy

__all__ = ["RetryPolicy", "WebSocketTransport"]


class WebSocketTransport(Endpoint):
    """A peer in a room of a relay or an authority: the room is the path of the URL.

    It starts to connect at once. Each time the status becomes OPEN there is a new connection, and the application
    greets again. What is sent before the first one waits, in order, and leaves as it opens. What is sent later while
    the connection is away waits too, unless `queue_while_away` is False: then it is dropped, with whatever the lost
    connection had not taken yet, so that a greeting sent in the status callback is the first frame of its connection.
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        peer_id: str | None = None,
        policy: RetryPolicy | None = None,
        subprotocols: Sequence[str] = (),
        compression: bool = False,
        queue_while_away: bool = True,
        queue_limit: int = 1024,
        queue_bytes: int = 4 * 2**20,
        connect_timeout: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        """Raises ValueError for a malformed URL. Of several the first that answers is kept.

        `policy`: when to come back, RetryPolicy.plain() unless given. `queue_limit` and `queue_bytes` bound what
        waits for a connection that is away or slow: what does not fit is dropped, and counted in `traffic.dropped`.
        `connect_timeout`: seconds for each address. `clock` stamps what arrives; its `now` is called by another thread.
        """
        urls = [urls] if isinstance(urls, str) else urls
        dialer = Dialer(urls, subprotocols=subprotocols, compression=compression, timeout=connect_timeout)
        policy = policy or RetryPolicy.plain()
        super().__init__(peer_id, TransportState.CONNECTING, policy.tries)
        self._queue_while_away = queue_while_away
        self._epoch = 0
        self._away = 0
        self._polling = False
        self._outbox = Outbox(queue_limit, queue_bytes)
        self._link = Link(dialer, policy, self._outbox, clock or MonotonicClock(), queue_while_away)

    @property
    def traffic(self) -> Traffic:
        """Counters since the transport was made: one object that goes on counting."""
        self._traffic.messages_up = self._link.messages_up
        self._traffic.bytes_up = self._link.bytes_up
        self._traffic.dropped = self._away + self._outbox.refused + self._outbox.stale
        return self._traffic

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
                    self._epoch += item.state is TransportState.OPEN
                    self._change(item)
                else:
                    self._receive(item, isinstance(item, bytes), at)
        finally:
            self._polling = False

    def retry(self) -> None:
        """Start again after the transport was refused or gave up. Otherwise nothing."""
        if self._status.state is TransportState.CLOSED and not self._closed:
            self._link.retry()

    def close(self) -> None:
        """Send what is queued if there is a connection, close it with 1000, and end the thread. Safe to call twice.

        Takes a round trip, and no more than a second if the server does not answer.
        """
        if self._closed:
            return
        self._closed = True
        self._status = ConnectionStatus(TransportState.CLOSING)
        self._link.stop()
        self._end()

    def _queue(self, frame: bytes, binary: bool) -> None:
        away = self._epoch > 0 and self._status.state is not TransportState.OPEN
        if away and not self._queue_while_away:
            self._away += 1
        elif self._outbox.put(Outgoing(self._epoch, frame, binary)):
            self._link.wake()
