"""Panels: translucent plates that are painted when something changed and only blitted otherwise."""

from __future__ import annotations

from typing import Final

import numpy as np
import pygame

from game.view import shapes
from game.view.shapes import Rgb
from game.view.text import Lettering
from game.view.theme import EDGE, GREEN, INK, KEY, PANEL, PANEL_LIGHT, SOFT, Face, Theme

MARGIN: Final = 16
"""designed pixels between a panel and the window's edge"""

_OPACITY: Final = 0.90
_FADED: Final = 48
"""alpha of a panel that stands over the own avatar, 0 to 255"""
_FADE_RATE: Final = 1400.0
"""alpha a second"""


def plate(theme: Theme, width: int, height: int, edge: Rgb = EDGE, opacity: float = _OPACITY) -> pygame.Surface:
    """A rounded translucent rectangle with a fine edge, lighter at the top. Real pixels."""
    x, y = shapes.pixel_centres(width, height, -width / 2, -height / 2)
    distance = shapes.rounded_box(x, y, width / 2, height / 2, theme.px(11))
    down = np.clip((y + height / 2) / np.float32(theme.px(130)), 0, 1)[..., None]
    colors = np.array(PANEL_LIGHT, np.float32) * (1 - down) + np.array(PANEL, np.float32) * down
    line = shapes.cover(np.abs(distance + 0.5 * theme.px(1)) - 0.5 * theme.px(1))
    colors = colors + line[..., None] * (np.array(edge, np.float32) - colors)
    return shapes.translucent(colors, shapes.cover(distance) * np.maximum(line, np.float32(opacity)))


def keycap(theme: Theme, lettering: Lettering, text: str, smallest: int = 32) -> pygame.Surface:
    """A key with its name on it."""
    label = lettering.render(text, Face.NUMBER, 12, INK)
    width, height = max(theme.px(smallest), label.get_width() + theme.px(14)), theme.px(20)
    x, y = shapes.pixel_centres(width, height, -width / 2, -height / 2)
    distance = shapes.rounded_box(x, y, width / 2, height / 2, theme.px(5))
    colors = np.zeros((height, width, 1), np.float32) + np.array(KEY, np.float32)
    # a darker lower lip, as if the key stood up
    lip = shapes.ease(height / 2 - theme.px(4), height / 2 - theme.px(2), y)[..., None]
    colors *= 1 - 0.55 * lip
    line = shapes.stroke(distance + 0.5, 1.0)[..., None]
    colors = colors + line * (np.array(shapes.mix(EDGE, INK, 0.15), np.float32) - colors)
    cap = shapes.translucent(colors, shapes.cover(distance))
    cap.blit(label, ((width - label.get_width()) // 2, (height - label.get_height()) // 2 - theme.px(1)))
    return cap


def toggle(theme: Theme, on: bool) -> pygame.Surface:
    """A switch."""
    width, height = theme.px(32), theme.px(16)
    x, y = shapes.pixel_centres(width, height, -width / 2, -height / 2)
    track = shapes.cover(shapes.rounded_box(x, y, width / 2, height / 2, height / 2))
    knob_x = (width - height) / 2 * (1 if on else -1)
    knob = shapes.cover(np.hypot(x - np.float32(knob_x), y) - np.float32(height / 2 - 2.2))
    base = np.array(shapes.mix(GREEN, (10, 90, 70), 0.35) if on else (58, 66, 90), np.float32)
    tip = np.array((255, 255, 255) if on else SOFT, np.float32)
    return shapes.translucent(base + knob[..., None] * (tip - base), track)


class Panel:
    """A part of the screen with a picture of its own. Subclasses say how it is painted and where it stands."""

    def __init__(self, theme: Theme, lettering: Lettering) -> None:
        self.theme = theme
        self.lettering = lettering
        self.rect = pygame.Rect(0, 0, 0, 0)
        self.paints = 0
        """how often it was painted: grows only when something on it changed"""
        self._picture: pygame.Surface | None = None
        self._alpha = 255.0

    def refresh(self) -> None:
        """Paint again before the next draw: something that it shows has changed."""
        self._picture = None

    def paint(self) -> pygame.Surface:
        """The picture as it should be now."""
        raise NotImplementedError

    def place(self, size: tuple[int, int]) -> tuple[int, int]:
        """Where the top left corner of a picture of `size` goes."""
        raise NotImplementedError

    def draw(self, target: pygame.Surface, dt: float, own: pygame.Rect | None) -> None:
        """Put the panel on `target`; it gives way to the own avatar if that stands under it."""
        picture = self._picture
        if picture is None:
            picture = self._picture = self.paint()
            self.paints += 1
            self.rect = picture.get_rect(topleft=self.place(picture.get_size()))
        goal = _FADED if own is not None and self.rect.colliderect(own) else 255
        step = _FADE_RATE * dt
        self._alpha = min(goal, self._alpha + step) if goal > self._alpha else max(goal, self._alpha - step)
        picture.set_alpha(round(self._alpha))
        target.blit(picture, self.rect)
