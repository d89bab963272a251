"""The camera: an orthographic look from the south and above, and where it stands.

A point (x, y, z) in units appears at x * px, z * DEPTH * px - y * RISE * px, less the camera's corner.
"""

from __future__ import annotations

import math
from typing import Final

from game.sim.arena import Arena
from game.sim.constants import UNIT
from game.view.theme import Theme

DEPTH: Final = 0.75
"""sine of the camera's elevation: how much of a length along z is seen"""
RISE: Final = math.sqrt(1 - DEPTH * DEPTH)
"""cosine of it: how much of a height is seen"""
UNIT_PIXELS: Final = 40
"""pixels in a unit at 1280 x 720"""
MARGIN: Final = 2.0
"""units that may be seen beyond the border"""
CLOSEST: Final = 1.5
"""how much nearer than designed the camera goes so that an odd window is filled"""

_HALF_LIFE: Final = 0.09
"""seconds in which the camera halves its distance to the avatar that it follows"""
_CUT: Final = 9.0
"""units from which on it jumps instead"""


class Camera:
    """Follows a point smoothly, and keeps its view inside the ground that is painted."""

    def __init__(self, arena: Arena, theme: Theme) -> None:
        width, depth = 2 * arena.half_width / UNIT, 2 * arena.half_depth / UNIT
        designed = UNIT_PIXELS * theme.scale
        filling = max(theme.width / (width + 2 * MARGIN), theme.height / (depth * DEPTH + 2 * MARGIN))
        self.px = min(max(designed, filling), designed * CLOSEST)
        """pixels in a unit"""
        self.ground = (
            _even(max(theme.width, (width + 2 * MARGIN) * self.px)),
            _even(max(theme.height, (depth * DEPTH + 2 * MARGIN) * self.px)),
        )
        """size in pixels of the painted ground, whose middle is the arena's"""
        self._view = (theme.width, theme.height)
        self._x = self._z = 0.0
        self._settled = False
        self.left = self.top = 0
        """the view's corner in pixels from the arena's middle"""
        self._place()

    def follow(self, x: float, z: float, dt: float) -> None:
        """Move towards (x, z), units, for `dt` seconds: the same way at any frame rate."""
        far = math.hypot(x - self._x, z - self._z) > _CUT
        part = 1.0 if far or not self._settled else 1 - 0.5 ** (max(0.0, dt) / _HALF_LIFE)
        self._settled = True
        self._x += (x - self._x) * part
        self._z += (z - self._z) * part
        self._place()

    def rest(self, dt: float) -> None:
        """Go back to the middle: there is nobody to follow."""
        part = 1 - 0.5 ** (max(0.0, dt) / (4 * _HALF_LIFE))
        self._x -= self._x * part
        self._z -= self._z * part
        self._settled = False
        self._place()

    def project(self, x: float, y: float, z: float) -> tuple[float, float]:
        """Where a point in units is on screen, in pixels."""
        return x * self.px - self.left, (z * DEPTH - y * RISE) * self.px - self.top

    def ground_at(self, position: tuple[float, float], y: float = 0.0) -> tuple[float, float]:
        """(x, z) in units of what is seen at a screen position, at height `y`."""
        x, down = position
        return (x + self.left) / self.px, ((down + self.top) / self.px + y * RISE) / DEPTH

    def _place(self) -> None:
        width, height = self._view
        free_x, free_y = (self.ground[0] - width) / 2, (self.ground[1] - height) / 2
        centre_x = max(-free_x, min(free_x, self._x * self.px))
        centre_y = max(-free_y, min(free_y, self._z * DEPTH * self.px))
        self.left = round(centre_x - width / 2)
        self.top = round(centre_y - height / 2)


def _even(length: float) -> int:
    """`length` rounded up so that its half is a whole number of pixels."""
    return 2 * math.ceil(length / 2)
