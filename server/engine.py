"""What relay and authority need of a WebSocket server, and who provides it."""

from __future__ import annotations

from typing import Protocol


class Connection(Protocol):
    """One open WebSocket, seen from the server."""

    path: str
    """the request's path as it came, without query"""
    address: str
    """host of the other side"""

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
        """Start the closing handshake, and cut the connection if the peer does not answer it soon."""
        ...


class Handler(Protocol):
    """Who listens to connections. All calls come from one event loop."""

    def opened(self, connection: Connection) -> None:
        """A handshake succeeded."""
        ...

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        """A whole message arrived: text as UTF-8 bytes, already checked to be valid UTF-8, or binary."""
        ...

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        """The connection is gone. Called exactly once for each `opened`."""
        ...
