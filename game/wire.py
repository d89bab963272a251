"""The messages of this game: what stands in an envelope's `data`, and the way on and off the grid.

Positions travel in units, velocities in units/s, angles in radians, times in ms; every number is written so that the
reader gets back the very integer that was simulated. docs/protocol.md has the tables.
"""

from __future__ import annotations

import math
import unicodedata
from typing import Annotated, Any, Final

import msgspec

from game.sim.command import Command
from game.sim.constants import DIRECTION, MAX_COMMAND_TICKS, TICK_MS, TICK_RATE, TURN, UNIT
from game.sim.grid import direction
from game.sim.state import Avatar
from net.envelope import WireError

PROTOCOL: Final = 1
SERVER: Final = "server"
"""the sender of everything that the authority says"""
NAME_LIMIT: Final = 24
"""characters"""
MAX_PEER_ID: Final = 64
"""characters"""
MAX_RTT_MS: Final = 60_000.0
PENDING_LIMIT: Final = 128
"""commands that a client may have on their way, and ticks of them that the authority keeps through a stall"""
EMOTE: Final = "emote"
"""the event by which a player says one of EMOTES, by its index"""
EMOTES: Final = ("Hello!", "Nice one!", "Oops!", "Again?")
DEFAULT_COLORS: Final = (
    "#22d3ee",
    "#f43f7f",
    "#fbbf24",
    "#22e06a",
    "#a855f7",
    "#ff6a3d",
    "#3b82f6",
    "#b6f51d",
    "#f472ff",
    "#14e0b8",
    "#ff9f1c",
    "#6d6bff",
)

_RADIANS: Final = 2 * math.pi / TURN


class Hello(msgspec.Struct, tag="hello", tag_field="t"):
    """client → authority, first: who I am. Peers that only speak the plain protocol leave it out."""

    protocol: int
    name: str = ""
    color: str = ""
    token: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """a secret of this client's: with it, it takes its seat back from a connection that nobody has seen dying"""
    schema: Any = None
    """the greeting of its replication schema: it wants binary frames instead of `state`, `world` and `roster`"""


class Profile(msgspec.Struct, tag="profile", tag_field="t", omit_defaults=True, rename="camel"):
    """client → authority: what has changed about me."""

    name: str | None = None
    color: str | None = None
    away: bool | None = None
    rtt_ms: float | None = None


class InputFields(msgspec.Struct):
    """A command as it travels."""

    dx: float
    dz: float
    yaw: float = 0.0
    jump: bool = False
    dash: bool = False
    fire: bool = False


class Input(msgspec.Struct, tag="input", tag_field="t", rename="camel"):
    """client → authority: one command."""

    seq: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
    input: InputFields
    dt_ms: float


class ClockSample(msgspec.Struct, tag="clock", tag_field="t", rename="camel", omit_defaults=True):
    """client → authority, and back with `serverMs`: one sample of the server's clock."""

    id: int
    client_ms: float
    server_ms: float | None = None


class Resync(msgspec.Struct, tag="resync", tag_field="t"):
    """client → authority: a binary frame could not be used; tell me everything anew."""


class Bye(msgspec.Struct, tag="bye", tag_field="t"):
    """leaving now."""


class Event(msgspec.Struct, tag="event", tag_field="t"):
    """peer → room: something that happened once. The authority passes emotes on, under their sender's id."""

    event: str
    payload: Any = None


class Welcome(msgspec.Struct, tag="welcome", tag_field="t", rename="camel", omit_defaults=True):
    """authority → client, the answer to `hello`."""

    protocol: int
    you: str
    arena: str
    tick: int
    tick_rate: int
    world_rate: float
    binary: bool = False
    """what is to be drawn comes in binary frames"""


class AvatarFields(msgspec.Struct, rename="camel"):
    """An avatar as it travels: units, units/s, radians, ms."""

    x: float
    y: float
    z: float
    vx: float
    vy: float
    vz: float
    yaw: float
    dash_ms: float = 0.0
    cooldown_ms: float = 0.0
    jump_held: bool = False


class State(msgspec.Struct, tag="state", tag_field="t", rename="camel"):
    """authority → client: the receiver's own state after command `lastSeq`."""

    state: AvatarFields
    last_seq: int
    tick: int = 0
    time_ms: float = 0.0
    """the room's time at that tick, the one that `clock` samples: tick / 60 s"""


class WorldState(msgspec.Struct, tag="world", tag_field="t", rename="camel"):
    """authority → room: everyone's state at one tick."""

    players: dict[str, AvatarFields]
    tick: int = 0
    time_ms: float = 0.0
    """the room's time at that tick, the one that `clock` samples: tick / 60 s"""


class Person(msgspec.Struct, frozen=True, rename="camel"):
    """Who somebody is, as the room knows it."""

    name: str
    color: str
    rtt_ms: float | None = None
    away: bool = False


class Roster(msgspec.Struct, tag="roster", tag_field="t"):
    """authority → room: everyone who is here, on every change, and once a second while round trips move."""

    players: dict[str, Person]


class Error(msgspec.Struct, tag="error", tag_field="t"):
    """authority → client: what was refused and why. A fatal one is followed by a close."""

    code: str
    message: str


Message = Hello | Profile | Input | ClockSample | Resync | Bye | Event | Welcome | State | WorldState | Roster | Error

_TYPES: Final[dict[str, type[msgspec.Struct]]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (Hello, Profile, Input, ClockSample, Resync, Bye, Event, Welcome, State, WorldState, Roster, Error)
}


class _Kind(msgspec.Struct):
    t: str


_DECODERS: Final = {tag: msgspec.json.Decoder(kind) for tag, kind in _TYPES.items()}
_KIND: Final = msgspec.json.Decoder(_Kind)


def parse(data: Any) -> Message | None:
    """The message in an envelope's `data` (decoded JSON), or None for what is not of ours. Raises WireError."""
    kind = _TYPES.get(data.get("t", "")) if isinstance(data, dict) and isinstance(data.get("t"), str) else None
    if kind is None:
        return None
    try:
        return msgspec.convert(data, kind)  # type: ignore[return-value]
    except (msgspec.ValidationError, UnicodeError) as error:
        raise WireError(f"{data['t']}: {error}") from error


def parse_raw(data: msgspec.Raw) -> Message | None:
    """The same for `data` as it stands in the frame, without building what nobody reads. Raises WireError."""
    try:
        tag = _KIND.decode(data).t
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise WireError(f"data: {error}") from error
    decoder = _DECODERS.get(tag)
    if decoder is None:
        return None
    try:
        return decoder.decode(data)  # type: ignore[return-value]
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise WireError(f"{tag}: {error}") from error


def pack_avatar(avatar: Avatar) -> AvatarFields:
    """An avatar for the wire. Exact: 1/1024 unit and 1/65536 turn are sums of binary fractions or rounded back."""
    return AvatarFields(
        avatar.x / UNIT,
        avatar.y / UNIT,
        avatar.z / UNIT,
        _to_speed(avatar.vx),
        _to_speed(avatar.vy),
        _to_speed(avatar.vz),
        round(avatar.yaw * _RADIANS, 5),
        round(avatar.dash_ticks * TICK_MS, 1),
        round(avatar.cooldown * TICK_MS, 1),
        avatar.jump_held,
    )


def unpack_avatar(fields: AvatarFields) -> Avatar:
    """The avatar that was packed, to the bit. Raises WireError for numbers that no avatar can have."""
    for number in (fields.x, fields.y, fields.z, fields.vx, fields.vy, fields.vz, fields.dash_ms, fields.cooldown_ms):
        if not abs(number) <= _LARGEST:
            raise WireError(f"avatar: {number} is out of range")
    return Avatar(
        round(fields.x * UNIT),
        round(fields.y * UNIT),
        round(fields.z * UNIT),
        _from_speed(fields.vx),
        _from_speed(fields.vy),
        _from_speed(fields.vz),
        grid_yaw(fields.yaw),
        round(fields.dash_ms / TICK_MS),
        round(fields.cooldown_ms / TICK_MS),
        fields.jump_held,
    )


def pack_input(seq: int, command: Command) -> Input:
    """A numbered command for the wire."""
    return Input(
        seq,
        InputFields(
            round(command.dx / DIRECTION, 4),
            round(command.dz / DIRECTION, 4),
            round(command.yaw * _RADIANS, 5),
            command.jump,
            command.dash,
            command.fire,
        ),
        round(command.ticks * TICK_MS, 3),
    )


def unpack_input(message: Input) -> Command:
    """The command, put on the grid and clamped: whatever a peer wrote, the simulation can take this."""
    fields = message.input
    dx, dz = direction(_grid(fields.dx, DIRECTION), _grid(fields.dz, DIRECTION))
    ticks = max(1, min(MAX_COMMAND_TICKS, round(max(0.0, min(1000.0, message.dt_ms)) / TICK_MS)))
    return Command(dx, dz, grid_yaw(fields.yaw), fields.jump, fields.dash, fields.fire, ticks)


def grid_yaw(radians: float) -> int:
    """An angle on the grid, 0 to 65535. Angles beyond a million turns count as 0: no peer means them."""
    return round(radians / _RADIANS) % TURN if abs(radians) <= _LARGEST else 0


def _grid(value: float, steps: int) -> int:
    return round(max(-1.0, min(1.0, value)) * steps)


_LARGEST: Final = 1e6


def _to_speed(per_tick: int) -> float:
    return round(per_tick * TICK_RATE / UNIT, 3)


def _from_speed(speed: float) -> int:
    return round(speed * UNIT / TICK_RATE)


def emote_of(message: Event) -> int | None:
    """Which of EMOTES an event says, or None if it is another one, or none that we know."""
    index = message.payload
    known = message.event == EMOTE and isinstance(index, int) and not isinstance(index, bool)
    return index if known and 0 <= index < len(EMOTES) else None


def clean_name(name: str, fallback: str = "Player") -> str:
    """A name that any screen can show: no control, format, private or surrogate characters, at most NAME_LIMIT."""
    kept = "".join(c if unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029" else " " for c in name[:400])
    return " ".join(kept.split())[:NAME_LIMIT].strip() or fallback


def clean_color(color: str, fallback: str) -> str:
    """`color` if it is #rrggbb, bright enough to be seen on the dark floor; `fallback` otherwise."""
    if len(color) != 7 or color[0] != "#" or any(c not in "0123456789abcdefABCDEF" for c in color[1:]):
        return fallback
    if max(int(color[i : i + 2], 16) for i in (1, 3, 5)) < 96:
        return fallback
    return color.lower()
