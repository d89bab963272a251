"""The arena: a floor with a border, and blocks that avatars cannot walk through."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import msgspec

from game.sim.constants import AVATAR_RADIUS, TURN, UNIT
from game.sim.floor import Floor, floor


class Block(msgspec.Struct, frozen=True):
    """An axis-parallel wall block standing on the ground. All in 1/1024 unit."""

    left: int
    top: int
    right: int
    bottom: int
    height: int


class Arena(msgspec.Struct, frozen=True, dict=True):
    """Where a match takes place. The floor spans -half_width..half_width by -half_depth..half_depth, 1/1024 unit."""

    name: str
    half_width: int
    half_depth: int
    blocks: tuple[Block, ...]
    spawns: tuple[tuple[int, int, int], ...]
    """(x, z, yaw) where players enter, taken in turn by slot"""

    @cached_property
    def floor(self) -> Floor:
        """The same arena as the centre of an avatar meets it, made once and no part of the value."""
        r = AVATAR_RADIUS
        walls = tuple((b.left - r, b.top - r, b.right + r, b.bottom + r) for b in self.blocks)
        return floor(self.half_width - r, self.half_depth - r, walls)


def _block(x: float, z: float, width: float, depth: float, height: float) -> Block:
    left, top = round((x - width / 2) * UNIT), round((z - depth / 2) * UNIT)
    return Block(left, top, left + round(width * UNIT), top + round(depth * UNIT), round(height * UNIT))


def _spawn(x: float, z: float) -> tuple[int, int, int]:
    """A spawn that looks along x towards the middle of the arena."""
    return round(x * UNIT), round(z * UNIT), 0 if x < 0 else TURN // 2


CROSSFIRE: Final = Arena(
    name="crossfire",
    half_width=20 * UNIT,
    half_depth=13 * UNIT,
    blocks=(
        _block(0, 0, 3.2, 2.4, 1.5),
        _block(-8.5, -5.5, 4.5, 1.4, 1.2),
        _block(8.5, -5.5, 4.5, 1.4, 1.2),
        _block(-8.5, 5.5, 4.5, 1.4, 1.2),
        _block(8.5, 5.5, 4.5, 1.4, 1.2),
        _block(-14.5, 0, 1.4, 5.0, 1.2),
        _block(14.5, 0, 1.4, 5.0, 1.2),
        _block(0, -9.0, 5.0, 1.4, 0.9),
        _block(0, 9.0, 5.0, 1.4, 0.9),
        _block(-16.5, -9.5, 1.6, 1.6, 1.5),
        _block(16.5, -9.5, 1.6, 1.6, 1.5),
        _block(-16.5, 9.5, 1.6, 1.6, 1.5),
        _block(16.5, 9.5, 1.6, 1.6, 1.5),
    ),
    spawns=(
        _spawn(-4, 3.2),
        _spawn(4, 3.2),
        _spawn(-4, -3.2),
        _spawn(4, -3.2),
        _spawn(-11.5, 0),
        _spawn(11.5, 0),
        _spawn(-17.5, 5),
        _spawn(17.5, -5),
        _spawn(-17.5, -5),
        _spawn(17.5, 5),
        _spawn(-6, 10),
        _spawn(6, -10),
        _spawn(-6, -10),
        _spawn(6, 10),
        _spawn(-12, 8.5),
        _spawn(12, -8.5),
    ),
)
