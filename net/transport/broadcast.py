"""Broadcast: peers on one machine without any server, by UDP multicast that never leaves the loopback interface.

A channel's name gives a group in 239.255.0.0/16 (RFC 2365) and a port, and stands in each datagram:

    4 bytes   "LTB1"
    1 byte    "t" for a text envelope, "b" for a binary message
    8 bytes   nonce of the sending instance, by which it knows its own
    32 bytes  SHA-256 of the channel's name: two names may share a group
    rest      the envelope or the message, at most `LARGEST` bytes
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import select
import socket
import sys
from typing import Any, Final

from net.clock import Clock, MonotonicClock
from net.envelope import encode
from net.transport.base import TransportState
from net.transport.endpoint import Endpoint, check_bytes

_MAGIC: Final = b"LTB1"
_TEXT, _BINARY = b"tb"
_HEADER: Final = len(_MAGIC) + 1 + 8 + 32

LARGEST: Final = 65_507 - _HEADER
"""bytes of one message: what a UDP datagram over IPv4 holds, without our header"""
BUFFER: Final = 4 * 2**20
"""bytes asked of the system for what waits to be polled; it may give less"""
POLL_LIMIT: Final = 1024
"""datagrams that one `poll` reads: a flood must not stop a frame"""

_LOOPBACK: Final = "127.0.0.1"
_LOWEST_PORT, _PORTS = 24_000, 8_000  # below what systems give out by themselves
_IP_MULTICAST_ALL: Final = 49  # Linux; the socket module has no name for it
_PROBE_TIMEOUT: Final = 0.5


class TransportUnavailableError(Exception):
    """This system cannot do what the transport needs. The message says what, and what to take instead."""


class BroadcastTransport(Endpoint):
    """A peer on a channel of this machine: whoever opens the same name hears it, in whatever process.

    Delivery is that of datagrams: each at most once and whole, in the order of sending as a rule, and lost when a
    receiver does not poll until its buffer is full. Any program on the machine may join a channel and say anything.
    """

    reliable_ordered: Final = False

    def __init__(self, channel: str, *, peer_id: str | None = None, clock: Clock | None = None) -> None:
        """`clock` stamps what arrives when it is read. Raises TransportUnavailableError where the system cannot."""
        super().__init__(peer_id, TransportState.OPEN)
        self._clock = clock or MonotonicClock()
        digest = hashlib.sha256(channel.encode("utf-8", "surrogatepass")).digest()
        group = f"239.255.{digest[0]}.{digest[1]}"
        self._address = (group, _LOWEST_PORT + int.from_bytes(digest[2:4]) % _PORTS)
        self._nonce = secrets.token_bytes(8)
        self._tail = self._nonce + digest
        self._digest = digest
        self._polling = False
        self._buffer = bytearray(2**16)
        self._view = memoryview(self._buffer)
        try:
            self._out = _sender()
            try:
                self._in = _receiver(*self._address)
            except OSError:
                self._out.close()
                raise
        except OSError as error:
            raise TransportUnavailableError(
                f"this machine has no multicast on its loopback interface ({error.strerror or error}): "
                "start a relay here instead, and connect to it"
            ) from error

    @staticmethod
    def available() -> bool:
        """Whether a datagram comes through here: one is sent on a channel that nobody else knows."""
        try:
            sender = BroadcastTransport(secrets.token_hex())
        except TransportUnavailableError:
            return False
        with contextlib.closing(sender):
            sender.send_bytes(b"")
            ready, _, _ = select.select([sender._in], [], [], _PROBE_TIMEOUT)
            return bool(ready)

    def send(self, data: Any) -> None:
        """Send one JSON value. Nothing once closed.

        Raises TypeError or ValueError for what JSON cannot hold, and ValueError for more than `LARGEST` bytes of it.
        """
        if not self._closed:
            self._spread(_TEXT, encode(self._peer_id, data))

    def send_bytes(self, data: bytes) -> None:
        """Send one binary message. Nothing once closed.

        Raises TypeError for what is not bytes, and ValueError for more than `LARGEST`.
        """
        check_bytes(data)
        if not self._closed:
            self._spread(_BINARY, data)

    def poll(self) -> None:
        """Deliver what has arrived since the last call, at most `POLL_LIMIT` messages. Foreign datagrams are ignored.

        A call from inside a callback does nothing.
        """
        if self._polling:
            return
        self._polling = True
        try:
            for _ in range(POLL_LIMIT):
                if self._closed:
                    return
                try:
                    size, address = self._in.recvfrom_into(self._buffer)
                except BlockingIOError:
                    return
                except OSError:
                    continue  # what went wrong with one datagram says nothing about the next
                if address[0] == _LOOPBACK:
                    self._take(size)
        finally:
            self._polling = False

    def close(self) -> None:
        """Leave the channel. Safe to call twice."""
        if self._closed:
            return
        self._end()
        self._in.close()
        self._out.close()

    def _spread(self, kind: int, message: bytes) -> None:
        if len(message) > LARGEST:
            raise ValueError(f"a message of {len(message)} bytes does not fit into a datagram: {LARGEST} is the limit")
        datagram = b"".join((_MAGIC, bytes((kind,)), self._tail, message))
        try:
            self._out.sendto(datagram, self._address)
        except OSError:
            self._traffic.dropped += 1  # the system's buffer is full, or the interface is down
        else:
            self._traffic.messages_up += 1
            self._traffic.bytes_up += len(message)

    def _take(self, size: int) -> None:
        """Deliver the datagram of `size` bytes in the buffer if it is of this channel, and not our own."""
        view, buffer = self._view, self._buffer
        if size < _HEADER or not buffer.startswith(_MAGIC) or view[13:_HEADER] != self._digest:
            return
        if buffer[4] not in (_TEXT, _BINARY) or view[5:13] == self._nonce:
            return
        self._receive(bytes(view[_HEADER:size]), buffer[4] == _BINARY, self._clock.now())


def _sender() -> socket.socket:
    """A socket whose datagrams go to this machine and nowhere else."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        out.setblocking(False)
        _grow(out, socket.SO_SNDBUF)
        # Bound, so that receivers see where it comes from: a multicast source address would be seen on some systems.
        out.bind((_LOOPBACK, 0))
        out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(_LOOPBACK))
        out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
        out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
    except OSError:
        out.close()
        raise
    return out


def _receiver(group: str, port: int) -> socket.socket:
    """A socket that hears `group` on the loopback interface, beside others that do."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        receiver.setblocking(False)
        _grow(receiver, socket.SO_RCVBUF)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "darwin":
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if sys.platform == "linux":
            # Without it the groups that other programs joined on other interfaces would come in as well, only to be
            # ignored in `poll`: so where the kernel can't, never mind.
            with contextlib.suppress(OSError):
                receiver.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
        # Windows can't bind to a group; elsewhere it keeps everything else out of the buffer.
        receiver.bind((_LOOPBACK if sys.platform == "win32" else group, port))
        membership = socket.inet_aton(group) + socket.inet_aton(_LOOPBACK)
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    except OSError:
        receiver.close()
        raise
    return receiver


def _grow(end: socket.socket, option: int) -> None:
    """Ask for the largest buffer that the system gives: the default of some holds less than one large datagram."""
    size = BUFFER
    while size >= 2**16:
        with contextlib.suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, option, size)
            return
        size //= 2
