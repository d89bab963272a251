"""The engine for many players: picows takes incoming frames apart, uvloop carries them.

Only what costs time goes past `websockets`: whole data frames. The handshake, and every frame that is anything else (a
control frame, a fragment, one with reserved bits), is handed to the same protocol object as in the other engine, so
that both keep one contract.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

import uvloop
from picows import WSAutoPingStrategy, WSFrame, WSListener, WSMsgType, WSTransport
from picows.picows import WSProtocol  # type: ignore[attr-defined] # left out of its stubs

from server.websockets_connection import WebSocketConnection, wire_size

_TEXT: Final = WSMsgType.TEXT
_BINARY: Final = WSMsgType.BINARY
_SILENT: Final = logging.LoggerAdapter(logging.Logger("picows", logging.CRITICAL + 1))
"""no Logger itself, for picows gives each connection a child of one"""
_HANDSHAKE: Final = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
"""what the parser waits for before frames; the real one has been checked and answered by then"""


def new_event_loop() -> asyncio.AbstractEventLoop:
    """The loop that this engine runs on."""
    return uvloop.new_event_loop()


class PicowsConnection(WebSocketConnection):
    """A connection whose data frames picows parses and unmasks."""

    __slots__ = ("_reader",)

    def __init__(self, *args: Any, **options: Any) -> None:
        """As in the other engine."""
        super().__init__(*args, **options)
        self._reader: FrameReader | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The TCP connection is over, by whoever's doing."""
        self._reader = None
        super().connection_lost(exc)

    def _parse_frames(self, chunk: bytes) -> None:
        if not self._opened:
            super()._parse_frames(chunk)
            return
        reader = self._reader
        if reader is None:
            reader = self._reader = FrameReader(self, self._limits.max_size)
        self._begun += len(chunk)
        reader.feed(chunk)

    def take_message(self, message: bytes, binary: bool) -> None:
        """A whole data frame."""
        self._begun -= wire_size(len(message))
        if self._binary is not None:  # in the middle of another message
            self._take_by_protocol(0x82 if binary else 0x81, message)
        elif not self._closing:
            self._deliver(message, binary)

    def take_other(self, first: int, payload: bytes) -> None:
        """Any other frame, by its first byte."""
        self._begun -= wire_size(len(payload))
        self._take_by_protocol(first, payload)

    def _take_by_protocol(self, first: int, payload: bytes) -> None:
        """Let the protocol object say what a frame means."""
        super()._parse_frames(_masked(first, payload))

    def refuse(self, code: int, reason: str) -> None:
        """The peer's bytes are no frame that we may take."""
        if not self._closing:
            self._fail(code, reason)


class FrameReader(WSListener):
    """picows' parser without its socket: bytes in, frames to a `PicowsConnection`."""

    def __init__(self, connection: PicowsConnection, max_size: int) -> None:
        self._connection = connection
        self._failure: tuple[int, str] | None = None
        # no timeout, no pings, no pongs: all that is the connection's
        self._parser = WSProtocol(
            host_port=None,
            ws_path=None,
            is_client_side=False,
            ws_listener_factory=lambda _: self,
            logger=_SILENT,
            disconnect_on_exception=False,
            websocket_handshake_timeout=None,
            enable_auto_ping=False,
            auto_ping_idle_timeout=0,
            auto_ping_reply_timeout=0,
            auto_ping_strategy=WSAutoPingStrategy.PING_WHEN_IDLE,
            enable_auto_pong=False,
            max_frame_size=max_size,
            extra_headers=None,
            read_buffer_init_size=4096,
        )
        self._parser.connection_made(_Wire(self))
        self.feed(_HANDSHAKE)

    def feed(self, data: bytes) -> None:
        """Parse some bytes. Frames are delivered from within, and then whatever is wrong with those that follow."""
        start = 0
        while start < len(data) and self._failure is None:
            buffer = self._parser.get_buffer(-1)
            part = data[start : start + len(buffer)]
            buffer[: len(part)] = part
            self._parser.buffer_updated(len(part))
            start += len(part)
            if self._failure is not None:
                self._connection.refuse(*self._failure)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """A frame whose length, mask and opcode are in order."""
        kind = frame.msg_type
        if (kind is _TEXT or kind is _BINARY) and frame.fin and not (frame.rsv1 or frame.rsv2 or frame.rsv3):
            self._connection.take_message(frame.get_payload_as_bytes(), kind is _BINARY)
        else:
            first = frame.fin << 7 | frame.rsv1 << 6 | frame.rsv2 << 5 | frame.rsv3 << 4 | kind.value
            self._connection.take_other(first, frame.get_payload_as_bytes())

    def fail(self, close: bytes) -> None:
        """The parser gives up, with this close frame for the peer. The frames before may still be undelivered."""
        self._failure = int.from_bytes(close[2:4], "big"), close[4:].decode()


def _masked(first: int, payload: bytes) -> bytes:
    """A frame as clients send it, with a key of zeros, which masks nothing."""
    size = len(payload)
    if size < 126:
        length = bytes((0x80 | size,))
    elif size < 65_536:
        length = bytes((0x80 | 126, size >> 8, size & 0xFF))
    else:
        length = bytes((0x80 | 127,)) + size.to_bytes(8, "big")
    return bytes((first,)) + length + bytes(4) + payload


class _Wire:
    """The transport that picows believes to write to: nothing of it reaches the socket."""

    def __init__(self, reader: FrameReader) -> None:
        self._reader = reader

    def get_extra_info(self, name: str) -> Any:
        return self if name == "socket" else None

    def fileno(self) -> int:
        return -1

    def setsockopt(self, *_: int) -> None:
        pass

    def getsockopt(self, *_: int) -> int:
        return 0

    def get_write_buffer_size(self) -> int:
        return 1  # with nothing waiting, it would write to the socket itself

    def write(self, data: bytes) -> None:
        if data[0] == 0x88:  # the other thing it has to say is the answer to its handshake
            self._reader.fail(bytes(data))

    def close(self) -> None:
        pass

    abort = close
