"""Pair: transports over an in-process wire. They encode and decode as on a socket, so what passes here passes there."""

from __future__ import annotations

from typing import Any, Final

from net.envelope import encode
from net.transport.base import ConnectionStatus, TransportState
from net.transport.endpoint import Endpoint, check_bytes
from net.transport.wire import Delivery, WireEnd, wire


class PairTransport(Endpoint):
    """A transport at one end of a wire. At the other end may be another one, or a server's connection.

    It is open from the start, and closed for good when the other end closes. With Delivery.SEND everything arrives
    inside the sender's `send`; with Delivery.POLL it waits for `poll`.
    """

    reliable_ordered: Final = True

    def __init__(self, end: WireEnd, peer_id: str | None = None) -> None:
        super().__init__(peer_id, TransportState.OPEN)
        self.end = end
        """the wire's end below this transport: raw frames, `pending`, `drop`"""
        end.attach(self._receive, self._ended)

    def send(self, data: Any) -> None:
        """Send one JSON value. Raises TypeError or ValueError for what JSON cannot hold. Nothing once closed."""
        if self.end.open:
            self._push(encode(self._peer_id, data), binary=False)

    def send_bytes(self, data: bytes) -> None:
        """Send one binary message. Raises TypeError for what is not bytes. Nothing once closed."""
        check_bytes(data)
        if self.end.open:
            self._push(data, binary=True)

    def poll(self) -> None:
        """Deliver everything that has arrived."""
        self.end.poll()

    def close(self) -> None:
        """Close with code 1000, after what was sent. Safe to call twice."""
        self._end()
        self.end.close()

    def _push(self, frame: bytes, binary: bool) -> None:
        self._traffic.messages_up += 1
        self._traffic.bytes_up += len(frame)
        self.end.push(frame, binary)

    def _ended(self, code: int, reason: str) -> None:
        self._change(ConnectionStatus(TransportState.CLOSED, code=code, reason=reason))


def pair(
    peer_a: str | None = None, peer_b: str | None = None, delivery: Delivery = Delivery.SEND
) -> tuple[PairTransport, PairTransport]:
    """Two transports that reach each other and nobody else."""
    a, b = wire(delivery)
    return PairTransport(a, peer_a), PairTransport(b, peer_b)


def connect(peer_id: str | None = None, delivery: Delivery = Delivery.SEND) -> tuple[PairTransport, WireEnd]:
    """A client's transport, and the server's end of its wire: attach to it, push raw frames, close it with a code."""
    a, b = wire(delivery)
    return PairTransport(a, peer_id), b
