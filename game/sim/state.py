"""The world as integers: avatars, and the tick that they stand at."""

from __future__ import annotations

import msgspec


class Avatar(msgspec.Struct, frozen=True):
    """One player's body: all that `move_avatar` reads and writes."""

    x: int = 0
    """1/1024 unit, right"""
    y: int = 0
    """1/1024 unit, height of the feet above the ground"""
    z: int = 0
    """1/1024 unit, down the screen"""
    vx: int = 0
    """1/1024 unit per tick"""
    vy: int = 0
    vz: int = 0
    yaw: int = 0
    """facing, 1/65536 turn"""
    dash_ticks: int = 0
    """ticks that the present dash still lasts"""
    cooldown: int = 0
    """ticks until the next dash may start"""
    jump_held: bool = False
    """the last command asked for a jump: the next jump needs a release first"""


class World(msgspec.Struct, frozen=True):
    """Everything that the rules know at one tick. `avatars` is keyed by slot and kept in slot order."""

    tick: int = 0
    avatars: dict[int, Avatar] = {}
