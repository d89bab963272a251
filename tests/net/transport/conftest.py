"""A real WebSocket server on loopback that forwards as a relay does, and does to its clients what a test asks for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

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
        self.connections: list[ServerConnection] = []
        """those that are open"""
        self.seen: list[ServerConnection] = []
        """all that there ever were"""
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

    def run(self, work: Awaitable[T]) -> T:
        """Do something on the server's loop and wait for it."""

        async def do() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(do(), self._loop).result(DEADLINE)

    def start(self) -> None:
        """Listen: on a free port at first, on the same one after `stop`."""

        async def listen() -> Server:
            return await serve(
                self._serve,
                "127.0.0.1",
                self.port,
                compression=None,
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
        for connection in list(self.connections):
            self.run(connection.send(frame))

    def close(self, code: int, reason: str = "") -> None:
        """Everyone, but go on listening."""
        for connection in list(self.connections):
            self.run(connection.close(code, reason))

    def cut(self) -> None:
        """Everyone, without a good-bye."""

        async def abort() -> None:
            for connection in list(self.connections):
                connection.transport.abort()

        self.run(abort())

    def end(self) -> None:
        if self._server is not None:
            self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE)
        self._loop.close()

    async def _serve(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        self.seen.append(connection)
        try:
            async for frame in connection:
                self.frames.append(frame)
                for other in list(self.connections):
                    if other is not connection:
                        await other.send(frame)
        except ConnectionClosed:
            pass
        finally:
            self.connections.remove(connection)
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
