"""Both engines on the same bytes, whatever they are: the same messages, the same pongs, the same end."""

from __future__ import annotations

import asyncio
import struct
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.engine import Connection, Limits
from server.engines import NAMES, choose
from server.flusher import Flusher

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uvloop does not run on Windows")

LIMITS = Limits(max_size=300, max_control_frames=10_000)
REQUEST = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def frame(opcode: int, payload: bytes, fin: bool, reserved: int, masked: bool) -> bytes:
    """A frame with the shortest length that fits: of longer ones the engines think differently."""
    size = len(payload)
    flag = 0x80 if masked else 0
    first = bytes([opcode | reserved << 4 | (0x80 if fin else 0)])
    head = first + (bytes([flag | size]) if size < 126 else bytes([flag | 126]) + struct.pack(">H", size))
    key = b"\x01\x82\x03\x84"
    if not masked:
        return head + payload
    return head + key + bytes(byte ^ key[index % 4] for index, byte in enumerate(payload))


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.closing = False

    def get_extra_info(self, name: str) -> Any:
        return None

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.written += b"EOF"

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closing

    def abort(self) -> None:
        self.closing = True


class Echo:
    """A handler that sends every message back, and notes it."""

    def __init__(self) -> None:
        self.received_messages: list[tuple[bytes, bool]] = []
        self.end: tuple[int, str] | None = None

    def opened(self, connection: Connection) -> None:
        pass

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        self.received_messages.append((message, binary))
        (connection.send_bytes if binary else connection.send_text)(message)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        self.end = code, reason


def frames_of(written: bytes) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]], bytes]:
    """Data frames, pongs, and the rest from the close frame on (its code only: reasons may differ)."""
    data, pongs = [], []
    while written and written[0] & 0x0F != 8:
        size, start = written[1], 2
        if size == 126:
            size, start = struct.unpack_from(">H", written, 2)[0], 4
        (pongs if written[0] & 0x0F == 0xA else data).append((written[0], written[start : start + size]))
        written = written[start + size :]
    return data, pongs, written[:1] + written[2:4] + written[-3:]


async def outcome(name: str, chunks: list[bytes]) -> Any:
    echo, wire = Echo(), Wire()
    connection = choose(name).connection(
        echo,
        LIMITS,
        None,
        flusher=Flusher(asyncio.get_running_loop()),
        came=lambda _: None,
        gone=lambda _: None,
    )
    connection.connection_made(wire)
    connection.data_received(REQUEST)
    await asyncio.sleep(0)
    wire.written = b""
    for chunk in chunks:
        connection.data_received(chunk)
        await asyncio.sleep(0)
    connection.connection_lost(None)
    return echo.received_messages, frames_of(wire.written), echo.end


def agree(chunks: list[bytes]) -> Any:
    async def both() -> list[Any]:
        return [await outcome(name, chunks) for name in NAMES]

    first, second = asyncio.run(both())
    (messages, (data, pongs, end), closed), (_, (_, fewer, _), _) = first, second
    assert second == (messages, (data, fewer, end), closed)
    assert fewer == pongs[: len(fewer)]
    assert len(fewer) == len(pongs) or end, "only who is thrown out may miss the answer to a ping"
    return first


def frames(opcodes: list[int], payloads: st.SearchStrategy[bytes], good: bool) -> st.SearchStrategy[bytes]:
    return st.builds(
        frame,
        opcode=st.sampled_from(opcodes),
        payload=payloads,
        fin=st.just(True) if good else st.booleans(),
        reserved=st.just(0) if good else st.sampled_from([0, 0, 0, 0, 0, 1, 2, 4]),
        masked=st.just(True) if good else st.sampled_from([True, True, True, True, False]),
    )


# always UTF-8: a text that is none is found only after all of one read has been parsed, so a second fault in it may
# come first
TEXT = st.one_of(st.text(max_size=40).map(str.encode), st.integers(120, 320).map(bytes))
BYTES = st.binary(max_size=125)
FRAMES = st.one_of(
    frames([1], TEXT, good=True),
    frames([2, 9, 10], BYTES, good=True),
    frames([0, 0, 1], TEXT, good=False),
    frames([2, 9, 10, 3, 11], BYTES, good=False),
)
CLOSE = st.builds(
    frame,
    opcode=st.just(8),
    payload=st.one_of(
        st.sampled_from([b"", b"\x03"]),
        st.integers(0, 6000).map(lambda code: struct.pack(">H", code) + b"why"),
    ),
    fin=st.booleans(),
    reserved=st.sampled_from([0, 0, 0, 4]),
    masked=st.sampled_from([True, True, True, False]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(FRAMES, FRAMES, FRAMES, CLOSE), max_size=8), st.lists(st.integers(1, 60), max_size=30))
def test_engines_agree_on_frames_good_and_bad_however_they_are_cut(said: list[bytes], sizes: list[int]):
    data, chunks = b"".join(said), []
    for size in sizes:
        chunks.append(data[:size])
        data = data[size:]
    agree([chunk for chunk in (*chunks, data) if chunk])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(FRAMES, st.booleans()), max_size=8))
def test_engines_say_the_same_of_frames_that_come_alone_and_of_frames_that_come_together(
    said: list[tuple[bytes, bool]],
):
    chunks = [b""]
    for piece, alone in said:
        chunks[-1] += piece
        if alone:
            chunks.append(b"")
    messages, (data, _, end), closed = agree([chunk for chunk in chunks if chunk])
    together, (same_data, _, same_end), same_closed = agree([b"".join(chunks)]) if said else agree([])
    assert (together, same_data, same_end, same_closed) == (messages, data, end, closed)


@pytest.mark.parametrize("opcode", [1, 2])
def test_a_short_frame_that_comes_alone_is_no_message_within_another(opcode):
    odd, after = frame(opcode, b"odd", True, 0, True), frame(0, b"second", True, 0, True)
    messages, (data, _, end), _ = agree([frame(1, b"first half,", False, 0, True), odd, after])
    assert (messages, data) == ([], [])
    assert end[:3] == b"\x88" + struct.pack(">H", 1002)


def test_a_short_frame_that_comes_alone_waits_for_the_long_read_before_it():
    size = 122  # what is parsed in one turn ends with a whole frame then
    expected = [(bytes([number]) * size, True) for number in range(150)]
    said = [frame(2, message, True, 0, True) for message, _ in expected]
    messages, _, _ = agree([b"".join(said[:-1]), said[-1]])
    assert 0 < len(messages) < 150, "the connection is cut before all has been read"
    assert messages == expected[: len(messages)]


@pytest.mark.parametrize("cut", range(1, 17))
@pytest.mark.parametrize("opcode", [1, 2])
@pytest.mark.parametrize("fin", [True, False])
def test_what_looks_like_a_short_frame_in_the_middle_of_another_is_none(cut, opcode, fin):
    inner = frame(2, b"inner", True, 0, True)
    payload = bytes(cut) + inner
    outer = bytes([opcode | (0x80 if fin else 0), 0x80 | len(payload)]) + bytes(4) + payload
    last = b"" if fin else frame(0, b"", True, 0, True)
    if opcode == 1:  # 0x82 is no text
        messages, _, (code, _) = agree([outer[: -len(inner)], inner, last] if last else [outer[: -len(inner)], inner])
        assert (messages, code) == ([], 1006)
        return
    for chunks in ([outer[: -len(inner)], inner], [outer[:cut], outer[cut:]], [outer]):
        messages, _, _ = agree([*chunks, last] if last else chunks)
        assert messages == [(payload, True)]


@pytest.mark.parametrize("opcode", [0, 1, 2, 3, 8, 9, 10, 15])
@pytest.mark.parametrize("reserved", [0, 1, 2, 4])
@pytest.mark.parametrize("fin", [True, False])
def test_engines_agree_on_each_first_byte_within_and_outside_of_a_fragmented_message(opcode, reserved, fin):
    odd = frame(opcode, b"ab", fin, reserved, True)
    before, after = frame(1, b"before", True, 0, True), frame(2, b"after", True, 0, True)
    outside, (data, _, end), _ = agree([before + odd + after])
    assert outside[0] == (b"before", False)
    assert data[0] == (0x81, b"before")
    if reserved or opcode in (3, 15):
        assert end[:3] == b"\x88" + struct.pack(">H", 1002)
    agree([before, frame(1, b"first half,", False, 0, True) + odd, frame(0, b"second", True, 0, True) + after])


@pytest.mark.parametrize("code", [0, 999, 1000, 1004, 1005, 1006, 1011, 1015, 1016, 2999, 3000, 4999, 5000, 65_535])
@pytest.mark.parametrize("reason", [b"", b"bye"])
def test_engines_agree_on_each_kind_of_close(code, reason):
    agree([frame(8, struct.pack(">H", code) + reason, True, 0, True)])


def test_engines_agree_on_a_reason_that_is_no_utf8():
    agree([frame(8, struct.pack(">H", 1000) + b"\xff", True, 0, True)])


def test_what_came_before_a_bad_frame_in_the_same_bytes_is_delivered():
    good, bad = frame(1, b"good", True, 0, True), frame(1, b"x" * 301, True, 0, True)
    messages, (_, _, end), _ = agree([good + good + bad + good])
    assert messages == [(b"good", False)] * 2
    assert end[:3] == b"\x88" + struct.pack(">H", 1009)
