"""Every engine against raw sockets that keep to the protocol, and against those that don't."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from server.engine import Connection, Http, Limits, binary_frame, text_frame
from server.engines import Engine
from server.websockets_engine import WebSocketListener, serve


class CountingTransport:
    """A transport that notes the size of every write."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.writes: list[int] = []

    def write(self, data: bytes) -> None:
        self.writes.append(len(data))
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Recorder:
    """A handler that notes everything, echoes what it gets, and does what single tests ask of it."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.connections: list[Connection] = []
        self.on_message: Callable[[Connection, bytes, bool], None] = self.echo
        self.changed = asyncio.Event()

    def echo(self, connection: Connection, message: bytes, binary: bool) -> None:
        (connection.send_bytes if binary else connection.send_text)(message)

    def opened(self, connection: Connection) -> None:
        self.connections.append(connection)
        self.note("opened", connection.path)

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        self.note("received", message, binary)
        self.on_message(connection, message, binary)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        self.note("closed", code, reason)

    def note(self, *what: Any) -> None:
        self.log.append(what)
        self.changed.set()

    def kinds(self) -> list[str]:
        return [entry[0] for entry in self.log]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    async def closes(self) -> tuple[int, str]:
        await self.until(lambda: "closed" in self.kinds())
        (found,) = [entry[1:] for entry in self.log if entry[0] == "closed"]
        return found


def play(
    engine: Engine, scenario: Callable[[Recorder, WebSocketListener], Awaitable[None]], http: Http | None, limits: Any
) -> Recorder:
    """Run a scenario against a listening engine; at the end everybody must be gone, once each."""

    async def main() -> Recorder:
        recorder = Recorder()
        all_limits = Limits(**{"close_timeout": 8.0, **limits})
        listener = await serve(recorder, "127.0.0.1", 0, all_limits, http=http, kind=engine.connection)
        try:
            async with asyncio.timeout(30):
                await scenario(recorder, listener)
        finally:
            for connection in list(listener._connections):
                connection._cut("the test is over")
            await listener.close()
        kinds = recorder.kinds()
        assert kinds.count("closed") == kinds.count("opened")
        return recorder

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        return runner.run(main())


@pytest.fixture
def run(engine: Engine) -> Callable[..., Recorder]:
    """`run(scenario, http=None, **limits)`: `play` on each engine."""
    return lambda scenario, http=None, **limits: play(engine, scenario, http, limits)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536])
def test_rs_02_rs_10_messages_of_every_header_size_come_and_go_up_to_the_limit(run, raw, opcodes, size):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        client.send(opcodes.TEXT, b"t" * size)
        client.send(opcodes.BINARY, b"\xff" * size)
        assert await client.read() == (opcodes.TEXT, b"t" * size)
        assert await client.read() == (opcodes.BINARY, b"\xff" * size)

    run(scenario)


@pytest.mark.parametrize("pieces", [[65_537], [1 << 20], [40_000, 40_000], [60_000, 5_000, 600]])
def test_rs_10_a_message_over_the_limit_closes_its_sender_alone(run, raw, opcodes, pieces):
    async def scenario(recorder, listener):
        other, client = await raw.open(listener.port), await raw.open(listener.port)
        for index, size in enumerate(pieces):
            opcode = opcodes.CONT if index else opcodes.TEXT
            client.send(opcode, b"x" * size, fin=index == len(pieces) - 1)
        code, _ = await client.end()
        assert code == 1009
        other.send(opcodes.TEXT, b"still here")
        assert await other.read() == (opcodes.TEXT, b"still here")
        assert [entry for entry in recorder.log if entry[0] == "received"] == [("received", b"still here", False)]

    run(scenario)


def test_rs_03_five_hundred_frames_in_one_write_arrive_complete_and_in_order(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        client.writer.write(b"".join(client.frame(opcodes.TEXT, b"%d" % i) for i in range(500)))
        assert [await client.read() for _ in range(500)] == [(opcodes.TEXT, b"%d" % i) for i in range(500)]

    run(scenario)


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        (b"/plaza?seed=1", "/plaza"),
        (b"/", "/"),
        ("/雪".encode(), "/%E9%9B%AA"),
        (b"/%E9%9B%AA", "/%E9%9B%AA"),
    ],
)
def test_rs_05_rs_07_the_handler_sees_the_path_in_ascii_and_without_query(run, raw, asked, path):
    async def scenario(recorder, listener):
        await raw.open(listener.port, asked)
        await recorder.until(lambda: recorder.log == [("opened", path)])
        assert recorder.connections[0].address == "127.0.0.1"

    run(scenario)


def test_a_handshake_that_comes_byte_by_byte_with_the_first_frame_behind_it_works(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.plain(listener.port)
        for byte in client.request("/雪".encode()) + client.frame(opcodes.TEXT, "é".encode()):
            client.writer.write(bytes([byte]))
            await client.writer.drain()
        await client.head()
        assert await client.read() == (opcodes.TEXT, "é".encode())

    run(scenario)


def test_rs_27_a_plain_get_is_told_to_upgrade(run, raw):
    async def scenario(recorder, listener):
        client = await raw.plain(listener.port)
        client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await client.head()).startswith(b"HTTP/1.1 426 ")
        client.writer.close()

    assert run(scenario).log == []


@pytest.mark.parametrize(
    "hostile",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"y" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"\n" * 10_000,
    ],
    ids=["tls", "no version", "no colon", "no key", "long header", "long path", "many headers", "newlines"],
)
def test_a_hostile_handshake_opens_nothing_and_hinders_nobody(run, raw, opcodes, hostile):
    async def scenario(recorder, listener):
        client = await raw.plain(listener.port)
        client.writer.write(hostile)
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionError):
                assert not (await client.reader.read()).startswith(b"HTTP/1.1 101")
        client.writer.close()
        assert recorder.log == []
        other = await raw.open(listener.port)
        other.send(opcodes.TEXT, b"a")
        assert await other.read() == (opcodes.TEXT, b"a")

    run(scenario)


def test_a_handshake_that_never_comes_is_cut(run, raw):
    async def scenario(recorder, listener):
        silent, slow = await raw.plain(listener.port), await raw.plain(listener.port)
        slow.writer.write(b"GET / HTTP/1.1\r\n")
        for client in (silent, slow):
            assert await client.read() is None

    assert run(scenario, handshake_timeout=0.05).log == []


def test_half_a_frame_and_then_nothing_is_a_lost_connection(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        client.writer.write(client.frame(opcodes.TEXT, b"hello")[:-2])
        client.writer.close()
        assert await recorder.closes() == (1006, "")

    assert run(scenario).kinds() == ["opened", "closed"]


def test_what_was_said_before_the_end_of_the_stream_counts(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        client.writer.write(b"".join(client.frame(opcodes.TEXT, b"x" * 1000) for _ in range(50)))
        client.writer.write_eof()
        await recorder.closes()

    assert run(scenario).kinds() == ["opened", *["received"] * 50, "closed"]


@pytest.mark.parametrize("payload", [b"\xff", b"a\xed\xa0\x80", b"\xc3", b"\xf8\x88\x80\x80\x80"])
def test_text_that_is_no_utf8_closes_with_1007_before_the_handler_sees_it(run, raw, opcodes, payload):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        client.send(opcodes.TEXT, payload)
        assert (await client.end())[0] == 1007

    assert run(scenario).kinds() == ["opened", "closed"]


def test_a_message_in_fragments_arrives_whole_even_split_within_a_character_and_around_a_ping(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        snow = "雪".encode()
        client.send(opcodes.TEXT, snow[:1], fin=False)
        client.send(opcodes.PING, b"p")
        client.send(opcodes.CONT, snow[1:2], fin=False)
        client.send(opcodes.CONT, snow[2:], fin=True)
        client.send(opcodes.BINARY, b"\x00", fin=False)
        client.send(opcodes.CONT, b"\x01", fin=True)
        frames = [await client.read() for _ in range(3)]
        assert (opcodes.PONG, b"p") in frames
        frames.remove((opcodes.PONG, b"p"))
        assert frames == [(opcodes.TEXT, snow), (opcodes.BINARY, b"\x00\x01")]

    run(scenario)


@pytest.mark.parametrize("frames", [["unmasked"], ["cont"], ["text", "text"], ["reserved"], ["long ping"]])
def test_frames_against_the_protocol_close_with_1002(run, raw, opcodes, frames):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        for name in frames:
            match name:
                case "unmasked":
                    client.send(opcodes.TEXT, b"a", masked=False)
                case "cont":
                    client.send(opcodes.CONT, b"a")
                case "text":
                    client.send(opcodes.TEXT, b"a", fin=False)
                case "reserved":
                    client.send(0x3, b"a")
                case "long ping":
                    client.send(opcodes.PING, b"a" * 126)
        assert (await client.end())[0] == 1002

    assert run(scenario).kinds() == ["opened", "closed"]


def test_a_close_by_the_peer_is_answered_and_told_with_its_code_and_reason(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        client.send(opcodes.CLOSE, struct.pack(">H", 4321) + b"done")
        client.send(opcodes.TEXT, b"too late")
        assert await client.end() == (4321, "done")
        assert await recorder.closes() == (4321, "done")

    assert run(scenario).kinds() == ["opened", "closed"]


def test_rs_04_rs_20_who_never_answers_the_closing_handshake_is_cut_and_hears_of_nothing_more(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)

        def leave(connection, message, binary):
            connection.send_text(b"last words")
            connection.close(4001, "id taken")
            connection.close(4002, "twice")
            connection.send_text(b"never sent")

        recorder.on_message = leave
        client.send(opcodes.TEXT, b"1")
        client.send(opcodes.TEXT, b"2")
        assert await client.read() == (opcodes.TEXT, b"last words")
        assert await client.read() == (opcodes.CLOSE, struct.pack(">H", 4001) + b"id taken")
        client.send(opcodes.TEXT, b"3")
        assert await client.read() is None
        assert await recorder.closes() == (1006, "close handshake timed out")

    assert run(scenario, close_timeout=0.05).kinds() == ["opened", "received", "closed"]


def test_a_reason_that_a_close_frame_cannot_hold_is_shortened(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        recorder.on_message = lambda connection, *_: connection.close(4000, "é\ud800" * 100)
        client.send(opcodes.TEXT, b"1")
        code, reason = await client.end()
        assert code == 4000
        assert reason.startswith("é?é?")
        assert len(reason.encode()) <= 123

    run(scenario)


def test_a_reader_that_does_not_read_is_cut_and_costs_the_others_nothing(run, raw, opcodes):
    async def scenario(recorder, listener):
        lazy, other = await raw.open(listener.port), await raw.open(listener.port)
        lazy.writer.transport.pause_reading()
        await recorder.until(lambda: len(recorder.connections) == 2)
        slow = recorder.connections[0]
        most = 0
        async with asyncio.timeout(20):
            while "closed" not in recorder.kinds():
                slow.send_text(b"x" * 60_000)
                most = max(most, slow.buffered())
                other.send(opcodes.TEXT, b"a")
                assert await other.read() == (opcodes.TEXT, b"a")
        assert most <= 1_000_000 + 60_010
        assert await recorder.closes() == (1006, "too slow a reader")
        assert slow.buffered() == 0
        lazy.writer.close()

    run(scenario, max_buffered=1_000_000)


def test_rs_11_rs_12_who_answers_each_ping_stays_and_who_only_sends_data_is_cut(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        await recorder.until(lambda: len(recorder.connections) == 1)
        (connection,) = recorder.connections
        for turn in range(3):
            connection.ping()
            assert await client.read() == (opcodes.PING, b"")
            client.send(opcodes.PONG)
            client.send(opcodes.TEXT, b"%d" % turn)
            assert await client.read() == (opcodes.TEXT, b"%d" % turn)
        connection.ping()
        assert await client.read() == (opcodes.PING, b"")
        client.send(opcodes.TEXT, b"data is no pong")
        assert await client.read() == (opcodes.TEXT, b"data is no pong")
        connection.ping()
        assert await client.read() is None
        assert await recorder.closes() == (1006, "no answer to a ping")

    run(scenario, ping_interval=0)


def test_rs_11_pings_go_out_by_themselves_and_the_silent_are_cut_at_the_second(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        assert await client.read() == (opcodes.PING, b"")
        assert await client.read() is None
        assert await recorder.closes() == (1006, "no answer to a ping")

    run(scenario, ping_interval=0.05)


@pytest.mark.parametrize("kind", ["PING", "PONG", "CONT"])
def test_a_flood_of_frames_that_carry_nothing_closes_with_1008(run, raw, opcodes, kind):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        if kind == "CONT":
            client.send(opcodes.TEXT, b"", fin=False)
        frame = client.frame(getattr(opcodes, kind), b"", fin=kind != "CONT")
        client.writer.write(frame * 20_000)
        assert await client.end() == (1008, "too many control frames")

    assert run(scenario).kinds() == ["opened", "closed"]


def test_a_handler_that_raises_loses_that_connection_with_1011_and_no_other(run, raw, opcodes, caplog):
    async def scenario(recorder, listener):
        client, other = await raw.open(listener.port), await raw.open(listener.port)

        def fail(connection, message, binary):
            if message == b"fail":
                raise RuntimeError("broken handler")
            recorder.echo(connection, message, binary)

        recorder.on_message = fail
        client.send(opcodes.TEXT, b"fail")
        assert (await client.end())[0] == 1011
        other.send(opcodes.TEXT, b"a")
        assert await other.read() == (opcodes.TEXT, b"a")

    run(scenario)
    assert "broken handler" in caplog.text


def test_rs_19_closing_the_listener_closes_everybody_with_1001_and_refuses_new_ones(run, raw, opcodes):
    async def scenario(recorder, listener):
        clients = [await raw.open(listener.port) for _ in range(3)]
        half_open = await raw.plain(listener.port)
        half_open.writer.write(b"GET / HTTP/1.1\r\n")
        closing = asyncio.gather(listener.close(), listener.close())
        for client in clients:
            assert await client.end() == (1001, "server shutting down")
        assert await half_open.read() is None
        for client in clients:
            client.writer.close()
        await closing
        await listener.close()
        with pytest.raises(ConnectionError):
            await raw.plain(listener.port)

    run(scenario)


def test_frames_of_one_turn_of_the_loop_leave_in_one_write(run, raw, opcodes):
    async def scenario(recorder, listener):
        client = await raw.open(listener.port)
        await recorder.until(lambda: len(recorder.connections) == 1)
        (connection,) = recorder.connections
        connection._transport = CountingTransport(connection._transport)

        def three(connection, message, binary):
            for text in (b"one", b"two", b"three"):
                connection.send_text(text)
            assert connection.buffered() == 17

        recorder.on_message = three
        client.send(opcodes.TEXT, b"go")
        assert [(await client.read())[1] for _ in range(3)] == [b"one", b"two", b"three"]
        assert connection._transport.writes == [17]

    run(scenario)


def test_a_frame_encoded_once_goes_to_many_in_its_order_among_the_others(run, raw, opcodes):
    async def scenario(recorder, listener):
        clients = [await raw.open(listener.port) for _ in range(3)]
        await recorder.until(lambda: len(recorder.connections) == 3)
        text, binary = text_frame(b"text"), binary_frame(b"\xff" * 70_000)

        def tell(*_):
            for connection in recorder.connections:
                connection.send_text(b"before")
                connection.send(text)
                connection.send(binary)
                connection.send_bytes(b"after")

        recorder.on_message = tell
        clients[0].send(opcodes.TEXT, b"go")
        for client in clients:
            assert [await client.read() for _ in range(4)] == [
                (opcodes.TEXT, b"before"),
                (opcodes.TEXT, b"text"),
                (opcodes.BINARY, b"\xff" * 70_000),
                (opcodes.BINARY, b"after"),
            ]

    run(scenario)


def test_a_flood_waits_its_turn_and_delays_nobody_else(run, raw, opcodes):
    order: list[bytes] = []

    async def scenario(recorder, listener):
        flood, other = await raw.open(listener.port), await raw.open(listener.port)
        recorder.on_message = lambda connection, message, binary: order.append(message)
        flood.writer.write(b"".join(flood.frame(opcodes.TEXT, b"flood") for _ in range(20_000)))
        await recorder.until(lambda: len(order) > 0)
        other.send(opcodes.TEXT, b"other")
        await recorder.until(lambda: b"other" in order)
        await recorder.until(lambda: len(order) == 20_001)

    run(scenario)
    assert order.index(b"other") < 15_000


def test_several_addresses_share_one_port_and_a_taken_port_binds_none(engine, raw):
    async def main():
        recorder = Recorder()
        first = await serve(recorder, ["127.0.0.1", "localhost"], 0, kind=engine.connection)
        with pytest.raises(OSError) as error:  # noqa: PT011 the number says it
            await serve(recorder, "127.0.0.1", first.port)
        assert error.value.errno == errno.EADDRINUSE
        await raw.open(first.port)
        await first.close()

    asyncio.run(main())
