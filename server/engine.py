"""What relay and authority need of a WebSocket server, and what whoever provides one has to keep to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from server.gatherer import Gatherer

Http = Callable[[str], tuple[int, Mapping[str, str], bytes] | None]
"""Answers a plain GET of a path (without query): status, headers and body; None leaves it at 426."""


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
    gatherer: Gatherer | None = None
    """reads what a crowd sends, whenever the owner of this calls its `collect`. None: the loop does, at once"""


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One message, encoded once for everyone that it goes to. Made by `text_frame` and `binary_frame`."""

    payload: bytes
    binary: bool
    wire: bytes
    """header and payload, as a server sends them (RFC 6455, section 5.2)"""


def text_frame(text: bytes) -> Frame:
    """A text frame. `text` is UTF-8."""
    return Frame(text, False, header(0x81, len(text)) + text)


def binary_frame(data: bytes) -> Frame:
    """A binary frame."""
    return Frame(data, True, header(0x82, len(data)) + data)


def header(first: int, size: int) -> bytes:
    """What stands before a payload of `size` bytes; `first` is the header's first byte."""
    if size < 126:
        return bytes((first, size))
    if size < 65_536:
        return bytes((first, 126, size >> 8, size & 0xFF))
    return bytes((first, 127)) + size.to_bytes(8, "big")


class Connection(Protocol):
    """One open WebSocket, seen from the server."""

    path: str
    """the request's path as it came, without query"""
    address: str
    """host of the other side; empty for a peer within this process"""

    def send(self, frame: Frame) -> None:
        """Queue a frame that was encoded before. Nothing once closed."""
        ...

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
    """the TCP port that it is bound to; 0 if it is bound to none"""

    def adopt(self, transport: asyncio.Transport, received: bytes) -> None:
        """Take over a TCP connection of somebody else's server, with what it has read of the request so far."""
        ...

    async def close(self, code: int = 1001, reason: str = "server shutting down") -> None:
        """Accept no more, close every connection, and return when all are gone (at most `close_timeout`)."""
        ...
