"""A checksum of a world, equal on every platform for equal worlds."""

from __future__ import annotations

import struct
import zlib

import msgspec

from game.sim.state import World

_AVATAR = struct.Struct("<11q")


def checksum(world: World) -> int:
    """CRC-32 over the tick and every avatar in slot order."""
    crc = zlib.crc32(struct.pack("<q", world.tick))
    for slot in sorted(world.avatars):
        crc = zlib.crc32(_AVATAR.pack(slot, *msgspec.structs.astuple(world.avatars[slot])), crc)
    return crc
