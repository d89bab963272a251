"""Gathering input: sockets that are read when somebody asks for it, and engines that leave theirs to that."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from server.engine import Connection, Limits
from server.engines import NAMES, Engine, MissingEngineError, choose
from server.gatherer import CHUNK, CROWD, Gatherer
from server.websockets_engine import serve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a loop's sockets cannot be read past it on Windows")

PATIENCE = 20.0


class Taker:
    """Takes what comes, and does something with it."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.taken: list[bytes] = []
        self.releases = 0
        self._then = then

    def data_received(self, data: bytes) -> None:
        self.taken.append(data)
        self._then()

    def release(self) -> None:
        self.releases += 1


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    made = [socket.socketpair() for _ in range(3)]
    for near, _ in made:
        near.setblocking(False)
    yield made
    for near, far in made:
        near.close()
        far.close()


def test_what_has_come_is_read_when_it_is_asked_for(pairs: list[tuple[socket.socket, socket.socket]]):
    gatherer, takers = Gatherer(), [Taker() for _ in pairs]
    for (near, _), taker in zip(pairs, takers, strict=True):
        gatherer.add(near.fileno(), taker)
    pairs[0][1].send(b"one")
    pairs[0][1].send(b"two")
    pairs[2][1].send(b"three")
    assert [taker.taken for taker in takers] == [[], [], []]
    gatherer.collect()
    gatherer.collect()
    assert [taker.taken for taker in takers] == [[b"onetwo"], [], [b"three"]]


def test_a_flood_gets_one_chunk_each_time(pairs: list[tuple[socket.socket, socket.socket]]):
    gatherer, taker, (near, far) = Gatherer(), Taker(), pairs[0]
    gatherer.add(near.fileno(), taker)
    far.send(bytes(2 * CHUNK + 1))
    sizes = []
    for _ in range(4):
        gatherer.collect()
        sizes.append([len(data) for data in taker.taken])
    assert sizes == [[CHUNK], [CHUNK, CHUNK], [CHUNK, CHUNK, 1], [CHUNK, CHUNK, 1]]


def test_who_is_over_is_released(pairs: list[tuple[socket.socket, socket.socket]]):
    gatherer, taker, (near, far) = Gatherer(), Taker(), pairs[0]
    gatherer.add(near.fileno(), taker)
    far.send(b"bye")
    far.close()
    gatherer.collect()
    assert (taker.taken, taker.releases) == ([b"bye"], 0)
    gatherer.collect()
    assert (taker.taken, taker.releases) == ([b"bye"], 1)


def test_who_was_removed_is_not_read(pairs: list[tuple[socket.socket, socket.socket]]):
    """Whether that was before, or by what another one had sent in the same moment."""
    gatherer = Gatherer()
    third = Taker()
    second = Taker(lambda: gatherer.remove(pairs[2][0].fileno()))
    gatherer.add(pairs[0][0].fileno(), Taker())
    gatherer.remove(pairs[0][0].fileno())
    gatherer.add(pairs[1][0].fileno(), second)
    gatherer.add(pairs[2][0].fileno(), third)
    for _, far in pairs:
        far.send(b"x")
    gatherer.collect()
    assert (second.taken, third.taken) == ([b"x"], [])


# -- engines

Talk = Callable[[Gatherer, list[ClientConnection], "Echo"], Coroutine[Any, Any, None]]


class Echo:
    """Says everything back."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.codes: list[int] = []

    def opened(self, connection: Connection) -> None:
        self.connections.append(connection)

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        connection.send_bytes(message)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        self.connections.remove(connection)
        self.codes.append(code)


@pytest.fixture(params=NAMES)
def engine(request: pytest.FixtureRequest) -> Engine:
    try:
        return choose(request.param)
    except MissingEngineError as error:
        pytest.skip(str(error))


def crowd(engine: Engine, talk: Talk, size: int = CROWD, **limits: Any) -> Echo:
    """A crowd connects and is gathered; then `talk`. Nobody collects but `talk`."""
    gatherer, echo = Gatherer(), Echo()

    async def scene() -> None:
        listener = await serve(echo, "127.0.0.1", 0, Limits(gatherer=gatherer, **limits), kind=engine.connection)
        url = f"ws://127.0.0.1:{listener.port}/"
        sockets = [await connect(url, compression=None, ping_interval=None) for _ in range(size)]
        if size >= CROWD:
            await until(lambda: len(gatherer) == size)
        await talk(gatherer, sockets, echo)
        await listener.close()
        await asyncio.gather(*(one.close() for one in sockets))

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        runner.run(asyncio.wait_for(scene(), PATIENCE))
    assert len(gatherer) == 0
    return echo


async def until(done: Callable[[], bool]) -> None:
    while not done():
        await asyncio.sleep(0.01)


async def answers(gatherer: Gatherer, socket: ClientConnection, count: int) -> list[bytes]:
    """What comes back while input is collected again and again."""
    got: list[bytes] = []
    while len(got) < count:
        gatherer.collect()
        try:
            async with asyncio.timeout(0.01):
                got.append(bytes(await socket.recv(decode=False)))
        except TimeoutError:
            pass
    return got


def test_a_crowd_is_heard_when_it_is_collected_and_not_before(engine: Engine):
    async def talk(gatherer: Gatherer, sockets: list[ClientConnection], echo: Echo) -> None:
        for number, one in enumerate(sockets):
            await one.send(bytes((number, 0)))
            await one.send(bytes((number, 1)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await sockets[0].recv()
        for number, one in enumerate(sockets):
            assert await answers(gatherer, one, 2) == [bytes((number, 0)), bytes((number, 1))]

    crowd(engine, talk)


def test_a_few_are_heard_at_once(engine: Engine):
    async def talk(gatherer: Gatherer, sockets: list[ClientConnection], echo: Echo) -> None:
        await asyncio.sleep(1.1)  # the engine looks around once a second
        assert len(gatherer) == 0
        await sockets[0].send(b"x")
        assert await sockets[0].recv() == b"x"

    crowd(engine, talk, CROWD - 1)


def test_a_crowd_that_shrinks_is_heard_at_once_again(engine: Engine):
    async def talk(gatherer: Gatherer, sockets: list[ClientConnection], echo: Echo) -> None:
        gone = asyncio.create_task(sockets[-1].close())
        while len(gatherer):
            gatherer.collect()
            await asyncio.sleep(0.01)
        await gone
        await sockets[0].send(b"x")
        assert await sockets[0].recv() == b"x"

    crowd(engine, talk)


def test_a_long_message_comes_whole_in_parts(engine: Engine):
    async def talk(gatherer: Gatherer, sockets: list[ClientConnection], echo: Echo) -> None:
        message = bytes(range(256)) * (5 * CHUNK // 256)
        await sockets[0].send(message)
        assert await answers(gatherer, sockets[0], 1) == [message]

    crowd(engine, talk)


def test_a_ping_is_answered_and_a_goodbye_is_heard(engine: Engine):
    async def talk(gatherer: Gatherer, sockets: list[ClientConnection], echo: Echo) -> None:
        pong = await sockets[0].ping()
        closing = asyncio.create_task(sockets[1].close(4321))
        while not (pong.done() and closing.done()):
            gatherer.collect()
            await asyncio.sleep(0.01)
        assert sockets[1].close_code == 4321
        await until(lambda: echo.codes == [4321])

    crowd(engine, talk)


@pytest.mark.parametrize("rude", [False, True])
def test_who_vanishes_is_noticed(engine: Engine, rude: bool):
    """With or without a last TCP packet that says so."""

    async def talk(gatherer: Gatherer, sockets: list[ClientConnection], echo: Echo) -> None:
        transport = sockets[0].transport
        if rude:
            sock = transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        transport.abort()
        while not echo.codes:
            gatherer.collect()
            await asyncio.sleep(0.01)
        assert echo.codes == [1006]
        assert len(echo.connections) == CROWD - 1

    crowd(engine, talk)


def test_who_is_sent_more_than_he_reads_loses_nothing_until_it_is_too_much(engine: Engine):
    """The socket fills up, the loop takes over what is left, and nothing is lost or out of order."""

    async def talk(gatherer: Gatherer, sockets: list[ClientConnection], echo: Echo) -> None:
        slow, victim = sockets[0], echo.connections[0]
        payloads = [number.to_bytes(4, "big") * 16_384 for number in range(120)]
        for payload in payloads:
            victim.send_bytes(payload)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert victim.buffered() > 0
        got = []
        while len(got) < len(payloads):
            got.append(bytes(await slow.recv(decode=False)))
            gatherer.collect()
        assert got == payloads
        await until(lambda: len(gatherer) == CROWD)

    crowd(engine, talk, max_buffered=16 << 20)


def test_too_slow_a_reader_is_cut_here_too(engine: Engine):
    async def talk(gatherer: Gatherer, sockets: list[ClientConnection], echo: Echo) -> None:
        sockets[0].transport.pause_reading()
        victim = echo.connections[0]
        while victim in echo.connections:
            victim.send_bytes(bytes(65_536))
            await asyncio.sleep(0)
        assert echo.codes == [1006]
        sockets[0].transport.resume_reading()
        with contextlib.suppress(ConnectionClosed):
            while True:
                await sockets[0].recv()

    crowd(engine, talk, max_buffered=1 << 20)


def test_a_server_that_closes_lets_a_crowd_go_in_peace(engine: Engine):
    gatherer, echo = Gatherer(), Echo()

    async def scene() -> list[int | None]:
        listener = await serve(echo, "127.0.0.1", 0, Limits(gatherer=gatherer), kind=engine.connection)
        url = f"ws://127.0.0.1:{listener.port}/"
        sockets = [await connect(url, compression=None) for _ in range(CROWD)]
        await until(lambda: len(gatherer) == CROWD)
        await listener.close(1001, "closing")
        await asyncio.gather(*(one.wait_closed() for one in sockets))
        return [one.close_code for one in sockets]

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        assert runner.run(asyncio.wait_for(scene(), PATIENCE)) == [1001] * CROWD
    assert len(gatherer) == 0


class Tcp(asyncio.Transport):
    """A connection of somebody else's loop, with or without TLS on it."""

    def __init__(self, near: socket.socket, secure: bool) -> None:
        super().__init__({"socket": near, "sslcontext": object() if secure else None})
        self.reading = True

    def write(self, data: Any) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.reading = False


@pytest.mark.parametrize("secure", [False, True])
def test_what_is_encrypted_stays_with_the_loop(
    engine: Engine, secure: bool, pairs: list[tuple[socket.socket, socket.socket]]
):
    gatherer = Gatherer()

    async def scene() -> None:
        listener = await serve(Echo(), [], 0, Limits(gatherer=gatherer), kind=engine.connection)
        tcp = Tcp(pairs[0][0], secure)
        connection = listener._connection()
        connection.connection_made(tcp)
        gatherer.wants = True  # whatever so few are
        connection.data_received(
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert tcp.reading is secure
        assert len(gatherer) == (not secure)
        connection.connection_lost(None)
        await listener.close()

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        runner.run(scene())
