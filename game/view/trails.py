"""Light trails: a half-size picture that fades a little all the time, and onto which everything that moves stamps.

Its cost does not depend on how long the trails are. Multiplying alone would leave ghosts for ever, since 8 bits round
small values back up; taking one off as well lets them die.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pygame

from game.view import shapes
from game.view.cache import Cache
from game.view.theme import Theme

_STEP: Final = 1 / 60
"""seconds that one fade stands for"""
_KEEP: Final = 240 / 255
_MOST_STEPS: Final = 12
_BRIGHTNESS: Final = (0.42, 0.95)
"""of running and of dashing"""
_MOST_STAMPS: Final = 12


class Trails:
    """The fading picture behind the avatars. Positions in pixels on the ground, from the arena's middle."""

    def __init__(self, theme: Theme, px: float) -> None:
        # one spare pixel each way: the picture lies on whole half-size pixels of the ground
        self._size = (theme.width // 2 + 2, theme.height // 2 + 2)
        self._buffer = pygame.Surface(self._size).convert()
        self._large = pygame.Surface((self._size[0] * 2, self._size[1] * 2)).convert()
        self._radius = max(3, round(px * 0.17))
        self._stamps: Cache[tuple[str, bool], pygame.Surface] = Cache(128, self._stamp)
        self._queue: list[tuple[pygame.Surface, tuple[int, int]]] = []
        self._corner: tuple[int, int] | None = None
        self._due = 0.0

    def begin(self, left: int, top: int, dt: float) -> None:
        """Fade for `dt` seconds, and move along with the view whose corner is (left, top)."""
        corner = (left // 2, top // 2)
        if self._corner is None:
            self._corner = corner
        self._scroll(self._corner[0] - corner[0], self._corner[1] - corner[1])
        self._corner = corner
        self._due += dt
        steps = min(_MOST_STEPS, int(self._due / _STEP))
        if steps:
            self._due = min(self._due - steps * _STEP, _STEP)
            keep = round(255 * _KEEP**steps)
            self._buffer.fill((keep, keep, keep), special_flags=pygame.BLEND_RGB_MULT)
            self._buffer.fill((steps, steps, steps), special_flags=pygame.BLEND_RGB_SUB)

    def add(self, start: tuple[float, float], end: tuple[float, float], color: str, dashing: bool) -> None:
        """Draw a piece of trail from where an avatar was to where it is."""
        assert self._corner is not None, "begin comes first"
        stamp = self._stamps.get((color, dashing))
        reach = stamp.get_width() // 2
        left, top = self._corner[0] + reach, self._corner[1] + reach
        dx, dy = end[0] - start[0], end[1] - start[1]
        count = min(_MOST_STAMPS, 1 + int(math.hypot(dx, dy) / self._radius))
        for i in range(1, count + 1):
            part = i / count
            x, y = (start[0] + dx * part) / 2 - left, (start[1] + dy * part) / 2 - top
            self._queue.append((stamp, (round(x), round(y))))

    def draw(self, target: pygame.Surface, left: int, top: int) -> None:
        """Put down the new pieces, and add the light to `target`."""
        self._buffer.fblits(self._queue, pygame.BLEND_RGB_MAX)
        self._queue.clear()
        pygame.transform.scale_by(self._buffer, 2, self._large)
        assert self._corner is not None, "begin comes first"
        offset = (2 * self._corner[0] - left, 2 * self._corner[1] - top)
        target.blit(self._large, offset, special_flags=pygame.BLEND_RGB_ADD)

    def _scroll(self, dx: int, dy: int) -> None:
        if not dx and not dy:
            return
        width, height = self._size
        if abs(dx) >= width or abs(dy) >= height:
            self._buffer.fill(0)
            return
        self._buffer.scroll(dx, dy)
        # what scrolled in is a copy of the old edge
        if dx:
            self._buffer.fill(0, (0 if dx > 0 else width + dx, 0, abs(dx), height))
        if dy:
            self._buffer.fill(0, (0, 0 if dy > 0 else height + dy, width, abs(dy)))

    def _stamp(self, key: tuple[str, bool]) -> pygame.Surface:
        color, dashing = key
        radius = round(self._radius * (1.35 if dashing else 1))
        x, y = shapes.pixel_centres(2 * radius, 2 * radius, -radius, -radius)
        fall = np.clip(1 - np.hypot(x, y) / np.float32(radius), 0, 1)
        tone = shapes.mix(shapes.rgb(color), (255, 255, 255), 0.15 if dashing else 0.0)
        return shapes.glow(fall**1.4 * np.float32(_BRIGHTNESS[dashing]), tone)
