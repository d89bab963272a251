"""What lies on the ground around an avatar: its shadow, its glow, and for the own one a ring and an arrow."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pygame

from game.view import shapes
from game.view.cache import Cache
from game.view.camera import DEPTH
from game.view.capsule import DIRECTIONS, RADIUS
from game.view.shapes import Image

SHADOW_STEPS: Final = 12
SHADOW_HEIGHT: Final = 2.0
"""units above the ground from which on a shadow grows no fainter"""

_GLOW: Final = 1.15
_ARROW_INNER: Final = 0.74
_ARROW_OUTER: Final = 1.34


class Marks:
    """Ground marks at one size, each centred on the point that it belongs to."""

    def __init__(self, px: float) -> None:
        self._px = px
        self._shadows = [self._shadow(i / (SHADOW_STEPS - 1)) for i in range(SHADOW_STEPS)]
        self._glow_shape = self._glow()
        self._ring_shape = self._ring()
        self._arrow_shapes = [self._arrow(direction) for direction in range(DIRECTIONS)]
        self._glows: Cache[str, pygame.Surface] = Cache(128, lambda c: shapes.glow(self._glow_shape, shapes.rgb(c)))
        self._rings: Cache[str, pygame.Surface] = Cache(8, self._color_ring)
        self._arrows: Cache[tuple[str, int], pygame.Surface] = Cache(2 * DIRECTIONS, self._color_arrow)

    def shadow(self, height: float) -> pygame.Surface:
        """A soft shadow of an avatar `height` units above the ground: smaller and fainter the higher it is."""
        part = max(0.0, min(1.0, height / SHADOW_HEIGHT))
        return self._shadows[round(part * (SHADOW_STEPS - 1))]

    def glow(self, color: str) -> pygame.Surface:
        """Light on the floor, for BLEND_RGB_ADD."""
        return self._glows.get(color)

    def ring(self, color: str) -> pygame.Surface:
        """The ring that says: this is you."""
        return self._rings.get(color)

    def arrow(self, color: str, direction: int) -> pygame.Surface:
        """Where you aim, for BLEND_RGB_ADD."""
        return self._arrows.get((color, direction))

    def _plane(self, reach: float) -> tuple[Image, Image]:
        """Coordinates in units on the ground around the middle of a surface that shows `reach` units each way."""
        half_width, half_height = math.ceil(reach * self._px) + 1, math.ceil(reach * DEPTH * self._px) + 1
        x, y = shapes.pixel_centres(2 * half_width, 2 * half_height, -half_width, -half_height)
        return x / np.float32(self._px), y / np.float32(self._px * DEPTH)

    def _shadow(self, part: float) -> pygame.Surface:
        radius = RADIUS * (1.45 - 0.6 * part)
        x, z = self._plane(RADIUS * 2.3)
        distance = np.hypot(x, z)
        blur = 0.28 + 0.25 * part
        soft = 1 - shapes.ease(radius - blur, radius + blur, distance)
        return shapes.translucent((2, 4, 10), soft * (0.78 - 0.45 * part))

    def _glow(self) -> Image:
        x, z = self._plane(_GLOW)
        fall = np.clip(1 - np.hypot(x, z) / np.float32(_GLOW), 0, 1)
        result: Image = fall**1.8 * 0.60
        return result

    def _ring(self) -> tuple[Image, Image]:
        """(line, halo), each 0 to 1."""
        x, z = self._plane(1.0)
        distance = np.abs(np.hypot(x, z) - np.float32(0.62))
        line = 1 - shapes.ease(0.022, 0.022 + 1.5 / self._px, distance)
        halo = np.exp(-((distance / np.float32(0.12)) ** 2)) * np.float32(0.35)
        return line, halo

    def _color_ring(self, color: str) -> pygame.Surface:
        line, halo = self._ring_shape
        tone = shapes.rgb(color)
        pale = np.array(shapes.mix(tone, (255, 255, 255), 0.75), np.float32)
        pixels = line[..., None] * pale + (1 - line[..., None]) * np.array(tone, np.float32)
        return shapes.translucent(pixels, np.maximum(line * 0.95, halo))

    def _arrow(self, direction: int) -> Image:
        yaw = direction * math.tau / DIRECTIONS
        x, z = self._plane(_ARROW_OUTER + 0.05)
        ahead = x * math.cos(yaw) + z * math.sin(yaw)
        aside = np.abs(z * math.cos(yaw) - x * math.sin(yaw))
        soft = 1.0 / self._px
        # a chevron whose tip points ahead, over a short fading beam
        slope = ahead + aside * 0.9
        tip = shapes.ease(-soft, soft, slope - 0.98) * (1 - shapes.ease(-soft, soft, slope - 1.22))
        tip *= 1 - shapes.ease(-soft, soft, aside - 0.24)
        along = np.clip((ahead - _ARROW_INNER) / (_ARROW_OUTER - _ARROW_INNER), 0, 1)
        beam = along * (1 - along) * (1 - shapes.ease(0.0, 0.3, aside))
        result: Image = np.clip(tip * 0.9 + beam * 1.6, 0, 1).astype(np.float32)
        return result

    def _color_arrow(self, key: tuple[str, int]) -> pygame.Surface:
        color, direction = key
        return shapes.glow(self._arrow_shapes[direction], shapes.mix(shapes.rgb(color), (255, 255, 255), 0.45))
