"""Avatars as sprites: a capsule is ray-traced once per size, then coloured cheaply per colour and direction.

The shape never changes, only the marks on it turn. So the rays are cast once; each direction gets its own shading as
two layers, and a sprite is `colour * tint + shine`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import pygame

from game.sim.constants import AVATAR_HEIGHT, AVATAR_RADIUS, UNIT
from game.view import shapes
from game.view.cache import Cache
from game.view.camera import DEPTH, RISE
from game.view.shapes import Image, Rgb

DIRECTIONS: Final = 48
"""sprites in a turn"""
SAMPLES: Final = 3
"""rays per pixel and axis"""
RADIUS: Final = AVATAR_RADIUS / UNIT
HEIGHT: Final = AVATAR_HEIGHT / UNIT
TOP: Final = (HEIGHT - RADIUS) * RISE + RADIUS
"""units on screen from the feet's middle up to the top of the head"""
BOTTOM: Final = RADIUS - RADIUS * RISE
"""units on screen from the feet's middle down to the lowest pixel"""

_PAD: Final = 2
_LIGHT: Final = np.array([-0.48, 0.76, 0.44]) / math.sqrt(0.48**2 + 0.76**2 + 0.44**2)
_EYE: Final = np.array([0.0, DEPTH, RISE])
_GLASS: Final = np.array([14, 20, 38], np.float32)
_SLIT: Final = np.array([150, 225, 255], np.float32)
_SKY: Final = np.array([120, 210, 255], np.float32)
_ASLEEP: Final[Rgb] = (86, 96, 122)
_CACHE_BYTES: Final = 48 << 20


def direction_index(yaw: float) -> int:
    """The sprite that looks along `yaw` (radians), 0 to DIRECTIONS - 1."""
    return round(yaw * (DIRECTIONS / math.tau)) % DIRECTIONS


@dataclass(slots=True)
class _Rays:
    """Where each ray meets the capsule: arrays of shape (rays down, rays across)."""

    hit: Image
    normal: tuple[Image, Image, Image]
    point: tuple[Image, Image, Image]


class Capsules:
    """Sprites of avatars at one size. `anchor` is the pixel in a sprite where the feet's middle stands."""

    def __init__(self, px: float) -> None:
        self.px = px
        self.anchor = (math.ceil(RADIUS * px) + _PAD, math.ceil(TOP * px) + _PAD)
        self.size = (2 * self.anchor[0], self.anchor[1] + math.ceil(BOTTOM * px) + _PAD)
        rays = _cast(self.size, self.anchor, px)
        self._alpha = shapes.cover(self._distance())
        self._tint, self._shine = self._shade(rays)
        bytes_each = self.size[0] * self.size[1] * 4
        self._sprites: Cache[tuple[str, int, bool], pygame.Surface] = Cache(
            max(DIRECTIONS, _CACHE_BYTES // bytes_each), self._colorize
        )
        self._outlines: Cache[str, pygame.Surface] = Cache(128, self._outline)
        self._echoes: Cache[str, tuple[pygame.Surface, ...]] = Cache(64, self._echo)

    def sprite(self, color: str, direction: int, away: bool) -> pygame.Surface:
        """The avatar of `color` (#rrggbb) that looks along `direction`; pale if its player is away."""
        return self._sprites.get((color, direction, away))

    def outline(self, color: str) -> pygame.Surface:
        """The capsule's edge alone, with a trace of filling."""
        return self._outlines.get(color)

    def echoes(self, color: str) -> tuple[pygame.Surface, ...]:
        """Afterimages, the faintest first."""
        return self._echoes.get(color)

    @property
    def cached(self) -> int:
        """Sprites that are kept now."""
        return len(self._sprites)

    @property
    def limit(self) -> int:
        """Sprites that are kept at most."""
        return self._sprites.limit

    def _distance(self) -> Image:
        x, y = shapes.pixel_centres(*self.size, -self.anchor[0], -self.anchor[1])
        top, bottom = -(HEIGHT - RADIUS) * RISE * self.px, -RADIUS * RISE * self.px
        return shapes.stadium(x, y, top, bottom, RADIUS * self.px)

    def _shade(self, rays: _Rays) -> tuple[Image, Image]:
        """(tint, shine) of all directions: shapes (DIRECTIONS, height, width, 1) and (…, 3)."""
        body_tint, gloss, rim = _body(rays)
        px, py, pz = rays.point
        width, height = self.size
        tint = np.empty((DIRECTIONS, height, width, 1), np.float32)
        shine = np.empty((DIRECTIONS, height, width, 3), np.float32)
        weight = _average(rays.hit)
        weight[weight == 0] = 1
        around = np.arctan2(pz, px)
        soft = 0.5 / self.px
        # the sky that the visor mirrors: brighter towards its upper left
        mirror = shapes.ease(-0.2, 1.0, rays.normal[1] * 0.7 - rays.normal[0] * 0.6) * 0.55
        for i in range(DIRECTIONS):
            yaw = i * math.tau / DIRECTIONS
            off = np.abs((around - np.float32(yaw) + math.pi) % math.tau - math.pi)
            # the visor: a rounded rectangle on the unrolled surface, in units
            sideways, upwards = off * RADIUS, py - 1.33
            visor = 1 - shapes.ease(-soft, soft, shapes.rounded_box(sideways, upwards, 0.44, 0.15, 0.12))
            frame = 1 - shapes.ease(-soft, soft, shapes.rounded_box(sideways, upwards, 0.485, 0.195, 0.15))
            # a pale crest from the top of the head down the back, so that a turned back has a direction too
            ahead = px * math.cos(yaw) + pz * math.sin(yaw)
            aside = np.abs(pz * math.cos(yaw) - px * math.sin(yaw))
            crest = 1 - shapes.ease(-soft, soft, np.maximum(aside - 0.055, np.maximum(ahead + 0.10, 0.75 - py)))
            dark = np.maximum(frame * 0.55, visor * 0.97)
            glass = visor * rays.hit
            lit = body_tint * (1 - dark) * rays.hit
            tint[i, ..., 0] = _average(lit) / weight
            white = gloss * (1 - visor * 0.4) + rim * (1 - visor * 0.5) + crest * 0.5 * body_tint
            shine[i] = _average(white * rays.hit)[..., None] * 255
            # a lit slit in the glass: from afar it says where the avatar looks
            slit = (1 - shapes.ease(-soft, soft, shapes.rounded_box(sideways, upwards, 0.21, 0.028, 0.028))) * rays.hit
            shine[i] += _average(slit)[..., None] * _SLIT
            shine[i] += _average(glass)[..., None] * _GLASS + _average(glass * mirror)[..., None] * _SKY
            shine[i] /= weight[..., None]
        return tint, shine

    def _colorize(self, key: tuple[str, int, bool]) -> pygame.Surface:
        color, direction, away = key
        body = shapes.rgb(color)
        alpha = self._alpha
        if away:
            body = shapes.mix(body, _ASLEEP, 0.72)
            alpha = alpha * np.float32(0.62)
        pixels = self._tint[direction] * np.array(body, np.float32)
        pixels += self._shine[direction] * np.float32(0.4 if away else 1)
        return shapes.translucent(pixels, alpha)

    def _outline(self, color: str) -> pygame.Surface:
        line = shapes.stroke(self._distance() + 0.6, max(1.4, self.px * 0.042))
        return shapes.translucent(shapes.rgb(color), np.maximum(line * 0.95, self._alpha * np.float32(0.10)))

    def _echo(self, color: str) -> tuple[pygame.Surface, ...]:
        inside = np.clip(-self._distance() / (RADIUS * self.px), 0, 1)
        shape = self._alpha * (1 - 0.6 * inside)
        tone = shapes.mix(shapes.rgb(color), (255, 255, 255), 0.2)
        return tuple(shapes.translucent(tone, shape * np.float32(part)) for part in (0.15, 0.30, 0.45, 0.60))


def _cast(size: tuple[int, int], anchor: tuple[int, int], px: float) -> _Rays:
    """Intersect parallel rays with the upright capsule whose feet's middle is the origin. Lengths in units."""
    width, height = size[0] * SAMPLES, size[1] * SAMPLES
    column, row = shapes.pixel_centres(width, height)
    u = (column / SAMPLES - anchor[0]) / np.float32(px) + np.zeros_like(row)
    v = (anchor[1] - row / SAMPLES) / np.float32(px) + np.zeros_like(column)
    # along the side: the point nearest to the eye with x² + z² = r²
    z = np.sqrt(np.maximum(RADIUS**2 - u**2, 0))
    y = (v + z * DEPTH) / RISE
    centre = np.clip(y, RADIUS, HEIGHT - RADIUS).astype(np.float32)
    side = centre == y
    # on a cap: a sphere around (0, centre, 0)
    dv = v - centre * RISE
    towards = np.sqrt(np.maximum(RADIUS**2 - u**2 - dv**2, 0))
    hit = (np.abs(u) < RADIUS) & (side | (u**2 + dv**2 < RADIUS**2))
    nx = u / RADIUS
    ny = np.where(side, 0, (dv * RISE + towards * DEPTH) / RADIUS)
    nz = np.where(side, z, -dv * DEPTH + towards * RISE) / RADIUS
    point = (u, np.where(side, y, centre + ny * RADIUS), nz * RADIUS)
    return _Rays(
        hit.astype(np.float32),
        (nx.astype(np.float32), ny.astype(np.float32), nz.astype(np.float32)),
        (point[0].astype(np.float32), point[1].astype(np.float32), point[2].astype(np.float32)),
    )


def _body(rays: _Rays) -> tuple[Image, Image, Image]:
    """(tint, gloss, rim) of the bare capsule: Lambert under a sky, Blinn's highlight, a rim, shade near the ground."""
    nx, ny, nz = rays.normal
    y = rays.point[1]
    lambert = np.maximum(nx * _LIGHT[0] + ny * _LIGHT[1] + nz * _LIGHT[2], 0)
    half = (_LIGHT + _EYE) / np.linalg.norm(_LIGHT + _EYE)
    facing = np.clip(ny * _EYE[1] + nz * _EYE[2], 0, 1)
    shade = 0.50 + 0.50 * shapes.ease(0.0, 0.75, y)
    tint = (0.30 + 0.16 * np.maximum(ny, 0) + 0.72 * lambert) * shade
    # a dark seam round the hips gives the pill a body
    tint *= 1 - 0.42 * (1 - shapes.ease(0.028, 0.05, np.abs(y - 0.52)))
    towards = np.maximum(nx * half[0] + ny * half[1] + nz * half[2], 0)
    gloss = 0.85 * towards**46 + 0.13 * towards**8
    edge = (1 - facing) ** 3
    tint += edge * 0.35
    rim = edge * 0.16 * shapes.ease(0.1, 1.2, y)
    return tint.astype(np.float32), gloss.astype(np.float32), rim.astype(np.float32)


def _average(image: Image) -> Image:
    """The mean of each SAMPLES x SAMPLES block."""
    height, width = image.shape
    result: Image = image.reshape(height // SAMPLES, SAMPLES, width // SAMPLES, SAMPLES).mean(axis=(1, 3))
    return result
