"""The ground, painted once per size: everything flat that never moves, as one opaque surface."""

from __future__ import annotations

from typing import Final

import numpy as np
import pygame

from game.sim.arena import Arena, Block
from game.sim.constants import UNIT
from game.view import shapes
from game.view.camera import DEPTH, UNIT_PIXELS, Camera
from game.view.shapes import Image, Rgb
from game.view.theme import CYAN, MAGENTA

_TILE: Final = 2
"""units between grid lines"""
_RINGS: Final[tuple[tuple[float, Rgb], ...]] = ((5.3, MAGENTA), (3.4, (64, 160, 255)))
"""radius in units and colour of the circles in the middle"""
_MIDDLE: Final[Rgb] = (20, 29, 58)
_RIM: Final[Rgb] = (9, 14, 31)
_OUTSIDE: Final[Rgb] = (5, 7, 15)
_BORDER: Final[Rgb] = (36, 140, 255)


def paint_floor(arena: Arena, camera: Camera) -> pygame.Surface:
    """The ground of `arena`, of the size `camera.ground`, the arena's middle in its middle."""
    width, height = camera.ground
    px = camera.px
    stretch = px / UNIT_PIXELS
    column, row = shapes.pixel_centres(width, height, -width / 2, -height / 2)
    x, z = column / np.float32(px), row / np.float32(px * DEPTH)
    half_width, half_depth = arena.half_width / UNIT, arena.half_depth / UNIT
    edge = shapes.rounded_box(column, row, half_width * px, half_depth * px * DEPTH, 0.9 * px)
    middle = np.hypot(x, z)

    picture = _plates(x, z, middle, px)
    outside = edge > 0
    for channel in range(3):
        picture[channel][outside] = _OUTSIDE[channel]
    _add(picture, _outside_pattern(column, row, edge, stretch) * outside, (60, 96, 160))
    for radius, color in _RINGS:
        # the ground is foreshortened: measured where a ring is steepest, which is accurate enough for a tube
        _add_ring(picture, (middle - np.float32(radius)) * np.float32(px * 0.87), color, stretch)
    for block in arena.blocks:
        _ground_block(picture, block, px)
    _add_border(picture, edge, stretch)
    return shapes.opaque(np.moveaxis(picture, 0, -1), seed=1)


def _plates(x: Image, z: Image, middle: Image, px: float) -> Image:
    """Metal plates with seams, lit from the middle. Planar: shape (3, height, width), which numpy fills fastest."""
    light = np.clip(1 - middle / np.float32(22), 0, 1)
    light *= np.sqrt(light)
    random = np.random.default_rng(7)
    across, down = np.floor(x / _TILE).astype(int)[0], np.floor(z / _TILE).astype(int)[:, 0]
    tones = random.uniform(0.9, 1.1, (int(np.ptp(down)) + 1, int(np.ptp(across)) + 1)).astype(np.float32)
    light *= tones[down - down.min()][:, across - across.min()]
    light += (random.random(light.shape, dtype=np.float32) - np.float32(0.5)) * np.float32(0.04)
    floor: Image = np.empty((3, *light.shape), np.float32)
    for channel in range(3):
        np.multiply(light, np.float32(_MIDDLE[channel] - _RIM[channel]), out=floor[channel])
        floor[channel] += _RIM[channel]
    # seams: a dark groove and, beside it, the lit edge of the next plate
    seam_x, seam_z = _lines(x, px), _lines(z, px * DEPTH)
    shine = np.maximum(_pixel_line(seam_x, 1), _pixel_line(seam_z, 1)) * np.float32(0.42)
    shine += np.maximum(np.exp(-np.abs(seam_x) / 7), np.exp(-np.abs(seam_z) / 6)) * np.float32(0.13)
    fall = np.clip(np.float32(1.15) - middle / np.float32(26), 0.25, 1)
    _add(floor, shine * fall, (40, 80, 150))
    floor *= 1 - np.float32(0.35) * _pixel_line(seam_x, 0)
    floor *= 1 - np.float32(0.35) * _pixel_line(seam_z, 0)
    # small crosses where four plates meet
    near = np.float32(4.5 * px / UNIT_PIXELS)
    cross = (np.abs(seam_x) < near) * (np.abs(seam_z) < 1) | (np.abs(seam_x) < 1) * (np.abs(seam_z) < near)
    _add(floor, cross * fall, (34, 74, 130))
    return floor


def _lines(position: Image, pixels: float) -> Image:
    """Distance in pixels to the nearest grid line, with its sign."""
    result: Image = (position - np.round(position / _TILE) * np.float32(_TILE)) * np.float32(pixels)
    return result


def _pixel_line(distance: Image, offset: int) -> Image:
    """1 on exactly one pixel beside each line."""
    result: Image = ((distance >= offset) & (distance < offset + 1)).astype(np.float32)
    return result


def _outside_pattern(column: Image, row: Image, edge: Image, stretch: float) -> Image:
    """Slanted hatching that fades away from the border, 0 to 1."""
    step = np.float32(18 * stretch)
    slant = np.abs((column + row) % step - step / 2)
    hatch = shapes.cover(slant - np.float32(0.8 * stretch))
    result: Image = hatch * (0.13 + 0.40 * np.exp(-np.maximum(edge, 0) / np.float32(60 * stretch)))
    return result


def _add(picture: Image, part: Image, color: Rgb) -> None:
    """Add light of `color` where `part` says how much."""
    for channel in range(3):
        if color[channel]:
            picture[channel] += part * np.float32(color[channel])


def _neon(distance: Image, width: float, reach: float) -> tuple[Image, Image]:
    """(line, light) of a glowing tube at `distance` 0, in pixels."""
    away = np.abs(distance)
    line = shapes.cover(away - np.float32(width / 2))
    light = np.float32(0.50) * np.exp(-away / np.float32(reach)) + np.float32(0.17) * np.exp(
        -away / np.float32(reach * 4)
    )
    return line, light


def _add_ring(picture: Image, distance: Image, color: Rgb, stretch: float) -> None:
    line, light = _neon(distance, 2.2 * stretch, 12 * stretch)
    _add(picture, light * np.float32(0.62), color)
    pale = shapes.mix(color, (255, 255, 255), 0.35)
    _lay(picture, line * 0.95, pale)


def _add_border(picture: Image, edge: Image, stretch: float) -> None:
    line, light = _neon(edge, 3.4 * stretch, 15 * stretch)
    _add(picture, light, _BORDER)
    _lay(picture, line, shapes.mix(CYAN, (255, 255, 255), 0.45))
    outer = shapes.cover(np.abs(edge - np.float32(11 * stretch)) - np.float32(0.7 * stretch))
    _lay(picture, outer * np.float32(0.6), _BORDER)


def _lay(picture: Image, part: Image, color: Rgb) -> None:
    """Cover with `color` where `part` says how much."""
    rows, columns = np.nonzero(part)
    amount = part[rows, columns]
    for channel in range(3):
        picture[channel, rows, columns] += amount * (color[channel] - picture[channel, rows, columns])


def _ground_block(picture: Image, block: Block, px: float) -> None:
    """The shadow under a block, and the light that its foot throws on the floor."""
    height, width = picture.shape[1:]
    reach = 1.4 * px
    left, right = block.left / UNIT * px, block.right / UNIT * px
    top, bottom = block.top / UNIT * px * DEPTH, block.bottom / UNIT * px * DEPTH
    x0, x1 = max(0, int(left - reach + width / 2)), min(width, int(right + reach + width / 2))
    y0, y1 = max(0, int(top - reach + height / 2)), min(height, int(bottom + reach + height / 2))
    column, row = shapes.pixel_centres(x1 - x0, y1 - y0, x0 - width / 2, y0 - height / 2)
    column, row = column - np.float32((left + right) / 2), row - np.float32((top + bottom) / 2)
    half_width, half_height, corner = (right - left) / 2, (bottom - top) / 2, 0.2 * px
    part = picture[:, y0:y1, x0:x1]
    cast = shapes.rounded_box(column - 0.16 * px, row - 0.12 * px, half_width, half_height, corner)
    part *= 1 - 0.72 * (1 - shapes.ease(-0.1 * px, 0.62 * px, cast))
    foot = shapes.rounded_box(column, row, half_width, half_height, corner)
    _add(part, np.exp(-np.maximum(foot, 0) / np.float32(0.16 * px)) * 0.30, block_accent(block))


def block_accent(block: Block) -> Rgb:
    """The colour of a block's light: the middle column magenta, the wings blue."""
    return MAGENTA if abs(block.left + block.right) < 8 * UNIT else (58, 150, 255)
