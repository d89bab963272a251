"""One match: a world, the players in it, and the messages that go in and out. No sockets, no clock."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Final

import msgspec
import numpy as np

from game.binary import SCHEMA, unpack_command, unpack_commands
from game.sim.arena import CROSSFIRE, Arena
from game.sim.batch import Moves
from game.sim.bot import bot_command
from game.sim.constants import TICK_MS, TICK_RATE
from game.sim.crowd import Crowd
from game.sim.state import Avatar
from game.wire import (
    DEFAULT_COLORS,
    EMOTE,
    MAX_RTT_MS,
    PROTOCOL,
    Bye,
    ClockSample,
    Error,
    Event,
    Hello,
    Input,
    Message,
    Person,
    Profile,
    Resync,
    Welcome,
    clean_color,
    clean_name,
    emote_of,
    unpack_input,
)
from net.envelope import encode as encode_envelope
from net.sync.input_table import InputTable
from server.engine import text_frame
from server.replica import Replica
from server.script import STATE_TICKS, Script, Send, encode
from server.seats import NOBODY, Inputs, Recipient, Seat, commands_at_once

CAPACITY: Final = 256
"""players in one room"""
EMOTE_EVERY: Final = 0.4
"""seconds that one player has to wait between two emotes: less than clients wait, for networks bunch what they carry"""

MANY: Final = 24
"""commands in one tick from which on it pays to look at all of them at once"""


class Closing(msgspec.Struct, frozen=True):
    """The answer to a message that ends its sender's stay: the connection is to be closed with this."""

    code: int
    reason: str


class Room:
    """A match. `now` is in seconds. What it has to say goes out through each player's `send`, at once or in `tick`."""

    def __init__(
        self,
        *,
        arena: Arena = CROSSFIRE,
        world_rate: float = 20.0,
        bots: int = 0,
        inputs: Callable[[], Inputs] = commands_at_once,
    ) -> None:
        """`world_rate`: how often a second everybody is told about everybody, above 0 and at most the tick rate.

        Raises ValueError for others.

        `bots` live here from the start, up to half of CAPACITY, and are players like all others to everybody else.
        `inputs` makes the buffer for a player's commands.
        """
        if not 0 < world_rate <= TICK_RATE:
            raise ValueError(f"a world rate lies above 0 and up to {TICK_RATE} a second, not at {world_rate}")
        self.arena = arena
        self.crowd = Crowd(arena, CAPACITY)
        self._inputs = InputTable(CAPACITY, inputs)
        self._moves: Moves | None = None
        self._world_rate = world_rate
        self._replica = Replica(CAPACITY, world_rate)
        self._numbers = itertools.count(1)
        self._ticked_at = math.nan
        self._players: dict[str, Seat] = {}
        self._bots: list[int] = []
        """their slots"""
        self._script = Script()
        for turn in range(1, min(bots, CAPACITY // 2) + 1):
            peer_id = f"bot-{turn}"
            slot = self._replica.enter(peer_id, 0)
            self._seat(peer_id, Seat(slot, 0, NOBODY, Person(f"Bot {turn}", self._free_color(slot))))
            self._bots.append(slot)

    def __len__(self) -> int:
        """People: bots don't count, for nobody plays where only bots are."""
        return len(self._players) - len(self._bots)

    def __contains__(self, peer_id: str) -> bool:
        return peer_id in self._players

    def person(self, peer_id: str) -> Person:
        """Who that player is. Raises KeyError for somebody who is not here."""
        return self._players[peer_id].person

    def slot(self, peer_id: str) -> int:
        """Where that player's avatar is. Raises KeyError for somebody who is not here."""
        return self._players[peer_id].slot

    def avatars(self) -> dict[str, Avatar]:
        """Every player's avatar."""
        avatars = self.crowd.world().avatars
        return {peer_id: avatars[player.slot] for peer_id, player in self._players.items()}

    # -- coming and going

    def join(self, peer_id: str, recipient: Recipient, hello: Hello | None = None) -> Closing | None:
        """Seat a new player, in the lowest free slot. Whoever has no `hello` to say speaks the plain protocol.

        Refused, with a Closing to act on, are another protocol, another replication schema, and whoever finds the room
        full. `peer_id` must not be here already.
        """
        if hello is not None and (closing := _refusal(hello, recipient.send)) is not None:
            return closing
        if len(self._players) >= CAPACITY:
            recipient.send(encode(Error("room_full", f"this room holds {CAPACITY} players")))
            return Closing(4013, "room full")
        number = next(self._numbers)
        slot = self._replica.enter(peer_id, number)
        player = Seat(slot, number, recipient, Person(clean_name(peer_id), self._free_color(slot)))
        self._seat(peer_id, player)
        self._script.listen(peer_id, recipient.send)
        if hello is not None:
            self._greet(peer_id, player, hello)
        return None

    def _seat(self, peer_id: str, player: Seat) -> None:
        self.crowd.spawn(player.slot)
        self._inputs.enter(player.slot)
        self._players[peer_id] = player
        self._introduce(peer_id, player, player.person)

    def leave(self, peer_id: str) -> None:
        """Take a player out of the world. Nothing for somebody who is not here."""
        player = self._players.pop(peer_id, None)
        if player is not None:
            self.crowd.remove(player.slot)
            self._inputs.leave(player.slot)
            self._replica.leave(player.slot)
            self._script.leave(peer_id)

    # -- messages in

    def receive(self, peer_id: str, message: Message, now: float) -> Closing | None:
        """Take in one message of a player who is here. A Closing says that he has to go (`leave` is the caller's).

        Kinds that only an authority sends mean nothing here.
        """
        player = self._players[peer_id]
        match message:
            case Input():
                command = unpack_input(message)
                self._inputs.buffer(player.slot).push(message.seq, command, command.ticks)
            case ClockSample():
                if not math.isnan(self._ticked_at):
                    player.send(encode(ClockSample(message.id, message.client_ms, self._time_ms(now))))
            case Profile():
                self._update(peer_id, player, message)
            case Hello():
                if (closing := _refusal(message, player.send)) is not None:
                    return closing
                self._greet(peer_id, player, message)
            case Resync():
                self._replica.resync(player.number)
            case Event():
                self._pass_on(peer_id, player, message, now)
            case Bye():
                return Closing(1000, "bye")
        return None

    def hear(self, slot: int, message: bytes) -> None:
        """Take in one binary message of the player in that slot: a command. Raises WireError for another one."""
        seq, command = unpack_command(message)
        self._inputs.buffer(slot).push(seq, command, command.ticks)

    def hear_all(self, slots: list[int], messages: list[bytes], now: float) -> Iterable[int]:
        """Take in what plain binary messages there are among many, to be done by the `tick` that follows at `now`.

        `slots` says whose they are. Returns the indices of the others, which `hear` wants in their order.
        """
        if len(messages) < MANY or not self.crowd.batched:
            return range(len(messages))
        seqs, columns, plain = unpack_commands(messages)
        owners = np.array(slots, np.intp)
        taken = self._inputs.take_at_once(now, owners, seqs, plain)
        if taken.all():
            self._moves = Moves(owners, columns)
            return ()
        self._moves = Moves(owners[taken], columns[:, taken])
        rest: list[int] = np.flatnonzero(~taken).tolist()
        return rest

    def _pass_on(self, peer_id: str, player: Seat, message: Event, now: float) -> None:
        """Emotes go to everybody else, under their sender's id; other events are no business of this game."""
        index = emote_of(message)
        if index is None or now - player.emote_at < EMOTE_EVERY:
            return
        player.emote_at = now
        frame = text_frame(encode_envelope(peer_id, Event(EMOTE, index)))
        for other in self._players.values():
            if other is not player:
                other.send(frame)

    def _greet(self, peer_id: str, player: Seat, hello: Hello) -> None:
        self._update(peer_id, player, Profile(name=clean_name(hello.name), color=hello.color))
        if hello.schema is not None and not player.binary:
            player.binary = True
            self._script.unlisten(peer_id)
            self._replica.listen(player.number, player.recipient.send_bytes)
        welcome = Welcome(
            PROTOCOL, peer_id, self.arena.name, self.crowd.tick, TICK_RATE, self._world_rate, binary=player.binary
        )
        player.send(encode(welcome))

    def _update(self, peer_id: str, player: Seat, profile: Profile) -> None:
        old = player.person
        name = old.name if profile.name is None else clean_name(profile.name, old.name)
        color = old.color if profile.color is None else clean_color(profile.color, old.color)
        if color != old.color and self._is_taken(color):
            color = old.color
        away = old.away if profile.away is None else profile.away
        rtt_ms = old.rtt_ms
        if profile.rtt_ms is not None and math.isfinite(profile.rtt_ms):
            rtt_ms = round(max(0.0, min(MAX_RTT_MS, profile.rtt_ms)), 1)
        self._introduce(peer_id, player, Person(name, color, rtt_ms, away))

    def _introduce(self, peer_id: str, player: Seat, person: Person) -> None:
        player.person = person
        self._replica.introduce(player.slot, person)
        self._script.introduce(peer_id, person)

    def _is_taken(self, color: str) -> bool:
        return any(player.person.color == color for player in self._players.values())

    def _free_color(self, slot: int) -> str:
        """This slot's colour in the palette, or the next that nobody wears; beyond twelve players they repeat."""
        count = len(DEFAULT_COLORS)
        turn = [DEFAULT_COLORS[(slot + i) % count] for i in range(count)]
        return next((color for color in turn if not self._is_taken(color)), turn[0])

    # -- time

    def _time_ms(self, now: float) -> float:
        """The room's time, which stands at n / TICK_RATE seconds when tick n is done."""
        return (self.crowd.tick + (now - self._ticked_at) * TICK_RATE) * TICK_MS

    def tick(self, now: float) -> None:
        """Run one step of the world, and send what is due after it."""
        self._play_bots()
        moves, self._moves = self._moves, None
        self.crowd.advance(self._inputs.take(now), moves)
        self._ticked_at = now
        tick = self.crowd.tick
        self._script.send_roster(now)
        if math.floor(tick * self._world_rate / TICK_RATE) != math.floor((tick - 1) * self._world_rate / TICK_RATE):
            self._send_frames()
            self._script.send_world(tick, self.avatars)
        if tick % STATE_TICKS == 0:
            self._script.send_states(tick, self._own)

    def _play_bots(self) -> None:
        """Queue what the bots want in the tick that comes."""
        if self._bots:
            avatars, tick = self.crowd.world().avatars, self.crowd.tick + 1
            for slot in self._bots:
                self._inputs.buffer(slot).push(tick, bot_command(avatars[slot], tick, slot + 1, self.arena), 1)

    def _send_frames(self) -> None:
        """To everybody who takes binary frames: the world, his own avatar, and his newest command."""
        if not self._replica.heard:
            return
        own = dict(zip(self.crowd.slots, self.crowd.packed(), strict=True))
        seqs = self._inputs.last_seqs()
        self._replica.tell(
            [(player.number, own[player.slot], seqs[player.slot]) for player in self._players.values() if player.binary]
        )
        self._replica.sample(self.crowd)

    def _own(self, peer_id: str) -> tuple[Avatar, int]:
        player = self._players[peer_id]
        return self.crowd.avatar(player.slot), self._inputs.buffer(player.slot).last_seq


def _refusal(hello: Hello, send: Send) -> Closing | None:
    if hello.protocol != PROTOCOL:
        code, text = "version", f"this server speaks protocol {PROTOCOL}, you speak {hello.protocol}"
    elif hello.schema is not None and (difference := SCHEMA.refusal(hello.schema)) is not None:
        code, text = "schema", difference
    else:
        return None
    send(encode(Error(code, text)))
    return Closing(4000, text)
