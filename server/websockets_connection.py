"""One WebSocket on asyncio and the sans-I/O half of `websockets`: callbacks straight into the handler, no task."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, cast

from websockets.datastructures import Headers
from websockets.frames import Frame as ParsedFrame
from websockets.frames import Opcode
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol

try:
    from websockets.speedups import apply_mask
except ImportError:  # built without a compiler
    from websockets.utils import apply_mask

from server.engine import Frame, Handler, Http, Limits, header, text_frame
from server.flusher import Flusher
from server.request_head import RequestHead

_LOGGER: Final = logging.getLogger(__name__)
_PROTOCOL_LOGGER: Final = logging.getLogger(f"{__name__}.protocol")
_CHUNK: Final = 4096
"""bytes of input that one connection may have parsed in one turn of the loop, so that a flood delays nobody else"""
_TINY: Final = 128
"""bytes; fragments below this count as control frames: they cost as much and bring as little"""


class WebSocketConnection(asyncio.Protocol):
    """One TCP connection: bytes into `ServerProtocol`, whole messages into the handler, frames back out.

    Frames written in one turn of the loop leave in one write. Data frames come encoded, past the protocol object, which
    keeps the handshake, the control frames and the checking of what arrives.
    """

    __slots__ = (
        "_begun",
        "_binary",
        "_came",
        "_closing",
        "_control_frames",
        "_cut_reason",
        "_eof_due",
        "_flusher",
        "_gatherer",
        "_gone",
        "_handler",
        "_head",
        "_http",
        "_limits",
        "_loop",
        "_lost",
        "_message",
        "_opened",
        "_pending",
        "_protocol",
        "_proven",
        "_reading_later",
        "_socket",
        "_timer",
        "_transport",
        "_unread",
        "address",
        "path",
    )

    def __init__(
        self,
        handler: Handler,
        limits: Limits,
        http: Http | None,
        *,
        flusher: Flusher,
        came: Callable[[WebSocketConnection], None],
        gone: Callable[[WebSocketConnection], None],
    ) -> None:
        """It calls `came` when it is connected and `gone` when it is lost."""
        self.path = ""
        self.address = ""
        self._handler = handler
        self._limits = limits
        self._http = http
        self._flusher = flusher
        self._gatherer = limits.gatherer
        self._came = came
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._protocol = ServerProtocol(max_size=limits.max_size, logger=_PROTOCOL_LOGGER)
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle | None = None
        self._opened = False
        self._closing = False
        self._lost = False
        self._cut_reason = ""
        self._unread = bytearray()
        self._reading_later = False
        self._head: RequestHead | None = RequestHead()
        """None once the request is complete"""
        self._message = bytearray()
        self._binary: bool | None = None
        """of the message whose fragments are arriving; None between messages"""
        self._begun = 0
        """bytes that the parser has got of a frame that is not complete; 0 between frames"""
        self._control_frames = 0
        self._proven = True
        self._pending: list[bytes] = []
        """goes out at the end of this turn of the loop"""
        self._eof_due = False
        self._socket = -1
        """which the gatherer reads, and frames are written to directly; -1 while all of that is the loop's"""

    # -- what the handler calls

    def send(self, frame: Frame) -> None:
        """Queue a frame that was encoded before. Nothing once closed."""
        if not self._closing:
            self._queue(frame.wire)

    def send_text(self, text: bytes) -> None:
        """Queue one text frame (UTF-8). Nothing once closed."""
        self.send(text_frame(text))

    def send_bytes(self, data: bytes) -> None:
        """Queue one binary frame. Nothing once closed."""
        if self._closing:
            return
        wire = header(0x82, len(data)) + data
        if self._socket >= 0 and not self._pending:
            self._write(wire)  # a crowd gets one a tick
        else:
            self._queue(wire)

    def buffered(self) -> int:
        """Bytes that the peer has not taken yet."""
        return 0 if self._lost else sum(map(len, self._pending)) + self._transport.get_write_buffer_size()

    def close(self, code: int, reason: str = "") -> None:
        """Start the closing handshake, and cut the connection if the peer does not answer it in `close_timeout`."""
        if self._closing or self._lost:
            return
        self._closing = True
        self.release()  # nobody needs to hurry for what follows
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(code, _fitting(reason))
        self._take_writes()
        self._cut_in(self._limits.close_timeout, "close handshake timed out")

    # -- what the listener calls

    def ping(self) -> None:
        """Ask for a sign of life, or cut a peer that has not given the last one."""
        if not self._opened or self._closing or self._protocol.state is not State.OPEN:
            return
        if not self._proven:
            self._cut("no answer to a ping")
            return
        self._proven = False
        self._protocol.send_ping(b"")
        self._take_writes()

    def allow_control_frames(self) -> None:
        """Begin a new second of counting them."""
        self._control_frames = 0

    def shut(self, code: int, reason: str) -> None:
        """Close, whatever the connection is doing."""
        if self._protocol.state is State.CONNECTING:
            self._cut(reason)
        self.close(code, reason)

    def gather(self) -> None:
        """Leave reading to the gatherer if it wants that and the loop has nothing to do here, else to the loop."""
        gatherer, transport = self._gatherer, self._transport
        if gatherer is None or not self._opened or self._closing:
            return
        if not gatherer.wants:
            self.release()
        elif self._socket < 0 and not (self._reading_later or self._pending or transport.get_write_buffer_size()):
            if transport.get_extra_info("sslcontext") is not None:
                return  # what the socket carries is not what was said
            transport.pause_reading()
            self._socket = transport.get_extra_info("socket").fileno()
            gatherer.add(self._socket, self)

    def release(self) -> None:
        """Leave everything to the loop again, if it isn't already."""
        if self._leave_gatherer() and not self._transport.is_closing():
            self._transport.resume_reading()

    def _leave_gatherer(self) -> bool:
        if self._socket < 0 or self._gatherer is None:
            return False
        self._gatherer.remove(self._socket)
        self._socket = -1
        return True

    # -- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A TCP connection: it has `handshake_timeout` to become a WebSocket."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own is none by class
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else "unknown"
        self._cut_in(self._limits.handshake_timeout, "handshake timed out")
        self._transport.set_write_buffer_limits(self._limits.max_buffered)
        self._came(self)

    def data_received(self, data: bytes) -> None:
        """Input, parsed a chunk at a time."""
        # Nearly all that a player sends is one short frame by itself: that one needs no parser.
        size = len(data)
        if (
            6 <= size < 132
            and data[1] == size + 0x7A
            and (data[0] == 0x82 or data[0] == 0x81)
            and self._begun == 0
            and self._binary is None
            and self._opened
            and not self._closing
            and not self._reading_later
        ):
            self._deliver(apply_mask(data[6:], data[2:6]), data[0] == 0x82)
            return
        if not self._reading_later and len(data) <= _CHUNK:
            self._parse(data)
            return
        self._unread += data
        if not self._reading_later:
            self._read()

    def pause_writing(self) -> None:
        """More than `max_buffered` waits: whoever reads that slowly costs more than he is worth."""
        self._cut("too slow a reader")

    def eof_received(self) -> bool:
        """The peer will send no more: whatever it said before counts, then the connection ends."""
        while self._unread and not self._lost:
            self._parse(self._next_chunk())
        self._protocol.receive_eof()
        self._take_writes()
        self.flush()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The TCP connection is over, by whoever's doing."""
        self._lost = self._closing = True
        self._leave_gatherer()
        self._unread.clear()
        self._pending.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._gone(self)
        if self._opened:
            received = self._protocol.close_rcvd
            code, reason = (received.code, received.reason) if received is not None else (1006, self._cut_reason)
            self._call(lambda: self._handler.closed(self, code, reason))

    # -- in

    def _read(self) -> None:
        """Parse one chunk, and leave the rest for the loop's next turn."""
        self._reading_later = False
        if self._lost:
            return
        self._parse(self._next_chunk())
        if self._lost or self._transport.is_closing():
            return
        if self._unread:
            self._transport.pause_reading()
            self._reading_later = True
            self._loop.call_soon(self._read)
        else:
            self._transport.resume_reading()

    def _next_chunk(self) -> bytes:
        chunk = bytes(self._unread[:_CHUNK])
        del self._unread[:_CHUNK]
        return chunk

    def _parse(self, chunk: bytes) -> None:
        if self._head is None:
            self._parse_frames(chunk)
            return
        chunk, rest = self._head.take(chunk)
        self._protocol.receive_data(chunk)
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                self._take_request(event)
        if rest is not None:
            self._head = None
            if rest and not self._lost:
                self._parse_frames(rest)
        self._take_writes()

    def _parse_frames(self, chunk: bytes) -> None:
        """Deliver what is in some bytes that follow the handshake."""
        self._begun += len(chunk)
        self._protocol.receive_data(chunk)
        for event in self._protocol.events_received():
            if isinstance(event, ParsedFrame):
                self._begun -= wire_size(len(event.data))
                if not self._closing:
                    self._take_frame(event)
        self._take_writes()

    def _take_request(self, request: Request) -> None:
        path = request.path.partition("?")[0]
        response = None
        if self._http is not None and "Upgrade" not in request.headers:
            response = self._answer(self._http, path)
        response = response or self._protocol.accept(request)
        self._protocol.send_response(response)
        if response.status_code != 101:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.path = path
        self._opened = True
        self._take_writes()
        self._loop.call_soon(self.gather)  # once the response is written
        self._call(lambda: self._handler.opened(self))

    def _answer(self, http: Http, path: str) -> Response | None:
        try:
            answer = http(path)
        except Exception:
            _LOGGER.exception("the page %s failed", path)
            return self._protocol.reject(500, "internal error\n")
        if answer is None:
            return None
        status, fields, body = answer
        headers = Headers(fields)
        headers.update({"Content-Length": str(len(body)), "Connection": "close"})
        return Response(status, HTTPStatus(status).phrase, headers, body)

    def _take_frame(self, frame: ParsedFrame) -> None:
        opcode, data = frame.opcode, frame.data
        if opcode is Opcode.TEXT or opcode is Opcode.BINARY:
            if frame.fin:
                self._deliver(bytes(data), opcode is Opcode.BINARY)
                return
            self._binary = opcode is Opcode.BINARY
            self._message += data
        elif opcode is Opcode.CONT and self._binary is not None:
            self._message += data
            if frame.fin:
                message, binary = bytes(self._message), self._binary
                self._message.clear()
                self._binary = None
                self._deliver(message, binary)
                return
        elif opcode is Opcode.PONG:
            self._proven = True
        if opcode is not Opcode.CLOSE and len(data) < _TINY:
            self._control_frames += 1
            if self._control_frames > self._limits.max_control_frames:
                self._fail(1008, "too many control frames")

    def _deliver(self, message: bytes, binary: bool) -> None:
        if not binary and not message.isascii():
            try:
                message.decode()
            except UnicodeDecodeError:
                self._fail(1007, "text is not UTF-8")
                return
        try:
            self._handler.received(self, message, binary)
        except Exception:
            self._forgo()

    def _fail(self, code: int, reason: str) -> None:
        """Close on a peer that breaks the protocol: what it still sends is thrown away unread."""
        self._closing = True
        self._protocol.fail(code, reason)
        self._take_writes()

    def _call(self, callback: Callable[[], None]) -> None:
        try:
            callback()
        except Exception:
            self._forgo()

    def _forgo(self) -> None:
        """End the connection that the handler has just failed on."""
        _LOGGER.exception("the handler failed on a connection from %s", self.address)
        self.close(1011, "internal error")

    # -- out

    def _take_writes(self) -> None:
        """Queue what the protocol object wants sent, in its order among the data frames."""
        for data in self._protocol.data_to_send():
            if data:
                self._queue(data)
            else:
                self._end_soon()

    def _end_soon(self) -> None:
        """Our half is over. Linger for the peer's, for a socket closed with input unread would reset what we sent."""
        self._eof_due = self._closing = True
        self._cut_in(self._limits.close_timeout, "")
        if not self._pending:
            self._flusher.add(self)

    def _queue(self, data: bytes) -> None:
        if not self._pending:
            self._flusher.add(self)
        self._pending.append(data)

    def flush(self) -> None:
        """Write what this turn of the loop has brought."""
        transport, pending = self._transport, self._pending
        if pending and not self._lost:
            self._write(pending[0] if len(pending) == 1 else b"".join(pending))
        pending.clear()
        if self._eof_due and not transport.is_closing():
            self._eof_due = False
            self.release()
            try:
                if transport.can_write_eof():
                    transport.write_eof()
                else:
                    transport.close()
            except OSError:  # the peer has reset the connection, and asyncio has not heard of it yet
                transport.abort()

    def _write(self, data: bytes) -> None:
        """Write at once: past the loop while that has nothing to do here."""
        if self._socket >= 0:
            try:
                written = os.write(self._socket, data)
            except OSError:  # full or broken, the loop will see
                written = 0
            if written == len(data):
                return
            data = data[written:]
            self.release()
        self._transport.write(data)

    # -- the end

    def _cut_in(self, seconds: float, reason: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._cut, reason)

    def _cut(self, reason: str) -> None:
        self._closing = True
        self._cut_reason = self._cut_reason or reason
        self._leave_gatherer()
        self._transport.abort()


def wire_size(size: int) -> int:
    """Bytes of a client's frame around a payload of `size` bytes, in its shortest form."""
    return size + (6 if size < 126 else 8 if size < 65_536 else 14)


def _fitting(reason: str) -> str:
    """As much of a reason as a close frame holds: 123 bytes of UTF-8."""
    return reason.encode("utf-8", "replace")[:123].decode("utf-8", "ignore")
