"""Pure forwarding by room: every frame goes to all others of its room, unchanged, unread, and not back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

from server.addresses import Addresses
from server.engine import Connection, Http, Limits, binary_frame, text_frame
from server.engines import choose
from server.log import Log
from server.room_path import room_of, url_of
from server.websockets_engine import WebSocketListener

MAX_SIZE: Final = 65_536
"""bytes of one frame"""
MAX_BUFFERED: Final = 1 << 20
"""bytes that may wait for a peer that does not read"""
MAX_ROOMS: Final = 1000
MAX_PER_ADDRESS: Final = 200
"""connections from one host"""
HEARTBEAT: Final = 30.0
"""seconds between pings"""

Count = Callable[[str, int], None]
"""Told of a room, and how many are in it now."""


def _nobody(room: str, count: int) -> None:
    pass


def _silent(event: str, /, **fields: Any) -> None:
    pass


class Relay:
    """The `Handler` that forwards. The path of a connection's request, below `base_path`, is its room."""

    def __init__(
        self,
        *,
        base_path: str = "",
        max_rooms: int = MAX_ROOMS,
        max_per_address: int = MAX_PER_ADDRESS,
        on_join: Count = _nobody,
        on_leave: Count = _nobody,
        log: Log = _silent,
    ) -> None:
        """`on_join` and `on_leave` are called after the change, once for each connection that was let in."""
        self._base = room_of("/" + base_path.strip("/")).rstrip("/")
        self._max_rooms = max_rooms
        self._addresses = Addresses(max_per_address)
        self._on_join = on_join
        self._on_leave = on_leave
        self._log = log
        self._room_of: dict[Connection, str] = {}
        self._members: dict[str, tuple[Connection, ...]] = {}
        """by room, in the order in which they came; none of them empty"""

    def rooms(self) -> dict[str, int]:
        """How many are in each room now. A copy; rooms without anybody are not in it."""
        return {room: len(members) for room, members in self._members.items()}

    # -- Handler

    def opened(self, connection: Connection) -> None:
        """A connection is there: into its room with it, unless there is a reason not to."""
        room = self._room(connection.path)
        if not self._addresses.enter(connection.address):
            self._refuse(connection, 1013, "too many connections from your address")
        elif room is None:
            self._refuse(connection, 1008, "wrong path")
        elif room not in self._members and len(self._members) >= self._max_rooms:
            self._refuse(connection, 1013, "too many rooms")
        else:
            members = self._members[room] = (*self._members.get(room, ()), connection)
            self._room_of[connection] = room
            self._log("connect", room=room, address=connection.address, count=len(members))
            self._on_join(room, len(members))

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        """One frame, for everybody else in the room."""
        frame = (binary_frame if binary else text_frame)(message)
        for member in self._members[self._room_of[connection]]:
            if member is not connection:
                member.send(frame)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        """A connection is gone. Nobody in the room is told: no such frame exists."""
        self._addresses.leave(connection.address)
        room = self._room_of.pop(connection, None)
        if room is None:
            return
        members = tuple(member for member in self._members[room] if member is not connection)
        if members:
            self._members[room] = members
        else:
            del self._members[room]
        self._log("disconnect", room=room, count=len(members), address=connection.address, code=code, reason=reason)
        self._on_leave(room, len(members))

    def _room(self, path: str) -> str | None:
        """The room that a path means, None outside of the base path."""
        room = room_of(path)
        if not self._base:
            return room
        if room != self._base and not room.startswith(self._base + "/"):
            return None
        return room[len(self._base) :] or "/"

    def _refuse(self, connection: Connection, code: int, reason: str) -> None:
        self._log("refused", room=connection.path, address=connection.address, code=code, reason=reason)
        connection.close(code, reason)


class RelayServer:
    """A relay for any asyncio program: made inside a running loop, it listens until it is closed."""

    def __init__(
        self,
        host: str | Sequence[str] = "127.0.0.1",
        port: int | None = 8787,
        *,
        base_path: str = "",
        heartbeat: float = HEARTBEAT,
        max_size: int = MAX_SIZE,
        max_buffered: int = MAX_BUFFERED,
        max_rooms: int = MAX_ROOMS,
        max_per_address: int = MAX_PER_ADDRESS,
        engine: str = "auto",
        on_join: Count = _nobody,
        on_leave: Count = _nobody,
        http: Http | None = None,
        log: Log = _silent,
    ) -> None:
        """Listen on `host` (names or addresses) and `port` (0 picks a free one; None listens nowhere, see `adopt`).

        `heartbeat`: seconds between pings, 0 for none. `max_size`: bytes of one frame. `max_buffered`: bytes that may
        wait for a peer that does not read. `http` answers plain GETs on the same port. `engine`: as `--engine`; raises
        MissingEngineError.
        """
        chosen = choose(engine)
        self.engine = chosen.name
        """the name of the engine that it runs on"""
        self._relay = Relay(
            base_path=base_path,
            max_rooms=max_rooms,
            max_per_address=max_per_address,
            on_join=on_join,
            on_leave=on_leave,
            log=log,
        )
        self._log = log
        limits = Limits(max_size=max_size, max_buffered=max_buffered, ping_interval=heartbeat)
        self._listener = WebSocketListener(self._relay, limits, http, chosen.connection)
        hosts = [] if port is None else [host] if isinstance(host, str) else host
        self._listening = asyncio.ensure_future(self._listen(hosts, port or 0))
        self._listening.add_done_callback(lambda listening: listening.exception())  # told by `ready`, or not at all
        self._closing: asyncio.Future[None] | None = None

    @property
    def ready(self) -> asyncio.Future[None]:
        """Done as soon as it listens. Raises OSError for what cannot be listened on."""
        return asyncio.shield(self._listening)

    @property
    def port(self) -> int:
        """The TCP port while it listens, 0 before and after."""
        return self._listener.port if self._listening.done() and self._closing is None else 0

    def rooms(self) -> dict[str, int]:
        """How many are in each room now. A copy."""
        return self._relay.rooms()

    def adopt(self, transport: asyncio.Transport, received: bytes) -> None:
        """Take over a TCP connection from a server of your own, with what that has read of its request so far.

        So a relay lives beside an HTTP server on that server's port, and closing the relay leaves that server alone.
        """
        self._listener.adopt(transport, received)

    def close(self) -> asyncio.Future[None]:
        """Close every connection with 1001 and accept no more, awaited or not. Done when everybody is gone.

        Once is enough: every further call returns the same result.
        """
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        return asyncio.shield(self._closing)

    async def _listen(self, hosts: Sequence[str], port: int) -> None:
        try:
            await self._listener.listen(hosts, port)
        except OSError as error:
            self._log("failed", reason=str(error))
            raise
        if hosts:
            port = self._listener.port
            self._log("listening", url=url_of(hosts[0], port), port=port, engine=self.engine)

    async def _close(self) -> None:
        await asyncio.wait([self._listening])
        await self._listener.close()
        self._log("closed")
