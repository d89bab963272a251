"""The engine on `WebSocketConnection`: the listening sockets, the shared timers, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Sequence
from typing import Final

from server.engine import Handler, Limits
from server.websockets_connection import WebSocketConnection

_ABSENT: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""what binding to an address fails with where the machine has no IPv6"""


class WebSocketListener:
    """The listening sockets and everyone connected to them. Made by `serve`."""

    def __init__(self, limits: Limits) -> None:
        self.port = 0
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._servers: list[asyncio.Server] = []
        self._connections: set[WebSocketConnection] = set()
        self._closed = False
        self._all_gone: asyncio.Future[None] = self._loop.create_future()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    async def listen(self, handler: Handler, hosts: Sequence[str], port: int) -> None:
        """Bind every address that `hosts` stand for, all to the same port. Raises OSError."""

        def connection() -> WebSocketConnection:
            return WebSocketConnection(handler, self._limits, self._connections, self._gone)

        self.port = port
        absent: OSError | None = None
        try:
            for address in await self._addresses(hosts):
                try:
                    server = await self._loop.create_server(connection, address, self.port)
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
            for server in self._servers:
                server.close()
            raise
        self._allow_control_frames()
        if self._limits.ping_interval > 0:
            self._timers["ping"] = self._loop.call_later(self._limits.ping_interval, self._ping)

    async def close(self, code: int = 1001, reason: str = "server shutting down") -> None:
        """Accept no more, close every connection, and return when all are gone (at most `close_timeout`)."""
        self._closed = True
        for server in self._servers:
            server.close()
        for timer in self._timers.values():
            timer.cancel()
        for connection in list(self._connections):
            connection.shut(code, reason)
        self._gone()
        await asyncio.shield(self._all_gone)

    def _gone(self) -> None:
        if self._closed and not self._connections and not self._all_gone.done():
            self._all_gone.set_result(None)

    def _ping(self) -> None:
        self._timers["ping"] = self._loop.call_later(self._limits.ping_interval, self._ping)
        for connection in list(self._connections):
            connection.ping()

    def _allow_control_frames(self) -> None:
        self._timers["second"] = self._loop.call_later(1.0, self._allow_control_frames)
        for connection in self._connections:
            connection.allow_control_frames()

    async def _addresses(self, hosts: Sequence[str]) -> list[str]:
        found: list[str] = []
        for host in hosts:
            infos = await self._loop.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            found.extend(str(info[4][0]) for info in infos)
        return list(dict.fromkeys(found))


async def serve(
    handler: Handler, hosts: str | Sequence[str], port: int, limits: Limits | None = None
) -> WebSocketListener:
    """Listen on `hosts` (names or addresses; several share one port) and `port` (0 picks a free one).

    Raises OSError for what cannot be bound: socket.gaierror for a host that does not exist.
    """
    listener = WebSocketListener(limits or Limits())
    await listener.listen(handler, [hosts] if isinstance(hosts, str) else hosts, port)
    return listener
