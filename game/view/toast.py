"""Short messages that fade by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pygame

from game.view.panel import plate
from game.view.text import Lettering
from game.view.theme import INK, Face, Theme

MOST: Final = 4
LIFE: Final = 2.6
"""seconds"""

_FADE: Final = 0.35
_RISE: Final = 0.12


@dataclass(slots=True)
class _Toast:
    text: str
    age: float = 0.0
    picture: pygame.Surface | None = None


class Toasts:
    """The newest messages, the last one lowest, above the window's lower edge."""

    def __init__(self) -> None:
        self._toasts: list[_Toast] = []

    @property
    def texts(self) -> list[str]:
        """What is shown now, oldest first."""
        return [toast.text for toast in self._toasts]

    def add(self, text: str) -> None:
        """Show `text` for a while. The same text again only lasts longer."""
        self._toasts = [toast for toast in self._toasts if toast.text != text]
        self._toasts.append(_Toast(text))
        del self._toasts[:-MOST]

    def repaint(self) -> None:
        """The window's size has changed."""
        for toast in self._toasts:
            toast.picture = None

    def draw(self, target: pygame.Surface, theme: Theme, lettering: Lettering, dt: float) -> None:
        """Age and show them."""
        bottom = theme.height - theme.px(24)
        for toast in self._toasts:
            toast.age += dt
        self._toasts = [toast for toast in self._toasts if toast.age < LIFE]
        for toast in reversed(self._toasts):
            if toast.picture is None:
                toast.picture = _paint(toast.text, theme, lettering)
            width, height = toast.picture.get_size()
            shown = min(1.0, toast.age / _RISE, (LIFE - toast.age) / _FADE)
            toast.picture.set_alpha(round(255 * shown))
            target.blit(toast.picture, ((theme.width - width) // 2, bottom - height))
            bottom -= round((height + theme.px(6)) * min(1.0, toast.age / _RISE))


def _paint(text: str, theme: Theme, lettering: Lettering) -> pygame.Surface:
    label = lettering.render(text, Face.LABEL, 16, INK, max_width=min(theme.px(520), theme.width - theme.px(80)))
    width, height = label.get_width() + theme.px(36), label.get_height() + theme.px(14)
    picture = plate(theme, width, height, edge=(80, 150, 220), opacity=0.92)
    picture.blit(label, ((width - label.get_width()) // 2, (height - label.get_height()) // 2))
    return picture
