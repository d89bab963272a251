"""One match: a world, the players in it, and the messages that go in and out. No sockets, no clock."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import msgspec

from game.sim.arena import CROSSFIRE, Arena
from game.sim.bot import bot_command
from game.sim.command import Command
from game.sim.constants import TICK_RATE
from game.sim.state import World
from game.sim.step import remove, spawn, step
from game.wire import (
    DEFAULT_COLORS,
    EMOTE,
    PROTOCOL,
    SERVER,
    AvatarFields,
    Bye,
    ClockSample,
    Error,
    Event,
    Hello,
    Input,
    Message,
    Person,
    Profile,
    Roster,
    State,
    Welcome,
    WorldState,
    clean_color,
    clean_name,
    emote_of,
    pack_avatar,
    unpack_input,
)
from net.envelope import encode as encode_envelope
from net.sync.inputs import InputBuffer
from server.engine import Frame, text_frame

Send = Callable[[Frame], None]
"""Takes one frame for one player."""

CAPACITY: Final = 64
"""players in one room"""
STATE_TICKS: Final = 3
"""ticks between two `state` messages: 20 Hz"""
ROSTER_EVERY: Final = 0.1
"""seconds between two rosters while people come, go and change"""
RTT_EVERY: Final = 1.0
"""seconds between two rosters while only round trips change"""
EMOTE_EVERY: Final = 0.4
"""seconds that one player has to wait between two emotes: less than clients wait, for networks bunch what they carry"""
MAX_RTT_MS: Final = 60_000.0

_PREFIX: Final = b'{"from":' + msgspec.json.encode(SERVER) + b',"data":'
_ENCODER: Final = msgspec.json.Encoder()


class Closing(msgspec.Struct, frozen=True):
    """The answer to a message that ends its sender's stay: the connection is to be closed with this."""

    code: int
    reason: str


class _Player:
    """One seat."""

    def __init__(self, slot: int, send: Send, person: Person) -> None:
        self.slot = slot
        self.send = send
        self.person = person
        self.inputs: InputBuffer[Command] = InputBuffer(rate=TICK_RATE)
        self.emote_at = -math.inf


class _Bot(_Player):
    """A seat whose player lives here: his commands take the way of everybody's."""

    def play(self, world: World, arena: Arena) -> None:
        """Queue what the bot wants in the next tick."""
        tick = world.tick + 1
        self.inputs.push(tick, bot_command(world.avatars[self.slot], tick, self.slot + 1, arena), 1)


def _to_nobody(_: Frame) -> None:
    """A bot reads nothing."""


def encode(message: msgspec.Struct) -> Frame:
    """One text frame from the server. Every number in it is finite, for all come from integers or were checked."""
    return text_frame(_PREFIX + _ENCODER.encode(message) + b"}")


class Room:
    """A match. `now` is in seconds. What it has to say goes out through each player's `send`, at once or in `tick`."""

    def __init__(self, *, arena: Arena = CROSSFIRE, world_rate: float = 20.0, bots: int = 0) -> None:
        """`world_rate`: `world` messages a second, above 0 and at most the tick rate. Raises ValueError for others.

        `bots` live here from the start, up to half of CAPACITY, and are players like all others to everybody else.
        """
        if not 0 < world_rate <= TICK_RATE:
            raise ValueError(f"a world rate lies above 0 and up to {TICK_RATE} a second, not at {world_rate}")
        self.arena = arena
        self.world = World()
        self._world_rate = world_rate
        self._players: dict[str, _Player] = {}
        self._roster_at = self._rtt_at = -math.inf
        self._people_changed = self._rtt_changed = False
        for number in range(1, min(bots, CAPACITY // 2) + 1):
            slot = self._free_slot()
            self._seat(f"bot-{number}", _Bot(slot, _to_nobody, Person(f"Bot {number}", self._free_color(slot))))

    def __len__(self) -> int:
        """People: bots don't count, for nobody plays where only bots are."""
        return sum(not isinstance(player, _Bot) for player in self._players.values())

    def __contains__(self, peer_id: str) -> bool:
        return peer_id in self._players

    def person(self, peer_id: str) -> Person:
        """Who that player is. Raises KeyError for somebody who is not here."""
        return self._players[peer_id].person

    def avatars(self) -> dict[str, AvatarFields]:
        """Every player's avatar, as it travels."""
        return {peer_id: pack_avatar(self.world.avatars[player.slot]) for peer_id, player in self._players.items()}

    # -- coming and going

    def join(self, peer_id: str, send: Send, hello: Hello | None = None) -> Closing | None:
        """Seat a new player, in the lowest free slot. Whoever has no `hello` to say speaks the plain protocol.

        Refused, with a Closing to act on, are another protocol and the 65th player. `peer_id` must not be here already.
        """
        if hello is not None and (closing := _version_refusal(hello, send)) is not None:
            return closing
        if len(self._players) >= CAPACITY:
            send(encode(Error("room_full", f"this room holds {CAPACITY} players")))
            return Closing(4013, "room full")
        slot = self._free_slot()
        player = _Player(slot, send, Person(clean_name(peer_id), self._free_color(slot)))
        self._seat(peer_id, player)
        if hello is not None:
            self._greet(peer_id, player, hello)
        return None

    def _seat(self, peer_id: str, player: _Player) -> None:
        self.world = spawn(self.world, player.slot, self.arena)
        self._players[peer_id] = player
        self._people_changed = True

    def _free_slot(self) -> int:
        taken = {player.slot for player in self._players.values()}
        return next(slot for slot in range(CAPACITY) if slot not in taken)

    def leave(self, peer_id: str) -> None:
        """Take a player out of the world. Nothing for somebody who is not here."""
        player = self._players.pop(peer_id, None)
        if player is not None:
            self.world = remove(self.world, player.slot)
            self._people_changed = True

    # -- messages in

    def receive(self, peer_id: str, message: Message, now: float) -> Closing | None:
        """Take in one message of a player who is here. A Closing says that he has to go (`leave` is the caller's).

        Kinds that only an authority sends mean nothing here.
        """
        player = self._players[peer_id]
        match message:
            case Input():
                command = unpack_input(message)
                player.inputs.push(message.seq, command, command.ticks)
            case ClockSample():
                player.send(encode(ClockSample(message.id, message.client_ms, now * 1000)))
            case Profile():
                self._update(player, message)
            case Hello():
                if (closing := _version_refusal(message, player.send)) is not None:
                    return closing
                self._greet(peer_id, player, message)
            case Event():
                self._pass_on(peer_id, player, message, now)
            case Bye():
                return Closing(1000, "bye")
        return None

    def _pass_on(self, peer_id: str, player: _Player, message: Event, now: float) -> None:
        """Emotes go to everybody else, under their sender's id; other events are no business of this game."""
        index = emote_of(message)
        if index is None or now - player.emote_at < EMOTE_EVERY:
            return
        player.emote_at = now
        frame = text_frame(encode_envelope(peer_id, Event(EMOTE, index)))
        for other in self._players.values():
            if other is not player:
                other.send(frame)

    def _greet(self, peer_id: str, player: _Player, hello: Hello) -> None:
        self._update(player, Profile(name=clean_name(hello.name), color=hello.color))
        player.send(encode(Welcome(PROTOCOL, peer_id, self.arena.name, self.world.tick, TICK_RATE, self._world_rate)))

    def _update(self, player: _Player, profile: Profile) -> None:
        old = player.person
        name = old.name if profile.name is None else clean_name(profile.name, old.name)
        color = old.color if profile.color is None else clean_color(profile.color, old.color)
        if color != old.color and self._is_taken(color):
            color = old.color
        away = old.away if profile.away is None else profile.away
        rtt_ms = old.rtt_ms
        if profile.rtt_ms is not None and math.isfinite(profile.rtt_ms):
            rtt_ms = round(max(0.0, min(MAX_RTT_MS, profile.rtt_ms)), 1)
        player.person = Person(name, color, rtt_ms, away)
        self._people_changed |= (name, color, away) != (old.name, old.color, old.away)
        self._rtt_changed |= rtt_ms != old.rtt_ms

    def _is_taken(self, color: str) -> bool:
        return any(player.person.color == color for player in self._players.values())

    def _free_color(self, slot: int) -> str:
        """This slot's colour in the palette, or the next that nobody wears; beyond twelve players they repeat."""
        count = len(DEFAULT_COLORS)
        turn = [DEFAULT_COLORS[(slot + i) % count] for i in range(count)]
        return next((color for color in turn if not self._is_taken(color)), turn[0])

    # -- time

    def tick(self, now: float) -> None:
        """Run one step of the world, and send what is due after it."""
        for player in self._players.values():
            if isinstance(player, _Bot):
                player.play(self.world, self.arena)
        commands = {player.slot: player.inputs.take(now) for player in self._players.values()}
        self.world, _ = step(self.world, commands, self.arena)
        tick = self.world.tick
        self._send_roster(now)
        if not len(self):
            return
        time_ms = round(now * 1000, 3)
        packed = None
        if math.floor(tick * self._world_rate / TICK_RATE) != math.floor((tick - 1) * self._world_rate / TICK_RATE):
            packed = self.avatars()
            self._send_all(WorldState(packed, tick, time_ms))
        if tick % STATE_TICKS == 0:
            for peer_id, player in self._players.items():
                fields = packed[peer_id] if packed else pack_avatar(self.world.avatars[player.slot])
                player.send(encode(State(fields, player.inputs.last_seq, tick, time_ms)))

    def _send_roster(self, now: float) -> None:
        people = self._people_changed and now - self._roster_at >= ROSTER_EVERY
        rtt = self._rtt_changed and now - self._rtt_at >= RTT_EVERY
        if people or rtt:
            self._people_changed = self._rtt_changed = False
            self._roster_at = self._rtt_at = now
            self._send_all(Roster({peer_id: player.person for peer_id, player in self._players.items()}))

    def _send_all(self, message: msgspec.Struct) -> None:
        frame = encode(message)
        for player in self._players.values():
            player.send(frame)


def _version_refusal(hello: Hello, send: Send) -> Closing | None:
    if hello.protocol == PROTOCOL:
        return None
    text = f"this server speaks protocol {PROTOCOL}, you speak {hello.protocol}"
    send(encode(Error("version", text)))
    return Closing(4000, text)
