"""What every transport offers: messages to all peers, subscriptions, a connection that can be watched."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Literal, Protocol, cast, runtime_checkable

import msgspec

from net.envelope import Envelope

Unsubscribe = Callable[[], None]
"""Ends one subscription; calling it again is harmless."""


class TransportState(StrEnum):
    """Where a connection is in its life."""

    CONNECTING = "connecting"
    """no connection yet, or lost and trying again; sends are queued"""
    OPEN = "open"
    CLOSING = "closing"
    """closed by us, the other side has not confirmed yet"""
    CLOSED = "closed"
    """closed by us, refused, given up, or not asked to connect yet"""


class ConnectionStatus(msgspec.Struct, frozen=True):
    """A connection's state, and why it is so."""

    state: TransportState
    attempt: int = 0
    """which try this is while CONNECTING: 0 for the first connect, then 1, 2, 3 … after a loss"""
    attempts: int = 0
    """how many tries the reconnect policy allows"""
    code: int | None = None
    """close code of the last connection, if it ended"""
    reason: str = ""
    """why the last connection ended, in the other side's or the system's words"""


class Traffic(msgspec.Struct):
    """Counters of what has passed, payload bytes without frame headers."""

    bytes_up: int = 0
    bytes_down: int = 0
    messages_up: int = 0
    messages_down: int = 0
    dropped: int = 0
    """messages thrown away because their connection was gone, or the queue for an absent or slow one was full"""


@runtime_checkable
class Transport(Protocol):
    """Carries messages between this peer and all others that it reaches.

    Callbacks run only inside `poll()` (a local transport, which has nothing to poll, delivers inside the sender's
    `send`), on the calling thread, in order of arrival. Own messages never come back. A callback that raises harms
    no other subscriber and never reaches the sender: it is logged.
    """

    @property
    def peer_id(self) -> str:
        """This peer's name on the wire."""
        ...

    @property
    def reliable_ordered(self) -> bool:
        """Whether each peer gets all that is sent, once and in order, for as long as the connection lasts.

        Reliable ends where a queue is full: `traffic.dropped` counts what was given up there.
        """
        ...

    @property
    def status(self) -> ConnectionStatus:
        """The connection as of the last `poll()`."""
        ...

    @property
    def traffic(self) -> Traffic:
        """Counters since the transport was made."""
        ...

    @property
    def received_at(self) -> float | None:
        """For callbacks: when the message arrived, in seconds of the transport's clock; None if nobody knows."""
        ...

    def send(self, data: Any) -> None:
        """Send one JSON value to every other peer. Raises TypeError or ValueError for what JSON cannot hold (NaN too).

        After `close()` this does nothing.
        """
        ...

    def send_bytes(self, data: bytes) -> None:
        """Send one binary message to every other peer. After `close()` this does nothing."""
        ...

    def subscribe(self, callback: Callable[[Envelope], object]) -> Unsubscribe:
        """Call `callback` with each envelope that arrives. The same callback twice runs once."""
        ...

    def subscribe_bytes(self, callback: Callable[[bytes], object]) -> Unsubscribe:
        """Call `callback` with each binary message that arrives. The same callback twice runs once."""
        ...

    def subscribe_status(self, callback: Callable[[ConnectionStatus], object]) -> Unsubscribe:
        """Call `callback` with each new status, in its order among the messages."""
        ...

    def poll(self) -> None:
        """Deliver everything that has arrived since the last call."""
        ...

    def close(self) -> None:
        """Stop for good: no more callbacks, no thread, no socket. Safe to call twice."""
        ...


class ReliableOrderedTransport(Transport, Protocol):
    """A transport that loses nothing and keeps the order, which a type checker can see."""

    @property
    def reliable_ordered(self) -> Literal[True]:
        """As the type says."""
        ...


class DeliveryError(TypeError):
    """A transport was handed over where one is needed that loses nothing and keeps the order."""


def require_reliable_ordered(transport: Transport) -> ReliableOrderedTransport:
    """The same transport, if it says that it is one. Raises DeliveryError otherwise.

    For what only the running program knows: a transport from a variable, or whose conditions decide.
    """
    if getattr(transport, "reliable_ordered", False) is not True:
        raise DeliveryError(
            f"{type(transport).__name__} may lose messages or change their order, and this needs one that does not"
        )
    return cast(ReliableOrderedTransport, transport)
