"""The netcode's switches: which key, what it switches, and how it stands."""

from __future__ import annotations

from typing import Final

import pygame

from game.session.base import RemoteMotion, Techniques
from game.view.overlay import Overlay
from game.view.panel import MARGIN, Panel, keycap, plate, toggle
from game.view.theme import CYAN, FAINT, HEADING, INK, Face

WIDTH: Final = 284
_ROW: Final = 26
_HEAD: Final = 36
_MODES: Final = {
    RemoteMotion.RAW: "raw",
    RemoteMotion.SMOOTHING: "smoothing",
    RemoteMotion.INTERPOLATION: "interpolation",
    RemoteMotion.ADAPTIVE: "adaptive",
}


class Legend(Panel):
    """Follows the session's techniques and the window's overlay."""

    techniques = Techniques()
    overlay = Overlay()

    def show(self, techniques: Techniques, overlay: Overlay) -> None:
        """Say how everything stands."""
        self.techniques, self.overlay = techniques, overlay
        self.refresh()

    @property
    def rows(self) -> list[tuple[str, str, bool | str]]:
        """(key, what, how it stands): a bool is drawn as a switch."""
        techniques, overlay = self.techniques, self.overlay
        return [
            ("F2", "Prediction", techniques.prediction if overlay.authority else "no server"),
            ("F3", "Reconciliation", techniques.reconciliation if overlay.authority else "no server"),
            ("F4", "Remote motion", _MODES[techniques.remote_motion]),
            ("F5", "Server truth" if overlay.authority else "As received", overlay.truth),
            ("F6", "Net graph", overlay.graph),
            ("F7", "Network", overlay.preset),
            ("F8", "Latency", f"+{overlay.latency_ms:.0f} ms"),
        ]

    def paint(self) -> pygame.Surface:
        """A heading and one row a switch."""
        theme, lettering = self.theme, self.lettering
        rows = self.rows
        width, row, inset = theme.px(WIDTH), theme.px(_ROW), theme.px(12)
        picture = plate(theme, width, theme.px(_HEAD) + len(rows) * row + theme.px(8))
        picture.blit(lettering.render("NETCODE", Face.TITLE, 15, HEADING), (inset + theme.px(2), theme.px(9)))
        hint = lettering.render("F1 help", Face.NUMBER, 12, FAINT)
        picture.blit(hint, (width - inset - hint.get_width(), theme.px(12)))
        y = theme.px(_HEAD)
        for key, what, stands in rows:
            cap = keycap(theme, lettering, key)
            picture.blit(cap, (inset, y + (row - cap.get_height()) // 2))
            label = lettering.render(what, Face.LABEL, 15, INK)
            start = inset + cap.get_width() + theme.px(10)
            picture.blit(label, (start, y + (row - label.get_height()) // 2))
            if isinstance(stands, bool):
                right = toggle(theme, stands)
            else:
                room = width - inset - start - label.get_width() - theme.px(8)
                right = lettering.render(stands, Face.NUMBER, 12, CYAN, max_width=room)
            picture.blit(right, (width - inset - right.get_width(), y + (row - right.get_height()) // 2))
            y += row
        return picture

    def place(self, size: tuple[int, int]) -> tuple[int, int]:
        """The window's lower left."""
        margin = self.theme.px(MARGIN)
        return margin, self.theme.height - margin - size[1]
