"""Soft shapes as numpy images: signed distances (negative inside) turned into antialiased surfaces.

Images are float arrays in screen order, shape (height, width) or (height, width, 3), colours 0 to 255.
Distance functions after the well-known 2D set collected by Inigo Quilez.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pygame

Image = npt.NDArray[np.floating[Any]]
Rgb = tuple[int, int, int]

_HEX: Final = frozenset("0123456789abcdefABCDEF")


def rgb(color: str) -> Rgb:
    """The three parts of #rrggbb, 0 to 255. White for anything else: colours come from other players."""
    if len(color) != 7 or color[0] != "#" or not _HEX.issuperset(color[1:]):
        return 255, 255, 255
    value = int(color[1:], 16)
    return value >> 16 & 255, value >> 8 & 255, value & 255


def mix(a: Rgb, b: Rgb, part: float) -> Rgb:
    """From `a` (part 0) to `b` (part 1)."""
    return (
        round(a[0] + (b[0] - a[0]) * part),
        round(a[1] + (b[1] - a[1]) * part),
        round(a[2] + (b[2] - a[2]) * part),
    )


def pixel_centres(width: int, height: int, left: float = 0.0, top: float = 0.0) -> tuple[Image, Image]:
    """x as a row and y as a column, in pixels from (left, top): they broadcast to (height, width)."""
    x = np.arange(width, dtype=np.float32)[None, :] + np.float32(0.5 + left)
    y = np.arange(height, dtype=np.float32)[:, None] + np.float32(0.5 + top)
    return x, y


def rounded_box(x: Image, y: Image, half_width: float, half_height: float, radius: float) -> Image:
    """Distance to a rounded rectangle around the origin."""
    dx = np.abs(x) - np.float32(half_width - radius)
    dy = np.abs(y) - np.float32(half_height - radius)
    outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0))
    result: Image = outside + np.minimum(np.maximum(dx, dy), 0) - np.float32(radius)
    return result


def stadium(x: Image, y: Image, top: float, bottom: float, radius: float) -> Image:
    """Distance to everything within `radius` of the upright line from (0, top) to (0, bottom)."""
    result: Image = np.hypot(x, y - np.clip(y, np.float32(top), np.float32(bottom))) - np.float32(radius)
    return result


def cover(distance: Image) -> Image:
    """How much of each pixel is inside, 0 to 1, from the distance in pixels at its centre."""
    covered: Image = np.clip(np.float32(0.5) - distance, 0, 1)
    return covered


def stroke(distance: Image, width: float) -> Image:
    """How much of each pixel a line of `width` pixels along the shape's edge covers."""
    return cover(np.abs(distance) - np.float32(width / 2))


def ease(low: float, high: float, value: Image) -> Image:
    """0 below `low`, 1 above `high`, smooth in between."""
    t = np.clip((value - np.float32(low)) / np.float32(high - low), 0, 1)
    result: Image = t * t * (3 - 2 * t)
    return result


def opaque(colors: Image, seed: int | None = None) -> pygame.Surface:
    """A surface for plain and additive blits. With a `seed`, noise of one step hides bands in slow gradients."""
    if seed is not None:
        colors = colors + np.random.default_rng(seed).random(colors.shape[:2], dtype=np.float32)[..., None]
    data = np.clip(colors, 0, 255).astype(np.uint8)
    height, width = data.shape[:2]
    return pygame.image.frombuffer(data.tobytes(), (width, height), "RGB").convert()


def translucent(colors: Image | Rgb, alpha: Image) -> pygame.Surface:
    """A surface with an alpha of its own; `alpha` is 0 to 1, shape (height, width)."""
    height, width = alpha.shape
    data = np.empty((height, width, 4), np.uint8)
    data[..., :3] = colors if isinstance(colors, tuple) else np.clip(colors, 0, 255)
    data[..., 3] = np.clip(alpha, 0, 1) * 255
    return pygame.image.frombuffer(data.tobytes(), (width, height), "RGBA").convert_alpha()


def glow(intensity: Image, color: Rgb) -> pygame.Surface:
    """A surface for BLEND_RGB_ADD and BLEND_RGB_MAX: `intensity` (0 to 1) times the colour, on black."""
    return opaque(intensity[..., None] * np.array(color, np.float32))
