"""Local: a hub in one process that hands the very objects from peer to peer, at once. For tests and offline play."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from net.envelope import Envelope
from net.transport.base import TransportState
from net.transport.endpoint import Endpoint, check_bytes


class LocalHub:
    """Where local transports meet: each hears all others on the same hub."""

    def __init__(self) -> None:
        self.transports: tuple[LocalTransport, ...] = ()
        """who is connected, in the order in which they came"""


class LocalTransport(Endpoint):
    """A peer on a hub. Everything arrives inside the sender's `send`, before it returns, and `poll` has nothing to do.

    Receivers get the same object that was sent, not a copy: what is sent is a value, and nobody changes it afterwards.
    Nothing is encoded, so `traffic` counts messages, and bytes of binary ones only. What is sent from inside a
    callback to a peer that is busy with a message reaches it right after that message.
    """

    reliable_ordered: Final = True

    def __init__(self, hub: LocalHub, peer_id: str | None = None) -> None:
        super().__init__(peer_id, TransportState.OPEN)
        self._hub = hub
        self._inbox: deque[Envelope | bytes] = deque()
        self._delivering = False
        hub.transports = (*hub.transports, self)

    def send(self, data: Any) -> None:
        """Hand one value to every other transport on the hub. Nothing once closed."""
        self._spread(Envelope(self._peer_id, data))

    def send_bytes(self, data: bytes) -> None:
        """Hand one binary message to every other transport on the hub. Nothing once closed.

        Raises TypeError for what is not bytes.
        """
        check_bytes(data)
        self._spread(data)

    def poll(self) -> None:
        """Nothing: messages arrive inside `send`."""

    def close(self) -> None:
        """Leave the hub. Safe to call twice."""
        self._hub.transports = tuple(kept for kept in self._hub.transports if kept is not self)
        self._inbox.clear()
        self._end()

    def _spread(self, message: Envelope | bytes) -> None:
        if self._closed:
            return
        self._traffic.messages_up += 1
        self._traffic.bytes_up += _length(message)
        for transport in self._hub.transports:
            if transport is not self:
                transport._take(message)

    def _take(self, message: Envelope | bytes) -> None:
        if self._closed:
            return
        self._inbox.append(message)
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._inbox:
                self._hand_over(self._inbox.popleft())
        finally:
            self._delivering = False

    def _hand_over(self, message: Envelope | bytes) -> None:
        self._traffic.messages_down += 1
        self._traffic.bytes_down += _length(message)
        if isinstance(message, bytes):
            self._binaries.notify(message)
        else:
            self._messages.notify(message)


def _length(message: Envelope | bytes) -> int:
    return len(message) if isinstance(message, bytes) else 0
