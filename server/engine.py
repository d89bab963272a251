"""What relay and authority need of a WebSocket server, and what whoever provides one has to keep to."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """What one connection may cost the server."""

    max_size: int = 65_536
    """bytes of one message; a longer one closes its connection with 1009"""
    max_buffered: int = 1 << 20
    """bytes that may wait for a peer that does not read; beyond that it is cut"""
    ping_interval: float = 30.0
    """seconds between pings; whoever has not answered one by the next is cut. 0 sends none"""
    handshake_timeout: float = 10.0
    """seconds from connecting to a whole handshake"""
    close_timeout: float = 1.5
    """seconds that a closing handshake may take before the connection is cut"""
    max_control_frames: int = 100
    """pings, pongs and tiny fragments a second; beyond that the connection is closed with 1008"""


class Connection(Protocol):
    """One open WebSocket, seen from the server."""

    path: str
    """the request's path as it came, without query"""
    address: str
    """host of the other side; empty for a peer within this process"""

    def send_text(self, text: bytes) -> None:
        """Queue one text frame (UTF-8). Nothing once closed."""
        ...

    def send_bytes(self, data: bytes) -> None:
        """Queue one binary frame. Nothing once closed."""
        ...

    def buffered(self) -> int:
        """Bytes that the peer has not taken yet."""
        ...

    def close(self, code: int, reason: str = "") -> None:
        """Start the closing handshake, and cut the connection if the peer does not answer it soon.

        Nothing is received after this, only `closed` follows, at the earliest before this returns.
        """
        ...


class Handler(Protocol):
    """Who listens to connections. All calls come from one event loop.

    A handler that raises loses that one connection, with 1011; the engine logs it and goes on.
    """

    def opened(self, connection: Connection) -> None:
        """A handshake succeeded."""
        ...

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        """A whole message arrived: text as UTF-8 bytes, already checked to be valid UTF-8, or binary."""
        ...

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        """The connection is gone. Called exactly once for each `opened`.

        `code` is what the peer's close frame said, 1005 if it gave none, 1006 if there was no such frame.
        """
        ...


class Listener(Protocol):
    """A server that accepts connections until it is closed."""

    port: int
    """the TCP port that it is bound to"""

    async def close(self, code: int = 1001, reason: str = "server shutting down") -> None:
        """Accept no more, close every connection, and return when all are gone (at most `close_timeout`)."""
        ...
