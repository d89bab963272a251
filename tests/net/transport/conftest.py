"""A real WebSocket server on loopback that forwards as a relay does, and does to its clients what a test asks for."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from net.transport.base import ConnectionStatus, TransportState
from net.transport.websocket import RetryPolicy, WebSocketTransport

T = TypeVar("T")

DEADLINE = 10.0
"""seconds: a test that waits longer has failed"""


def until(condition: Callable[[], object], step: Callable[[], object] = lambda: None) -> None:
    """Call `step` until `condition` holds. Fails at the deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "this should have happened by now"
        step()
        time.sleep(0.001)


class Relay:
    """Every text and binary frame goes to all other connections, and into `frames`."""

    def __init__(self) -> None:
        self.frames: list[str | bytes] = []
        self._connections: list[ServerConnection] = []
        self._seen: list[ServerConnection] = []
        self._greeted = 0
        self.endings: list[tuple[int | None, str | None]] = []
        """close code and reason as the server saw them"""
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._server: Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/plaza"

    @property
    def connections(self) -> list[ServerConnection]:
        """Those that are open."""
        self.run(self._settle())
        return list(self._connections)

    @property
    def seen(self) -> list[ServerConnection]:
        """All that there ever were."""
        self.run(self._settle())
        return list(self._seen)

    async def _settle(self) -> None:
        """A client sees its connection open a moment before the server does: wait for that moment."""
        while len(self._seen) < self._greeted:
            await asyncio.sleep(0)

    def run(self, work: Awaitable[T]) -> T:
        """Do something on the server's loop and wait for it."""

        async def do() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(do(), self._loop).result(DEADLINE)

    def start(self) -> None:
        """Listen: on a free port at first, on the same one after `stop`."""

        def greet(connection: ServerConnection, request: object) -> None:
            self._greeted += 1

        async def listen() -> Server:
            return await serve(
                self._serve,
                "127.0.0.1",
                self.port,
                compression=None,
                process_request=greet,
                select_subprotocol=lambda connection, offered: offered[-1] if offered else None,
            )

        self._server = self.run(listen())
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    def stop(self, code: int = 1001) -> None:
        """Close everyone and listen no more."""
        assert self._server is not None
        self._server.close(code=code)
        self.run(self._server.wait_closed())

    def send(self, frame: str | bytes) -> None:
        """To everyone."""
        for connection in self.connections:
            self.run(connection.send(frame))

    def close(self, code: int, reason: str = "") -> None:
        """Everyone, but go on listening."""
        for connection in self.connections:
            self.run(connection.close(code, reason))

    def cut(self) -> None:
        """Everyone, without a good-bye."""

        connections = self.connections

        async def abort() -> None:
            for connection in connections:
                connection.transport.abort()

        self.run(abort())

    def end(self) -> None:
        if self._server is not None:
            self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE)
        self._loop.close()

    async def _serve(self, connection: ServerConnection) -> None:
        self._connections.append(connection)
        self._seen.append(connection)
        try:
            async for frame in connection:
                self.frames.append(frame)
                for other in list(self._connections):
                    if other is not connection:
                        with contextlib.suppress(ConnectionClosed):
                            await other.send(frame)
        except ConnectionClosed:
            pass
        finally:
            self._connections.remove(connection)
            self.endings.append((connection.close_code, connection.close_reason))


@pytest.fixture
def relay() -> Iterator[Relay]:
    server = Relay()
    server.start()
    yield server
    server.end()


@pytest.fixture
def wait() -> Callable[..., Any]:
    return until


class Client:
    """A transport and all that it has told."""

    def __init__(self, wait: Callable[..., None], urls: str | list[str], **options: Any) -> None:
        self._wait = wait
        self.transport = WebSocketTransport(urls, **options)
        self.heard: list[Any] = []
        self.statuses: list[ConnectionStatus] = []
        self.events: list[Any] = []
        self.transport.subscribe(lambda envelope: self.heard.append(envelope.data))
        self.transport.subscribe_bytes(self.heard.append)
        self.transport.subscribe_status(self.statuses.append)
        self.transport.on_open(lambda: self.events.append("open"))
        self.transport.on_close(lambda code, reason: self.events.append((code, reason)))
        self.transport.on_error(self.events.append)

    def until(self, condition: Callable[[], object]) -> None:
        self._wait(condition, self.transport.poll)

    def until_state(self, state: TransportState) -> None:
        self.until(lambda: self.transport.status.state is state)

    @property
    def story(self) -> list[tuple[str, int]]:
        return [(status.state.value, status.attempt) for status in self.statuses]


@pytest.fixture
def client(wait: Callable[..., None]) -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def make(urls: str | list[str], **options: Any) -> Client:
        options.setdefault("policy", RetryPolicy(tries=1000, first=0.01))
        clients.append(Client(wait, urls, **options))
        return clients[-1]

    yield make
    for made in clients:
        made.transport.close()


class Listener:
    """A raw TCP server that does to each connection what `talk` says, in a thread of its own."""

    def __init__(self, talk: Callable[[socket.socket], object]) -> None:
        self._talk = talk
        self.accepted: list[socket.socket] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._run, name="listener", daemon=True).start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.accepted.append(connection)
                with contextlib.suppress(OSError):
                    self._talk(connection)

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self.accepted:
            connection.close()


@pytest.fixture
def listen() -> Iterator[Callable[[Callable[[socket.socket], object]], Listener]]:
    listeners: list[Listener] = []

    def make(talk: Callable[[socket.socket], object]) -> Listener:
        listeners.append(Listener(talk))
        return listeners[-1]

    yield make
    for listener in listeners:
        listener.end()


@pytest.fixture
def dead_url() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"ws://127.0.0.1:{server.getsockname()[1]}/"
