"""Exponential smoothing that looks the same at every frame rate, and an offset that hides corrections.

Both are measured in half-lives: the time after which half of the distance is left. Splitting a time step into parts
changes nothing but the last bits, because the shares that remain multiply.
"""

from __future__ import annotations

import math
from typing import Final

from net.sync.angles import shortest_arc, wrap_angle

HALF_LIFE: Final = 0.08
"""seconds: a correction has faded to a tenth after about a quarter of a second"""
SNAP: Final = 3.0
"""units: farther than this is a teleport, and gliding there would show a lie"""


def decay(half_life: float, dt: float) -> float:
    """The share of a distance that remains after `dt` seconds, 0..1. A `half_life` of 0 s (or less) leaves nothing."""
    if half_life <= 0.0:
        return 0.0
    return 2.0 ** (-dt / half_life) if dt > 0.0 else 1.0


def smooth(current: float, target: float, half_life: float, dt: float, snap: float | None = None) -> float:
    """`current` after it has approached `target` for `dt` seconds; `target` at once if it is farther than `snap`."""
    gap = current - target
    if snap is not None and abs(gap) > snap:
        return target
    return target + gap * decay(half_life, dt)


def smooth_angle(current: float, target: float, half_life: float, dt: float, snap: float | None = None) -> float:
    """The same for radians, by the short way round. The result is in (-pi, pi], so it may be fed back for ever."""
    gap = shortest_arc(target, current)
    if snap is not None and abs(gap) > snap:
        return wrap_angle(target)
    return wrap_angle(target + gap * decay(half_life, dt))


class VisualOffset:
    """What to add to a simulated position so that a correction fades in instead of jumping.

    `half_life` (seconds) and `snap` (units) may be changed at any time.
    """

    __slots__ = ("half_life", "snap", "x", "y", "z")

    def __init__(self, half_life: float = HALF_LIFE, snap: float = SNAP) -> None:
        self.half_life = half_life
        self.snap = snap
        self.x = 0.0
        self.y = 0.0
        self.z = 0.0

    def add(self, dx: float, dy: float = 0.0, dz: float = 0.0) -> None:
        """Take in one correction: what was simulated before minus what is simulated now, in units.

        The sum with offsets that are still fading is what keeps the display where it was. It is dropped when it is
        longer than `snap`, or no number.
        """
        self.x += dx
        self.y += dy
        self.z += dz
        if not math.hypot(self.x, self.y, self.z) <= self.snap:
            self.clear()

    def update(self, dt: float) -> None:
        """Let `dt` seconds pass."""
        share = decay(self.half_life, dt)
        self.x *= share
        self.y *= share
        self.z *= share

    def clear(self) -> None:
        """Show the simulated position itself from now on."""
        self.x = self.y = self.z = 0.0
