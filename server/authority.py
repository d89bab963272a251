"""Sockets to rooms: who a connection is, which room it plays in, and what is refused."""

from __future__ import annotations

import logging
import unicodedata
from collections import defaultdict
from hmac import compare_digest
from typing import Final

import msgspec

from game.sim.arena import CROSSFIRE
from game.sim.constants import TICK_RATE
from game.sim.walls import walls
from game.wire import MAX_PEER_ID, SERVER, Error, Hello, Message, pack_avatar, parse_raw
from net.clock import Clock
from net.envelope import WireError, decode_raw
from server.addresses import Addresses
from server.engine import Connection
from server.guard import Guard, Verdict
from server.log import Log
from server.room import CAPACITY, Closing, Room
from server.room_path import room_of
from server.script import encode

_LOGGER: Final = logging.getLogger(__name__)

MAX_SIZE: Final = 16_384
"""bytes of one message: the longest honest one, a profile, is far below"""
MAX_ROOMS: Final = 200
MAX_PER_ADDRESS: Final = CAPACITY
"""connections from one host: a crew of bots may fill a room"""
POSITIONS_EVERY: Final = TICK_RATE
"""ticks between two `world` events of one room in the log"""


class _Link:
    """One connection, and once it has said a valid envelope, the player that it speaks for."""

    __slots__ = ("connection", "guard", "inbox", "peer_id", "room_name", "slot", "spoke_in", "token")

    def __init__(self, connection: Connection, room_name: str) -> None:
        self.connection = connection
        self.room_name = room_name
        self.guard = Guard()
        self.token = ""
        """the secret in its greeting, if it greeted with one"""
        self.peer_id: str | None = None
        """None before the first valid envelope, and again once the player has left"""
        self.inbox: _Inbox | None = None
        """where its binary messages go, of a player who is here"""
        self.slot = 0
        """whose avatar's is his, in his room"""
        self.spoke_in = -1
        """the tick before which its last binary message came"""


class _Inbox:
    """What a room's players have said in binary since its last tick."""

    def __init__(self) -> None:
        self.links: list[_Link] = []
        self.messages: list[bytes] = []

    def add(self, link: _Link, message: bytes) -> None:
        """One more."""
        self.links.append(link)
        self.messages.append(message)

    def take(self) -> tuple[list[_Link], list[bytes]]:
        """All of them, and who has said each; then it is empty."""
        links, messages = self.links, self.messages
        self.links, self.messages = [], []
        return links, messages

    def forget(self, leaver: _Link) -> None:
        """Nothing of his is heard any more."""
        for link, message in zip(*self.take(), strict=True):
            if link is not leaver:
                self.add(link, message)


class Authority:
    """The `Handler` that owns the truth: every room by its path, ticked together.

    The first valid envelope of a connection binds its sender's id. Nothing is sent to a connection before that.
    """

    def __init__(
        self,
        clock: Clock,
        log: Log,
        *,
        world_rate: float = 20.0,
        bots: int = 0,
        max_rooms: int = MAX_ROOMS,
        max_per_address: int = MAX_PER_ADDRESS,
        log_positions: bool = False,
    ) -> None:
        walls(CROSSFIRE)  # looking all of its walls up takes a moment, which no match that has begun can spare
        self._clock = clock
        self._log = log
        self._world_rate = world_rate
        self._bots = bots
        self._max_rooms = max_rooms
        self._log_positions = log_positions
        self._ticks = 0
        self._links: dict[Connection, _Link] = {}
        self._addresses = Addresses(max_per_address)
        self.rooms: dict[str, Room] = {}
        """by name, none of them empty"""
        self._inboxes: defaultdict[str, _Inbox] = defaultdict(_Inbox)
        """of the same rooms"""

    # -- Handler

    def opened(self, connection: Connection) -> None:
        """A connection is there; it is nobody yet."""
        link = self._links[connection] = _Link(connection, room_of(connection.path))
        if not self._addresses.enter(connection.address):
            self._refuse(link, Closing(1013, "too many connections from your address"))

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        """One frame: through the guard, out of its envelope, to the room."""
        link = self._links[connection]
        inbox = link.inbox
        # One a tick is what everybody may say, and nearly all that anybody says.
        if binary and inbox is not None and link.spoke_in != self._ticks:
            link.spoke_in = self._ticks
            inbox.add(link, message)
            return
        now = self._clock.now()
        verdict = link.guard.message(now, silent=link.peer_id is None)
        if verdict is not Verdict.PASS:
            self._complain(link, verdict, "rate", "you send too many messages", "flood")
            return
        if binary:
            if inbox is None:
                self._malformed(link, now)
            else:
                inbox.add(link, message)
            return
        try:
            envelope = decode_raw(message)
        except WireError:
            self._malformed(link, now)
            return
        if link.peer_id is not None and envelope.sender != link.peer_id:
            self._malformed(link, now, f"you are {link.peer_id}, and stay so", code="id_changed")
            return
        try:
            data = parse_raw(envelope.data)
        except WireError as error:
            if link.peer_id is not None or self._bind(link, envelope.sender, None):
                self._malformed(link, now, str(error))
            return
        if link.peer_id is None:
            self._bind(link, envelope.sender, data)
            if isinstance(data, Hello):
                return  # joining has answered it
        if data is not None and link.peer_id is not None:
            closing = self.rooms[link.room_name].receive(link.peer_id, data, now)
            if closing is not None:
                self._dismiss(link, closing)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        """A connection is gone, and its player with it."""
        link = self._links.pop(connection)
        self._addresses.leave(connection.address)
        self._leave(link, Closing(code, reason))

    # -- time

    def tick(self, now: float) -> None:
        """Run one step of every room. A room that fails is closed with all its connections; the others go on."""
        for name, room in list(self.rooms.items()):
            try:
                self._hear(room, self._inboxes[name], now)
                room.tick(now)
            except Exception:
                _LOGGER.exception("room %s failed", name)
                self._abandon(name)
        self._ticks += 1
        if self._log_positions and self._ticks % POSITIONS_EVERY == 0:
            self._tell_positions()

    def _hear(self, room: Room, inbox: _Inbox, now: float) -> None:
        """What a room's players have said in binary, in their order."""
        if not inbox.links:
            return
        links, messages = inbox.take()
        for index in room.hear_all([link.slot for link in links], messages, now):
            link = links[index]
            if link.inbox is None:
                continue  # an earlier one of his has made him leave
            try:
                room.hear(link.slot, messages[index])
            except WireError as error:
                self._malformed(link, now, str(error))
            except Exception:
                _LOGGER.exception("a command of %s failed", link.peer_id)
                self._dismiss(link, Closing(1011, "internal error"))

    def _tell_positions(self) -> None:
        for name, room in self.rooms.items():
            players = {
                peer_id: {"name": room.person(peer_id).name, **msgspec.to_builtins(pack_avatar(avatar))}
                for peer_id, avatar in room.avatars().items()
            }
            self._log("world", room=name, tick=room.crowd.tick, players=players)

    def _abandon(self, name: str) -> None:
        self._close_room(name)
        for link in list(self._links.values()):
            if link.room_name == name and link.peer_id is not None:
                link.peer_id = link.inbox = None
                link.connection.close(1011, "internal error")

    # -- who is who

    def _bind(self, link: _Link, peer_id: str, message: Message | None) -> bool:
        """Make the connection that peer, in its room; whether that went well."""
        send = link.connection.send
        if isinstance(message, Hello) and message.token:
            link.token = message.token
            self._give_up_seat(link.room_name, peer_id, message.token)
        room = self.rooms.get(link.room_name)
        closing: Closing | None
        if (fault := _id_fault(peer_id)) is not None:
            send(encode(Error("bad_id", fault)))
            closing = Closing(4002, fault)
        elif room is None and len(self.rooms) >= self._max_rooms:
            send(encode(Error("too_many_rooms", "this server has no room for another room")))
            closing = Closing(1013, "too many rooms")
        elif room is not None and peer_id in room:
            send(encode(Error("id_taken", "another connection in this room has your id")))
            closing = Closing(4001, "id taken")
        else:
            room = Room(world_rate=self._world_rate, bots=self._bots) if room is None else room
            closing = room.join(peer_id, link.connection, message if isinstance(message, Hello) else None)
        if closing is not None:
            self._refuse(link, closing, peer=peer_id[:MAX_PEER_ID])
            return False
        assert room is not None
        self.rooms[link.room_name] = room
        link.peer_id, link.slot = peer_id, room.slot(peer_id)
        link.inbox = self._inboxes[link.room_name]
        self._log("join", room=link.room_name, peer=peer_id, name=room.person(peer_id).name, players=len(room))
        return True

    def _give_up_seat(self, room_name: str, peer_id: str, token: str) -> None:
        """End the connection that sits there with this id and token: its client has come back on another one."""
        for link in list(self._links.values()):
            if (link.room_name, link.peer_id) == (room_name, peer_id) and compare_digest(
                link.token.encode(), token.encode()
            ):
                self._dismiss(link, Closing(4003, "you came back on another connection"))

    def _leave(self, link: _Link, why: Closing) -> None:
        peer_id, link.peer_id = link.peer_id, None
        if link.inbox is not None:
            link.inbox.forget(link)
            link.inbox = None
        if peer_id is None:
            return
        room = self.rooms[link.room_name]
        name = room.person(peer_id).name
        room.leave(peer_id)
        if not len(room):
            self._close_room(link.room_name)
        self._log(
            "leave",
            room=link.room_name,
            peer=peer_id,
            name=name,
            players=len(room),
            code=why.code,
            reason=why.reason,
        )

    def _close_room(self, name: str) -> None:
        del self.rooms[name]
        self._inboxes.pop(name, None)

    # -- refusals

    def _dismiss(self, link: _Link, closing: Closing) -> None:
        """End a player's stay and his connection."""
        self._leave(link, closing)
        link.connection.close(closing.code, closing.reason)

    def _refuse(self, link: _Link, closing: Closing, peer: str = "") -> None:
        """Close a connection for what it did or wanted."""
        self._log(
            "refused",
            room=link.room_name,
            peer=peer or link.peer_id or "",
            address=link.connection.address,
            code=closing.code,
            reason=closing.reason,
        )
        self._dismiss(link, closing)

    def _malformed(self, link: _Link, now: float, message: str = "", code: str = "bad_message") -> None:
        """Count a bad frame, and tell its sender with `message` unless there is none, or nobody to tell yet."""
        verdict = link.guard.malformed(now, silent=not message or link.peer_id is None)
        self._complain(link, verdict, code, message, "too many malformed messages")

    def _complain(self, link: _Link, verdict: Verdict, code: str, message: str, reason: str) -> None:
        if verdict is Verdict.CLOSE:
            self._refuse(link, Closing(1008, reason))
        elif verdict is Verdict.TELL:
            link.connection.send(encode(Error(code, message)))


def _id_fault(peer_id: str) -> str | None:
    """What is wrong with a peer's id, or None."""
    if not peer_id:
        return "an id must not be empty"
    if len(peer_id) > MAX_PEER_ID:
        return f"an id has at most {MAX_PEER_ID} characters"
    if peer_id == SERVER:
        return f"the id {SERVER} is the server's own"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in peer_id):
        return "an id must not hold control characters"
    return None
