"""The help page: all controls and all keys."""

from __future__ import annotations

from typing import Final

import pygame

from game.view.panel import Panel, keycap, plate
from game.view.theme import CYAN, FAINT, HEADING, INK, NIGHT, SOFT, Face

_PLAY: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("W", "A", "S", "D"), "move (arrows too)"),
    (("Mouse",), "aim"),
    (("Space",), "jump"),
    (("Shift",), "dash"),
    (("1", "2", "3", "4"), "say something"),
)
_WINDOW: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("F1",), "this page"),
    (("F9",), "autopilot: a bot plays"),
    (("F11",), "full screen"),
    (("F12",), "save a screenshot"),
    (("Esc",), "leave"),
)
_NETCODE: Final[tuple[tuple[tuple[str, ...], str, str], ...]] = (
    (("F2",), "prediction", "off: every move waits for the server"),
    (("F3",), "reconciliation", "off: the server's old state pulls you back"),
    (("F4",), "motion of others", "raw, smoothing, interpolation, adaptive"),
    (("F5",), "server truth", "outlines where the server says they are"),
    (("F6",), "net graph", "what the connection really does"),
    (("F7",), "network", "from perfect to satellite"),
    (("F8",), "latency", "more; with Shift, less"),
)
_WIDTH: Final = 740
_HEIGHT: Final = 430
_ROW: Final = 31


class Help(Panel):
    """Covers the middle of the screen while it is open."""

    def paint(self) -> pygame.Surface:
        """Two columns: playing on the left, netcode on the right."""
        theme, lettering = self.theme, self.lettering
        picture = plate(theme, theme.px(_WIDTH), theme.px(_HEIGHT), edge=(70, 130, 200), opacity=0.95)
        inset = theme.px(28)
        picture.blit(lettering.render("HOW TO PLAY, WHAT TO TRY", Face.TITLE, 22, INK), (inset, theme.px(20)))
        close = lettering.render("F1 closes this page", Face.LABEL, 14, FAINT)
        picture.blit(close, (picture.get_width() - inset - close.get_width(), theme.px(27)))
        y = self._heading(picture, "CONTROLS", inset, theme.px(68))
        y = self._rows(picture, _PLAY, inset, y)
        y = self._heading(picture, "WINDOW", inset, y + theme.px(12))
        self._rows(picture, _WINDOW, inset, y)
        column = theme.px(322)
        y = self._heading(picture, "NETCODE", column, theme.px(68))
        for keys, what, why in _NETCODE:
            cap = keycap(theme, lettering, keys[0])
            picture.blit(cap, (column, y + theme.px(3)))
            x = column + theme.px(44)
            picture.blit(lettering.render(what, Face.LABEL, 15, INK), (x, y))
            picture.blit(lettering.render(why, Face.LABEL, 13, SOFT), (x, y + theme.px(18)))
            y += theme.px(43)
        return picture

    def _heading(self, picture: pygame.Surface, text: str, x: int, y: int) -> int:
        theme = self.theme
        head = self.lettering.render(text, Face.TITLE, 15, HEADING)
        picture.blit(head, (x, y))
        pygame.draw.line(picture, CYAN, (x, y + head.get_height()), (x + theme.px(26), y + head.get_height()))
        return y + head.get_height() + theme.px(9)

    def _rows(self, picture: pygame.Surface, rows: tuple[tuple[tuple[str, ...], str], ...], left: int, y: int) -> int:
        theme, lettering = self.theme, self.lettering
        for keys, what in rows:
            x = left
            for key in keys:
                cap = keycap(theme, lettering, key, smallest=22)
                picture.blit(cap, (x, y + theme.px(2)))
                x += cap.get_width() + theme.px(4)
            label = lettering.render(what, Face.LABEL, 15, INK)
            x = max(x + theme.px(6), left + theme.px(78))
            picture.blit(label, (x, y + theme.px(12) - label.get_height() // 2))
            y += theme.px(_ROW)
        return y

    def place(self, size: tuple[int, int]) -> tuple[int, int]:
        """The middle."""
        return (self.theme.width - size[0]) // 2, (self.theme.height - size[1]) // 2

    def draw(self, target: pygame.Surface, dt: float, own: pygame.Rect | None) -> None:
        """Darken everything else, and never give way."""
        target.fill((96, 100, 112), special_flags=pygame.BLEND_RGB_MULT)
        target.fill(NIGHT, special_flags=pygame.BLEND_RGB_ADD)
        super().draw(target, dt, None)
