"""Endpoint: what every transport of ours does alike: a name, counters, and subscriptions."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from net.envelope import Envelope, WireError, decode
from net.subscribers import Subscribers
from net.transport.base import ConnectionStatus, Traffic, TransportState, Unsubscribe

_log = logging.getLogger(__name__)


class Endpoint:
    """The half of `Transport` that faces subscribers. Whoever inherits moves the messages."""

    def __init__(self, peer_id: str | None, state: TransportState, attempts: int = 0) -> None:
        """Without a `peer_id` it gets a random UUID."""
        self._peer_id = str(uuid.uuid4()) if peer_id is None else peer_id
        self._status = ConnectionStatus(state, attempts=attempts)
        self._traffic = Traffic()
        self._closed = False
        self._received_at: float | None = None
        self._messages: Subscribers[Envelope] = Subscribers("messages")
        self._binaries: Subscribers[bytes] = Subscribers("binary messages")
        self._statuses: Subscribers[ConnectionStatus] = Subscribers("the connection's status")

    @property
    def peer_id(self) -> str:
        """This peer's name on the wire."""
        return self._peer_id

    @property
    def status(self) -> ConnectionStatus:
        """The connection as subscribers know it."""
        return self._status

    @property
    def traffic(self) -> Traffic:
        """Counters since the transport was made: one object that goes on counting."""
        return self._traffic

    @property
    def received_at(self) -> float | None:
        """When the newest delivered message arrived, for callbacks; None where nothing has looked at a clock."""
        return self._received_at

    def subscribe(self, callback: Callable[[Envelope], object]) -> Unsubscribe:
        """Call `callback` with each envelope that arrives. The same callback twice runs once."""
        return self._messages.add(callback)

    def subscribe_bytes(self, callback: Callable[[bytes], object]) -> Unsubscribe:
        """Call `callback` with each binary message that arrives. The same callback twice runs once."""
        return self._binaries.add(callback)

    def subscribe_status(self, callback: Callable[[ConnectionStatus], object]) -> Unsubscribe:
        """Call `callback` with each new status, in its order among the messages."""
        return self._statuses.add(callback)

    def _receive(self, frame: bytes | str, binary: bool, at: float | None = None) -> None:
        """Hand one frame that arrived `at` to whom it concerns.

        Text that is no envelope, or carries our own id, is ignored.
        """
        self._traffic.messages_down += 1
        self._received_at = at
        if binary:
            assert isinstance(frame, bytes)
            self._traffic.bytes_down += len(frame)
            self._binaries.notify(frame)
            return
        self._traffic.bytes_down += utf8_length(frame)
        try:
            envelope = decode(frame, at)
        except WireError as error:
            _log.debug("ignored a text frame: %s", error)
            return
        if envelope.sender != self._peer_id:
            self._messages.notify(envelope)

    def _change(self, status: ConnectionStatus) -> None:
        """Take a new status and tell who watches."""
        if status != self._status:
            self._status = status
            self._statuses.notify(status)

    def _end(self) -> None:
        """Closed by us: whoever subscribed hears no more."""
        self._closed = True
        self._status = ConnectionStatus(TransportState.CLOSED, code=self._status.code, reason=self._status.reason)
        for subscribers in (self._messages, self._binaries, self._statuses):
            subscribers.clear()


def check_bytes(data: bytes) -> None:
    """Raise TypeError for what is not bytes: a buffer that its owner goes on writing to must not be on its way."""
    if not isinstance(data, bytes):
        raise TypeError(f"a binary message is bytes, not {type(data).__name__}")


def utf8_length(text: bytes | str) -> int:
    """How many bytes `text` takes on the wire."""
    return len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode("utf-8", "surrogatepass"))
