"""Clients within the server's own process: the same handler, the same frames, no socket. For tests and offline play."""

from __future__ import annotations

import logging
from typing import Final

from net.transport.pair import PairTransport
from net.transport.wire import Delivery, WireEnd
from server.engine import Frame, Handler

_LOGGER: Final = logging.getLogger(__name__)


class InProcessConnection:
    """The server's side of a wire: what the client sends is received at once, what it is sent waits for its `poll`."""

    def __init__(self, handler: Handler, path: str, end: WireEnd, client: PairTransport) -> None:
        self.path = path.partition("?")[0]
        self.address = ""
        self._handler = handler
        self._end = end
        self._client = client
        self._sent = 0
        self._gone = False
        handler.opened(self)
        end.attach(self._received, self._closed)

    def send(self, frame: Frame) -> None:
        """Queue a frame that was encoded before. Nothing once closed."""
        self._send(frame.payload, frame.binary)

    def send_text(self, text: bytes) -> None:
        """Queue one text frame (UTF-8). Nothing once closed."""
        self._send(text, binary=False)

    def send_bytes(self, data: bytes) -> None:
        """Queue one binary frame. Nothing once closed."""
        self._send(data, binary=True)

    def buffered(self) -> int:
        """Bytes that the client has not polled yet."""
        return 0 if self._gone else self._sent - self._client.traffic.bytes_down

    def close(self, code: int, reason: str = "") -> None:
        """End the connection: the client gets what was sent before, then the code. `closed` is called from here."""
        self._end.close(code, reason)
        self._closed(code, reason)

    def _send(self, frame: bytes, binary: bool) -> None:
        if self._end.open:
            self._sent += len(frame)
            self._end.push(frame, binary)

    def _received(self, frame: bytes, binary: bool) -> None:
        try:
            self._handler.received(self, frame, binary)
        except Exception:
            _LOGGER.exception("the handler failed on a connection in this process")
            self.close(1011, "internal error")

    def _closed(self, code: int, reason: str) -> None:
        if not self._gone:
            self._gone = True
            self._handler.closed(self, code, reason)


def connect(handler: Handler, path: str = "/", peer_id: str | None = None) -> PairTransport:
    """A client's transport, connected to `handler` as if it had asked a server for `path`."""
    ours, theirs = WireEnd(Delivery.SEND), WireEnd(Delivery.POLL)
    ours.other, theirs.other = theirs, ours
    client = PairTransport(theirs, peer_id)
    InProcessConnection(handler, path, ours, client)
    return client
