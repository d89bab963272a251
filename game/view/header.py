"""The line at the top: the game's name, frames a second, how many play, and how the connection is."""

from __future__ import annotations

from typing import Final

import pygame

from game.session.base import Link, SessionStatus
from game.view import shapes
from game.view.panel import MARGIN, Panel
from game.view.shapes import Rgb
from game.view.theme import AMBER, FAINT, GREEN, INK, RED, SOFT, Face

LINK_COLORS: Final[dict[Link, Rgb]] = {
    Link.CONNECTING: AMBER,
    Link.CONNECTED: GREEN,
    Link.RECONNECTING: AMBER,
    Link.REFUSED: RED,
    Link.LOST: RED,
    Link.LEFT: FAINT,
}
_PERIOD: Final = 0.5
"""seconds over which frames are counted"""


class Header(Panel):
    """Text without a plate."""

    title = ""
    players = 0
    status = SessionStatus()
    _fps = 0
    _frames = 0
    _time = 0.0

    def show(self, title: str, players: int, status: SessionStatus) -> None:
        """Say what to show."""
        if (title, players, status) != (self.title, self.players, self.status):
            self.title, self.players, self.status = title, players, status
            self.refresh()

    def count(self, dt: float) -> None:
        """One more frame was drawn, `dt` seconds after the last."""
        self._frames += 1
        self._time += dt
        if self._time >= _PERIOD:
            fps = round(self._frames / self._time)
            self._frames, self._time = 0, 0.0
            if fps != self._fps:
                self._fps = fps
                self.refresh()

    def paint(self) -> pygame.Surface:
        """Name, facts, connection, from left to right."""
        theme, lettering = self.theme, self.lettering
        gap = theme.px(18)
        name = lettering.render("LAGTAG", Face.TITLE, 27, INK, outline=True)
        players = f"{self.players} player{'' if self.players == 1 else 's'}"
        facts = [f"{self._fps:3d} fps", players]
        parts = [lettering.render(fact, Face.NUMBER, 13, SOFT, outline=True) for fact in facts]
        color = LINK_COLORS[self.status.link]
        words = self.status.link.value
        if self.status.where and self.status.link is Link.CONNECTED:
            words += f" to {self.status.where}"
        link = lettering.render(words, Face.NUMBER, 13, color, outline=True, max_width=theme.px(300))
        kind = lettering.render(self.title, Face.LABEL, 14, SOFT, outline=True, max_width=theme.px(240))
        dot = theme.px(9)
        height = name.get_height()
        parts.append(link)
        room = theme.width - 2 * theme.px(MARGIN)
        width = min(room, name.get_width() + gap * 5 + dot + sum(p.get_width() for p in parts) + kind.get_width())
        picture = pygame.Surface((width, height), pygame.SRCALPHA)
        picture.blit(name, (0, 0))
        x = name.get_width() + gap
        base = height // 2 + theme.px(3)
        if self.title:
            picture.blit(kind, (x, base - kind.get_height() // 2))
            x += kind.get_width() + gap
        for part in parts:
            if part is link:
                picture.blit(_dot(dot, color), (x, base - dot // 2))
                x += dot + theme.px(6)
            picture.blit(part, (x, base - part.get_height() // 2))
            x += part.get_width() + gap
        return picture.convert_alpha()

    def place(self, size: tuple[int, int]) -> tuple[int, int]:
        """The window's upper left."""
        return self.theme.px(MARGIN), self.theme.px(10)


def _dot(size: int, color: Rgb) -> pygame.Surface:
    x, y = shapes.pixel_centres(size, size, -size / 2, -size / 2)
    return shapes.translucent(color, shapes.stadium(x, y, 0, 0, size / 2 - 0.5) * -1 + 0.5)
