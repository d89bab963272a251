"""The binary messages of this game: commands on the way up, and what is replicated on the way down.

Text does all the rest (game.wire). docs/protocol.md draws the layouts.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from game.sim.command import Command
from game.sim.constants import MAX_COMMAND_TICKS, UNIT
from game.sim.crowd import OWN
from game.sim.grid import LONGEST, direction
from game.sim.state import Avatar
from game.sim.walls import Integers
from game.wire import MAX_PEER_ID, MAX_RTT_MS, NAME_LIMIT
from net.envelope import WireError
from net.replication import Angle, Bool, Component, Fixed, Int, Schema, Text

AVATAR: Final = "avatar"
"""the component that moves, and the archetype of everybody who has one"""
PLAYER: Final = "player"
"""who somebody is"""
LINK: Final = "link"
"""how somebody is connected; only people whose round trip is known have it"""

REACH: Final = 64
"""units from the middle of an arena to which avatars can be shown"""
GHOST_STEP: Final = 4
"""grid steps of the simulation in one step of a ghost's position: 1/256 unit"""
GHOST_TURN: Final = 64
"""grid steps of the simulation in one step of a ghost's facing: 1/1024 turn"""

PAUSE: Final = 0.2
"""seconds from one frame to the next at most, when nothing happens"""

_ALONG: Final = Fixed(-REACH, REACH, GHOST_STEP / UNIT)
_HEIGHT: Final = Fixed(0, 16, GHOST_STEP / UNIT)

SCHEMA: Final = Schema(
    [
        Component(AVATAR, x=_ALONG, y=_HEIGHT, z=_ALONG, yaw=Angle(10), dashing=Bool()),
        Component(PLAYER, peer=Text(MAX_PEER_ID), name=Text(NAME_LIMIT), color=Int(0, 0xFFFFFF), away=Bool()),
        Component(LINK, rtt=Int(0, int(MAX_RTT_MS))),
    ]
)

COMMAND: Final = 0x49
"""the first byte of a command"""
_COMMAND: Final = struct.Struct("<BIbbHB")
_JUMP, _DASH, _FIRE, _TICKS = 1, 2, 4, 3
_MEANINGS: Final = [
    (bits & _JUMP != 0, bits & _DASH != 0, bits & _FIRE != 0, (bits >> _TICKS) + 1)
    for bits in range(MAX_COMMAND_TICKS << _TICKS)
]
"""jump, dash, fire and ticks by the last byte; larger ones mean nothing"""
_ROWS: Final = np.dtype([("kind", "u1"), ("seq", "<u4"), ("dx", "i1"), ("dz", "i1"), ("yaw", "<u2"), ("bits", "u1")])
"""many commands"""
_NONE: Final = bytes(_COMMAND.size)
SEQ_LIMIT: Final = 2**32 - 1


def pack_command(seq: int, command: Command) -> bytes:
    """A numbered command. struct.error for a seq above SEQ_LIMIT: two years of play."""
    bits = command.jump * _JUMP | command.dash * _DASH | command.fire * _FIRE | (command.ticks - 1) << _TICKS
    return _COMMAND.pack(COMMAND, seq, command.dx, command.dz, command.yaw, bits)


def unpack_command(data: bytes) -> tuple[int, Command]:
    """A command and its seq, from a peer: the simulation can take what this gives. Raises WireError."""
    try:
        kind, seq, dx, dz, yaw, bits = _COMMAND.unpack(data)
    except struct.error:
        raise WireError(f"a command has {_COMMAND.size} bytes") from None
    if kind != COMMAND or seq == 0 or bits >= len(_MEANINGS):
        raise WireError("this is no command")
    if dx * dx + dz * dz > LONGEST:
        dx, dz = direction(dx, dz)
    return seq, Command(dx, dz, yaw, *_MEANINGS[bits])


def unpack_commands(messages: Sequence[bytes]) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Many commands at once: seqs [n], columns [5, n] as `Moves` has them, and which are plain [n].

    Plain is a command of one tick with nothing to correct. The others' seqs and columns mean nothing.
    """
    size = _COMMAND.size
    rows = np.frombuffer(b"".join([data if len(data) == size else _NONE for data in messages]), _ROWS)
    bits = rows["bits"]
    columns = np.empty((5, len(rows)), np.int64)
    columns[0], columns[1], columns[2] = rows["dx"], rows["dz"], rows["yaw"]
    columns[3] = bits & _JUMP
    columns[4] = bits & _DASH
    columns[4] >>= 1
    seqs = rows["seq"].astype(np.int64)
    squares = columns[0:2] * columns[0:2]
    plain = squares[0] + squares[1] <= LONGEST
    plain &= bits < 1 << _TICKS
    plain &= rows["kind"] == COMMAND
    plain &= seqs > 0
    return seqs, columns, plain


def unpack_own(data: bytes) -> Avatar:
    """The receiver's own avatar, as `Crowd.packed` lays it out. Raises WireError."""
    try:
        x, z, y, vx, vy, vz, yaw, dash_ticks, cooldown, jump_held = OWN.unpack(data)
    except struct.error:
        raise WireError(f"an own avatar has {OWN.size} bytes") from None
    return Avatar(x, y, z, vx, vy, vz, yaw, dash_ticks, cooldown, jump_held != 0)
