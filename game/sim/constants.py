"""The numbers of the arena's rules, in the simulation's own units.

Lengths are 1/1024 unit, velocities 1/1024 unit per tick, directions 1/127, angles 1/65536 turn, timers ticks.
"""

from __future__ import annotations

from typing import Final

TICK_RATE: Final = 60
"""ticks a second"""
TICK_MS: Final = 1000.0 / TICK_RATE

UNIT: Final = 1024
"""grid steps in one unit (one metre)"""
DIRECTION: Final = 127
"""grid steps of a direction of length 1"""
TURN: Final = 65536
"""grid steps of a whole turn"""

MAX_COMMAND_TICKS: Final = 6
"""a command lasts 1 to this many ticks"""

AVATAR_RADIUS: Final = 410
"""0.40 units"""
AVATAR_HEIGHT: Final = 1843
"""1.80 units"""

RUN_SPEED: Final = 119
"""about 7.0 units/s"""
GROUND_ACCELERATION: Final = 14
"""about 49 units/s², full speed after 9 ticks"""
GROUND_FRICTION: Final = 12
"""about 42 units/s², standing after 10 ticks"""
AIR_ACCELERATION: Final = 4
AIR_FRICTION: Final = 1

GRAVITY: Final = 7
"""about 24.6 units/s²"""
JUMP_SPEED: Final = 145
"""about 8.5 units/s: 1.5 units high, 42 ticks long"""

DASH_SPEED: Final = 341
"""about 20 units/s"""
DASH_TICKS: Final = 9
"""0.15 s, 3 units far"""
DASH_COOLDOWN: Final = 72
"""1.2 s from the start of one dash to the next"""
