"""The engine on `WebSocketConnection`: the listening sockets, the shared timers, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Sequence
from typing import Final

from server.engine import Handler, Http, Limits
from server.flusher import Flusher
from server.gatherer import CROWD
from server.websockets_connection import WebSocketConnection

_ABSENT: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""what binding to an address fails with where the machine has no IPv6"""


class WebSocketListener:
    """The listening sockets and everyone connected to them. Made by `serve`."""

    def __init__(self, handler: Handler, limits: Limits, http: Http | None, kind: type[WebSocketConnection]) -> None:
        self.port = 0
        self._handler = handler
        self._limits = limits
        self._http = http
        self._kind = kind
        self._loop = asyncio.get_running_loop()
        self._flusher = Flusher(self._loop)
        self._servers: list[asyncio.Server] = []
        self._connections: set[WebSocketConnection] = set()
        self._closed = False
        self._all_gone: asyncio.Future[None] = self._loop.create_future()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._every_second()
        if limits.ping_interval > 0:
            self._timers["ping"] = self._loop.call_later(limits.ping_interval, self._ping)

    async def listen(self, hosts: Sequence[str], port: int) -> None:
        """Bind every address that `hosts` stand for, all to the same port. Raises OSError."""
        self.port = port
        absent: OSError | None = None
        try:
            for address in await self._addresses(hosts):
                try:
                    server = await self._loop.create_server(self._connection, address, self.port)
                except OSError as error:
                    if error.errno not in _ABSENT:
                        raise
                    absent = error
                    continue
                self._servers.append(server)
                self.port = server.sockets[0].getsockname()[1]
            if absent is not None and not self._servers:
                raise absent
        except OSError:
            self.port = 0
            await self.close()
            raise

    def adopt(self, transport: asyncio.Transport, received: bytes) -> None:
        """Take over a TCP connection of somebody else's server, with what it has read of the request so far."""
        if self._closed:
            transport.abort()
            return
        connection = self._connection()
        transport.set_protocol(connection)
        connection.connection_made(transport)
        transport.resume_reading()
        connection.data_received(received)

    async def close(self, code: int = 1001, reason: str = "server shutting down") -> None:
        """Accept no more, close every connection, and return when all are gone (at most `close_timeout`)."""
        self._closed = True
        for server in self._servers:
            server.close()
        for timer in self._timers.values():
            timer.cancel()
        for connection in list(self._connections):
            connection.shut(code, reason)
        self._look_around()
        await asyncio.shield(self._all_gone)

    def _connection(self) -> WebSocketConnection:
        return self._kind(
            self._handler,
            self._limits,
            self._http,
            flusher=self._flusher,
            came=self._came,
            gone=self._gone,
        )

    def _came(self, connection: WebSocketConnection) -> None:
        self._connections.add(connection)
        self._look_after_crowd()
        if self._closed:  # it was waiting to be accepted
            connection.shut(1001, "server shutting down")

    def _gone(self, connection: WebSocketConnection) -> None:
        self._connections.discard(connection)
        self._look_after_crowd()
        self._look_around()

    def _look_around(self) -> None:
        if self._closed and not self._connections and not self._all_gone.done():
            self._all_gone.set_result(None)

    def _ping(self) -> None:
        self._timers["ping"] = self._loop.call_later(self._limits.ping_interval, self._ping)
        for connection in list(self._connections):
            connection.ping()

    def _every_second(self) -> None:
        self._timers["second"] = self._loop.call_later(1.0, self._every_second)
        for connection in self._connections:
            connection.allow_control_frames()
            connection.gather()

    def _look_after_crowd(self) -> None:
        gatherer, crowded = self._limits.gatherer, len(self._connections) >= CROWD
        if gatherer is not None and gatherer.wants != crowded:
            gatherer.wants = crowded
            for connection in self._connections:
                connection.gather()

    async def _addresses(self, hosts: Sequence[str]) -> list[str]:
        found: list[str] = []
        for host in hosts:
            infos = await self._loop.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            found.extend(str(info[4][0]) for info in infos)
        return list(dict.fromkeys(found))


async def serve(
    handler: Handler,
    hosts: str | Sequence[str],
    port: int,
    limits: Limits | None = None,
    *,
    http: Http | None = None,
    kind: type[WebSocketConnection] = WebSocketConnection,
) -> WebSocketListener:
    """Listen on `hosts` (names or addresses; several share one port) and `port` (0 picks a free one).

    No host at all binds nothing: connections come by `adopt` then. Plain GETs go to `http`, `kind` is what connections
    are made of. Raises OSError for what cannot be bound: socket.gaierror for a host that does not exist.
    """
    listener = WebSocketListener(handler, limits or Limits(), http, kind)
    await listener.listen([hosts] if isinstance(hosts, str) else hosts, port)
    return listener
