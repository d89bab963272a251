"""Frame: a head for one receiver, a body that many may share, and a check that both ends know the same.

The check is CRC-32 over body and head, begun with a digest of the entities that the receiver knows once the frame is
applied. So it fails when bytes are broken, and also when the receiver's world is not the one that the frame is about.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

from net.envelope import WireError

FIRST: Final = 0xA0
"""the upper half of a frame's first byte; the lower half are flags"""
FULL: Final = 1
"""the frame holds all that there is: what was known before is forgotten"""
ACKNOWLEDGES: Final = 2
PRIVATE: Final = 4
BODY: Final = 8

PRIVATE_LIMIT: Final = 4096
"""bytes that a receiver is told in private"""
FRAME_LIMIT: Final = 4 << 20
"""bytes of a frame"""
NUMBER_LIMIT: Final = 1 << 62
"""ticks and numbers of commands are below it: a reader takes varints of up to 63 bits"""
CHECK: Final = 4
"""bytes of the check"""


@dataclass(slots=True)
class Head:
    """What stands before the body. In a FULL frame tick and acknowledged are absolute, otherwise they are added."""

    full: bool = False
    counter: int = 0
    """number of the frame on its connection, modulo 256"""
    tick: int = 0
    connection: int = 0
    """whose frame it is, and how many slots the world has: FULL frames only"""
    capacity: int = 0
    acknowledged: int = 0
    private: bytes | None = None
    """None: as it was"""
    has_body: bool = False


def write_head(head: Head) -> bytes:
    """The bytes of a head."""
    flags = FIRST | head.full * FULL | head.has_body * BODY
    flags |= bool(head.acknowledged) * ACKNOWLEDGES | (head.private is not None) * PRIVATE
    data = bytearray((flags, head.counter & 255))
    _write_varint(data, head.tick)
    if head.full:
        _write_varint(data, head.connection)
        _write_varint(data, head.capacity)
    if head.acknowledged:
        _write_varint(data, head.acknowledged)
    if head.private is not None:
        _write_varint(data, len(head.private))
        data += head.private
    return bytes(data)


def read_head(data: bytes) -> tuple[Head, bytes, bytes]:
    """Head, its bytes, and the body, which is empty if there is none. Raises WireError."""
    if not 2 + CHECK < len(data) <= FRAME_LIMIT or data[0] & 0xF0 != FIRST:
        raise WireError("this is no frame of replication")
    flags, end = data[0], len(data) - CHECK
    head = Head(full=bool(flags & FULL), counter=data[1], has_body=bool(flags & BODY))
    head.tick, at = _read_varint(data, 2, end)
    if head.full:
        head.connection, at = _read_varint(data, at, end)
        head.capacity, at = _read_varint(data, at, end)
    if flags & ACKNOWLEDGES:
        head.acknowledged, at = _read_varint(data, at, end)
    if flags & PRIVATE:
        length, at = _read_varint(data, at, end)
        if length > min(PRIVATE_LIMIT, end - at):
            raise WireError("a frame ends too early")
        head.private = data[at : at + length]
        at += length
    if head.has_body == (at == end):
        raise WireError("a frame has a body that it does not announce, or lacks it")
    return head, data[:at], data[at:end]


def check_of(head: bytes, body_check: int) -> bytes:
    """The last bytes of a frame; `body_check` is crc32(body, digest)."""
    return zlib.crc32(head, body_check).to_bytes(CHECK, "little")


def body_check(body: bytes, known: int) -> int:
    """The part of the check that receivers who know the same may share."""
    return zlib.crc32(body, known)


def _write_varint(data: bytearray, value: int) -> None:
    """Seven bits a byte, the lowest first, the eighth set if another byte follows (LEB128)."""
    while value >= 128:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)


def _read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 63:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise WireError("a frame ends too early, or has a number that is too large")
