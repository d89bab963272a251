"""The wire's grid: everything that is simulated is an integer, and these put numbers on it."""

from __future__ import annotations

import math
from typing import Final

from game.sim.constants import DIRECTION, TURN

LONGEST: Final = math.floor((DIRECTION + math.sqrt(0.5)) ** 2)
"""Squares up to this count as length 1: rounding a unit vector's two parts adds at most 0.71 step."""

_QUARTER: Final = TURN // 4
_SINE: Final = tuple(round(32767 * math.sin(2 * math.pi * i / 1024)) for i in range(1024))
"""One turn of sine in 1024 steps, 1/32767; rounded, so that every platform has the same table."""


def direction(dx: int, dz: int) -> tuple[int, int]:
    """A direction in 1/127, no longer than 1: each part clamped first, then both shortened.

    Doing it twice changes nothing, so a client that has done it predicts exactly what the server does.
    """
    square = dx * dx + dz * dz
    if square <= LONGEST:  # then neither part is above DIRECTION
        return dx, dz
    dx = max(-DIRECTION, min(DIRECTION, dx))
    dz = max(-DIRECTION, min(DIRECTION, dz))
    square = dx * dx + dz * dz
    if square <= LONGEST:
        return dx, dz
    length = math.isqrt(square * 4 * DIRECTION * DIRECTION)  # 2 * DIRECTION * |d|, rounded down
    scale = 2 * DIRECTION * DIRECTION
    return _round_div(dx * scale, length), _round_div(dz * scale, length)


def _round_div(a: int, b: int) -> int:
    """a / b rounded to nearest, halves away from zero, the same for both signs; b > 0."""
    return (2 * a + b) // (2 * b) if a >= 0 else -((-2 * a + b) // (2 * b))


def sine(angle: int) -> int:
    """Sine of `angle` (1/65536 turn) in 1/32767."""
    return _SINE[(angle & (TURN - 1)) >> 6]


def cosine(angle: int) -> int:
    """Cosine of `angle` (1/65536 turn) in 1/32767."""
    return _SINE[((angle + _QUARTER) & (TURN - 1)) >> 6]
