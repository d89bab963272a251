"""The embedded relay on real sockets, by either engine."""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from server.engines import Engine
from server.relay import RelayServer

GET = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def run(engine: Engine) -> Callable[..., list[Any]]:
    """`run(scenario, **options)`: a relay on a free port, whose log is returned."""

    def play(scenario: Callable[[RelayServer], Awaitable[None]], **options: Any) -> list[Any]:
        lines: list[Any] = []

        async def main() -> None:
            relay = RelayServer(
                **{"port": 0, "engine": engine.name, "log": lambda e, **f: lines.append((e, f)), **options}
            )
            await relay.ready
            try:
                async with asyncio.timeout(30):
                    await scenario(relay)
            finally:
                async with asyncio.timeout(10):
                    await relay.close()

        with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
            runner.run(main())
        return lines

    return play


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


async def room(raw: Any, relay: RelayServer, count: int, path: str = "/") -> list[Any]:
    """So many clients, all of them in the room by now."""
    clients = [await raw.open(relay.port, path) for _ in range(count)]
    await until(lambda: sum(relay.rooms().values()) >= count)
    return clients


def test_rs_01_rs_02_frames_reach_the_room_unchanged_and_nobody_else(run, raw, opcodes):
    async def scenario(relay):
        sender, mate = await room(raw, relay, 2, "/r?query")
        stranger = await raw.open(relay.port, "/r/")
        await until(lambda: relay.rooms() == {"/r": 2, "/r/": 1})
        for opcode, payload in ((opcodes.TEXT, b"no JSON"), (opcodes.BINARY, b"\xff"), (opcodes.TEXT, b"")):
            sender.send(opcode, payload)
            assert await mate.read() == (opcode, payload)
        for client in (mate, stranger):
            client.send(opcodes.TEXT, b"last")
        assert await sender.read() == (opcodes.TEXT, b"last")

    run(scenario)


def test_rs_03_frames_of_two_senders_arrive_complete_and_each_ones_in_order(run, raw, opcodes):
    async def scenario(relay):
        first, second, mate = await room(raw, relay, 3)
        for i in range(500):
            first.send(opcodes.TEXT, b"1 %d" % i)
            second.send(opcodes.BINARY, b"2 %d" % i)
        got = [await mate.read() for _ in range(1000)]
        assert [frame for frame in got if frame[0] == opcodes.TEXT] == [(1, b"1 %d" % i) for i in range(500)]
        assert [frame for frame in got if frame[0] == opcodes.BINARY] == [(2, b"2 %d" % i) for i in range(500)]
        assert [await first.read() for _ in range(500)] == [(2, b"2 %d" % i) for i in range(500)]

    run(scenario)


def test_rs_04_a_mate_that_is_being_closed_is_skipped_and_the_others_are_not(run, raw, opcodes):
    async def scenario(relay):
        sender, mate, leaving = await room(raw, relay, 3)
        leaving.send(opcodes.CLOSE, struct.pack(">H", 1000))
        assert (await leaving.read())[0] == opcodes.CLOSE
        sender.send(opcodes.TEXT, b"x")
        assert await mate.read() == (opcodes.TEXT, b"x")
        assert await leaving.read() is None

    run(scenario)


@pytest.mark.parametrize("path", ["/wsx", "/", "/wsx/lobby"])
def test_rs_08_rs_09_outside_of_the_base_path_the_upgrade_succeeds_and_then_it_ends(run, raw, opcodes, path):
    joined: list[Any] = []

    async def scenario(relay):
        inside = await raw.open(relay.port, "/ws/lobby")
        await until(lambda: relay.rooms() == {"/lobby": 1})
        stray = await raw.plain(relay.port)
        stray.writer.write(stray.request(path) + stray.frame(opcodes.TEXT, b"sent at once"))
        assert (await stray.head()).startswith(b"HTTP/1.1 101 ")
        assert await stray.end() == (1008, "wrong path")
        assert relay.rooms() == {"/lobby": 1}
        mate = await raw.open(relay.port, "/ws/lobby")
        mate.send(opcodes.TEXT, b"first")
        assert await inside.read() == (opcodes.TEXT, b"first")

    run(scenario, base_path="/ws/", on_join=lambda *call: joined.append(call))
    assert joined == [("/lobby", 1), ("/lobby", 2)]


def test_rs_10_the_longest_frame_passes_and_one_byte_more_ends_its_sender(run, raw, opcodes):
    async def scenario(relay):
        sender, mate = await room(raw, relay, 2)
        sender.send(opcodes.BINARY, b"x" * 65_536)
        assert await mate.read() == (opcodes.BINARY, b"x" * 65_536)
        sender.send(opcodes.TEXT, b"x" * 65_537)
        assert (await sender.end())[0] == 1009
        await until(lambda: relay.rooms() == {"/": 1})
        (other,) = await room(raw, relay, 1)
        other.send(opcodes.TEXT, b"still here")
        assert await mate.read() == (opcodes.TEXT, b"still here")

    run(scenario)


def test_rs_11_rs_12_who_answers_no_ping_is_cut_however_much_he_sends(run, raw, opcodes):
    async def scenario(relay):
        alive, talker = await room(raw, relay, 2)
        pings = 0
        while relay.rooms() == {"/": 2}:
            talker.send(opcodes.TEXT, b"x")
            opcode, payload = await alive.read()
            if opcode == opcodes.PING:
                pings += 1
                alive.send(opcodes.PONG, payload)
        assert pings >= 1
        while (frame := await talker.read()) is not None:
            assert frame[0] == opcodes.PING  # and no close frame before the end

    run(scenario, heartbeat=0.1)


def test_rs_13_no_heartbeat_no_ping(run, raw, opcodes):
    async def scenario(relay):
        sender, mate = await room(raw, relay, 2)
        sender.send(opcodes.TEXT, b"x")
        assert await mate.read() == (opcodes.TEXT, b"x")
        assert "ping" not in relay._listener._timers

    run(scenario, heartbeat=0)


def test_rs_14_rs_15_joins_and_leaves_are_told_with_the_new_count(run, raw, opcodes):
    calls: list[Any] = []

    async def scenario(relay):
        (first,) = await room(raw, relay, 1, "/r")
        _, _ = await room(raw, relay, 2, "/r")
        assert relay.rooms() == {"/r": 3}
        first.send(opcodes.CLOSE, struct.pack(">H", 1000))
        await until(lambda: relay.rooms() == {"/r": 2})

    run(
        scenario,
        on_join=lambda room, count: calls.append((room, count)),
        on_leave=lambda room, count: calls.append((room, -count)),
    )
    assert calls == [("/r", 1), ("/r", 2), ("/r", 3), ("/r", -2), ("/r", -1), ("/r", 0)]


def test_rs_16_the_port_is_known_while_it_listens_and_only_then(engine):
    async def main():
        relay = RelayServer(port=0, engine=engine.name)
        assert relay.port == 0
        await relay.ready
        assert relay.port > 0
        await relay.close()
        assert relay.port == 0

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        runner.run(main())


@pytest.mark.parametrize("asked", [True, False])
def test_rs_17_a_taken_port_is_told_by_ready_and_in_the_log_and_ends_nothing(engine, asked, caplog):
    lines: list[Any] = []

    async def main(port: int) -> None:
        relay = RelayServer(port=port, engine=engine.name, log=lambda event, **fields: lines.append(event))
        if asked:
            with pytest.raises(OSError) as error:  # noqa: PT011 the number says it
                await relay.ready
            assert error.value.errno == errno.EADDRINUSE
        else:
            await until(lambda: lines != [])
        assert relay.port == 0
        await relay.close()

    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        asyncio.Runner(loop_factory=engine.new_event_loop) as runner,
    ):
        runner.run(main(taken.getsockname()[1]))
    assert lines == ["failed", "closed"]
    assert caplog.text == ""


def test_rs_18_beside_a_server_of_somebody_elses_it_takes_over_the_connections_it_is_given(run, raw, opcodes):
    class Door(asyncio.Protocol):
        """A small server: pages below /page, everything else is the relay's."""

        relay: RelayServer

        def connection_made(self, transport):
            self.transport = transport
            self.received = b""

        def data_received(self, data):
            self.received += data
            if self.received.startswith(b"GET /page"):
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
                self.received = b""
            elif len(self.received) > 20:
                self.relay.adopt(self.transport, self.received)

    async def scenario(relay):
        await relay.ready
        assert relay.port == 0
        Door.relay = relay
        door = await asyncio.get_running_loop().create_server(Door, "127.0.0.1", 0)
        port = door.sockets[0].getsockname()[1]
        first, second = await raw.open(port, "/r"), await raw.plain(port)
        request = second.request("/r") + second.frame(opcodes.TEXT, b"with the request")
        second.writer.write(request[:30])
        await until(lambda: relay.rooms() == {"/r": 1})
        second.writer.write(request[30:])
        assert (await second.head()).startswith(b"HTTP/1.1 101 ")
        assert await first.read() == (opcodes.TEXT, b"with the request")
        first.send(opcodes.BINARY, b"back")
        assert await second.read() == (opcodes.BINARY, b"back")
        ending = asyncio.gather(first.end(), second.end())
        await relay.close()
        assert await ending == [(1001, "server shutting down")] * 2
        visitor = await raw.plain(port)
        visitor.writer.write(GET % b"/page")
        assert (await visitor.head()).startswith(b"HTTP/1.1 200 ")
        late = await raw.plain(port)
        late.writer.write(late.request("/r"))
        assert await late.read() is None
        for client in (visitor, late):
            client.writer.close()
        door.close()

    run(scenario, port=None)


def test_rs_19_closing_ends_everybody_once_and_every_call_gets_the_same_result(run, raw, opcodes):
    async def scenario(relay):
        clients = [*await room(raw, relay, 2), *await room(raw, relay, 1, "/other")]
        port = relay.port
        first = relay.close()
        second = relay.close()
        for client in clients:
            assert await client.end() == (1001, "server shutting down")
        assert await first == await second
        assert relay.rooms() == {}
        with pytest.raises(ConnectionError):
            await raw.plain(port)

    lines = run(scenario)
    assert [event for event, _ in lines].count("closed") == 1


def test_closing_before_it_listens_is_an_orderly_end(engine):
    async def main():
        relay = RelayServer(port=0, engine=engine.name)
        await relay.close()
        assert relay.port == 0

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        runner.run(main())


def test_rs_20_who_does_not_answer_the_close_delays_it_by_its_bound_at_most(run, raw):
    async def scenario(relay):
        (silent,) = await room(raw, relay, 1)
        start = asyncio.get_running_loop().time()
        await relay.close()
        assert asyncio.get_running_loop().time() - start >= 1.4
        assert (await silent.read())[0] == 0x8
        assert await silent.read() is None

    run(scenario)


def test_rs_22_the_log_tells_the_life_of_the_relay_and_no_message(run, raw, opcodes):
    async def scenario(relay):
        sender, mate = await room(raw, relay, 2, "/r")
        for _ in range(10):
            sender.send(opcodes.TEXT, b"x")
            await mate.read()
        mate.send(opcodes.CLOSE, struct.pack(">H", 4000) + b"enough")
        assert await mate.end() == (4000, "enough")
        await until(lambda: relay.rooms() == {"/r": 1})
        sender.writer.close()
        await until(lambda: relay.rooms() == {})

    lines = run(scenario)
    assert [event for event, _ in lines] == ["listening", "connect", "connect", "disconnect", "disconnect", "closed"]
    assert lines[0][1]["url"].startswith("ws://127.0.0.1:")
    assert (lines[3][1]["count"], lines[3][1]["code"], lines[3][1]["reason"]) == (1, 4000, "enough")


def test_rs_21_without_a_log_it_is_silent(engine, raw, capfd, caplog):
    async def main():
        relay = RelayServer(port=0, engine=engine.name)
        await relay.ready
        (client,) = await room(raw, relay, 1)
        ending = asyncio.create_task(client.end())
        await relay.close()
        assert (await ending)[0] == 1001

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        runner.run(main())
    assert (*capfd.readouterr(), caplog.text) == ("", "", "")


@pytest.mark.parametrize("pages", [False, True])
def test_rs_27_a_plain_get_is_answered_by_the_page_if_there_is_one_and_told_to_upgrade_if_not(run, raw, pages):
    def http(path: str) -> Any:
        if path == "/broken":
            raise RuntimeError("broken page")
        return (200, {"Content-Type": "text/plain"}, b"healthy") if path == "/health" else None

    async def ask(relay: RelayServer, path: bytes) -> bytes:
        client = await raw.plain(relay.port)
        client.writer.write(GET % path)
        async with asyncio.timeout(10):
            answer = await client.reader.read()
        client.writer.close()
        return answer

    async def scenario(relay):
        health = await ask(relay, b"/health?x=1")
        if pages:
            head, body = health.split(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"Content-Length: 7\r\n" in head + b"\r\n"
            assert body == b"healthy"
            assert (await ask(relay, b"/broken")).startswith(b"HTTP/1.1 500 ")
        else:
            assert health.startswith(b"HTTP/1.1 426 ")
        assert (await ask(relay, b"/other")).startswith(b"HTTP/1.1 426 ")
        await raw.open(relay.port, "/health")
        await until(lambda: relay.rooms() == {"/health": 1})

    run(scenario, http=http if pages else None)


def test_a_mate_that_does_not_read_is_cut_at_its_bound_and_the_others_get_everything(run, raw, opcodes):
    async def scenario(relay):
        sender, mate, lazy = await room(raw, relay, 3)
        lazy.writer.transport.pause_reading()
        lazy.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sent = 0
        while relay.rooms() == {"/": 3}:
            sender.send(opcodes.BINARY, sent.to_bytes(4, "big") + bytes(60_000))
            assert (await mate.read())[1][:4] == sent.to_bytes(4, "big")
            sent += 1
            assert sent < 2000
        lazy.writer.close()

    lines = run(scenario, max_buffered=200_000)
    cut = next(fields for event, fields in lines if event == "disconnect")
    assert (cut["code"], cut["reason"]) == (1006, "too slow a reader")


def test_hostile_peers_hurt_no_room_mate(run, raw, opcodes):
    async def scenario(relay):
        sender, mate = await room(raw, relay, 2)
        for attack in (
            b"\x16\x03\x01\r\n\r\n",
            raw.request("/") + b"\xff" * 100,
            raw.request("/") + b"\x81\xff" + b"\xff" * 8,
            raw.request("/") + b"\x89\x80\x00\x00\x00\x00" * 5000,
            raw.request("/") + b"\x81\x82\x00\x00\x00\x00\xff\xff",
        ):
            evil = await raw.plain(relay.port)
            evil.writer.write(attack)
            async with asyncio.timeout(10):
                while await evil.reader.read(65_536):
                    pass
            evil.writer.close()
            sender.send(opcodes.TEXT, b"fine")
            assert await mate.read() == (opcodes.TEXT, b"fine")
        await until(lambda: relay.rooms() == {"/": 2})

    run(scenario)
