"""Wall blocks as sprites: top and front face, drawn once per size, to be sorted among the avatars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pygame

from game.sim.arena import Arena, Block
from game.sim.constants import UNIT
from game.view import shapes
from game.view.camera import DEPTH, RISE, UNIT_PIXELS
from game.view.floor import block_accent
from game.view.shapes import Image

_CORNER: Final = 0.2
"""units"""


class Wall(NamedTuple):
    """One block, ready to be drawn."""

    sprite: pygame.Surface
    left: int
    """pixels from the arena's middle"""
    top: int
    z: float
    """units; avatars with a smaller z are behind it"""
    back: float
    """z of its far side, units"""


def build_walls(arena: Arena, px: float) -> list[Wall]:
    """All blocks of `arena`, the farthest first."""
    walls = [_build(block, px) for block in arena.blocks]
    return sorted(walls, key=lambda wall: wall.z)


def _build(block: Block, px: float) -> Wall:
    left, right = round(block.left / UNIT * px), round(block.right / UNIT * px)
    rise = round(block.height / UNIT * RISE * px)
    top, bottom = round(block.top / UNIT * DEPTH * px), round(block.bottom / UNIT * DEPTH * px)
    sprite = _paint(right - left, bottom - top, rise, px, block)
    return Wall(sprite, left, top - rise, (block.top + block.bottom) / 2 / UNIT, block.top / UNIT)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """One block on paper: pixel coordinates and sizes. The top face is `depth` high, the front `rise`."""

    width: int
    depth: int
    rise: int
    stretch: float
    """how much larger than designed"""
    column: Image
    row: Image
    accent: Image


def _paint(width: int, depth: int, rise: int, px: float, block: Block) -> pygame.Surface:
    """A block whose top face is `width` x `depth` pixels and whose front is `rise` high."""
    height = depth + rise
    stretch = px / UNIT_PIXELS
    corner = _CORNER * px
    column, row = shapes.pixel_centres(width, height)
    drawing = _Drawing(width, depth, rise, stretch, column, row, np.array(block_accent(block), np.float32))
    x = column - np.float32(width / 2)
    whole = shapes.rounded_box(x, row - np.float32(height / 2), width / 2, height / 2, corner)
    face = shapes.rounded_box(x, row - np.float32(depth / 2), width / 2, depth / 2, corner)
    on_top = shapes.cover(face)

    picture = _front(drawing)
    picture += on_top[..., None] * (_roof(drawing, face) - picture)
    rim = shapes.cover(np.abs(face + np.float32(0.8 * stretch)) - np.float32(0.75 * stretch))
    # the rim catches more light on the near side
    near = 0.45 + 0.5 * np.clip(row / np.float32(depth), 0, 1)
    picture += (rim * near)[..., None] * (np.array([142, 205, 255], np.float32) - picture)
    outline = shapes.cover(np.abs(whole + 0.5) - 0.5) * (1 - on_top)
    picture += (outline * 0.5)[..., None] * (np.array([70, 104, 170], np.float32) - picture)
    noise = np.random.default_rng(width * 31 + height).normal(0, 0.7, (height, width, 1)).astype(np.float32)
    return shapes.translucent(picture + noise, shapes.cover(whole))


def _roof(drawing: _Drawing, face: Image) -> Image:
    """Lit from the upper left, with an inlaid plate. `face` is the distance to the edge in pixels."""
    stretch = drawing.stretch
    slope = np.clip(1 - (drawing.column / drawing.width + drawing.row / drawing.depth) / 2, 0, 1)
    roof: Image = np.array([33, 45, 82], np.float32) + slope[..., None] * np.array([30, 38, 56], np.float32)
    inset = face + np.float32(7 * stretch)
    roof -= (shapes.cover(inset) * 7)[..., None]
    seam = shapes.cover(np.abs(inset) - np.float32(0.5 * stretch)) * 26
    roof += seam[..., None] * np.array([0.6, 0.85, 1.3], np.float32)
    return roof


def _front(drawing: _Drawing) -> Image:
    """Darker towards the ground, with a light tube behind a slit."""
    width, stretch = drawing.width, drawing.stretch
    x = drawing.column - np.float32(width / 2)
    down = np.clip((drawing.row - drawing.depth) / drawing.rise, 0, 1)
    along = np.abs(x) / (width / 2)
    light = (1 - 0.72 * down) * (1 - 0.35 * shapes.ease(0.75, 1.0, along))
    picture: Image = light[..., None] * np.array([29, 39, 74], np.float32) + np.array([4, 6, 12], np.float32)
    slit_y = drawing.row - np.float32(drawing.depth + drawing.rise * 0.52)
    half = max(width / 2 - 14 * stretch, width * 0.25)
    tube = np.hypot(np.maximum(np.abs(x) - np.float32(half), 0), slit_y)
    picture += (0.55 * np.exp(-tube / np.float32(4.5 * stretch)))[..., None] * drawing.accent
    line = shapes.cover(tube - np.float32(1.1 * stretch))
    pale = drawing.accent + (255 - drawing.accent) * np.float32(0.4)
    picture += line[..., None] * (pale - picture)
    return picture
