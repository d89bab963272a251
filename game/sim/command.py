"""Command: what one player wants, for one tick or a few."""

from __future__ import annotations

import msgspec


class Command(msgspec.Struct, frozen=True):
    """One player's wish, on the grid. `game.sim.grid.direction` has shortened (dx, dz) already."""

    dx: int = 0
    """wish to the right, 1/127, -127 to 127"""
    dz: int = 0
    """wish down the screen, 1/127, -127 to 127"""
    yaw: int = 0
    """facing, 1/65536 turn, 0 to 65535; 0 looks along +x, a quarter turn along +z"""
    jump: bool = False
    dash: bool = False
    fire: bool = False
    """carried for tag beams; the rules of this version don't read it"""
    ticks: int = 1
    """how long it lasts, 1 to MAX_COMMAND_TICKS"""
