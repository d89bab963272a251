"""The connection's state in large letters, as long as the match isn't running."""

from __future__ import annotations

from typing import Final

import pygame

from game.assets import icon
from game.session.base import Link, SessionStatus
from game.view.header import LINK_COLORS
from game.view.panel import Panel, plate
from game.view.shapes import mix
from game.view.theme import INK, NIGHT, SOFT, Face

_WIDTH: Final = 470
_TOP: Final = 84
_TRYING: Final = (Link.CONNECTING, Link.RECONNECTING)
_SWEEP: Final = 1.4
"""seconds that the moving light takes from end to end"""


def headline(status: SessionStatus) -> str:
    """What to say first."""
    match status.link:
        case Link.CONNECTING:
            return "Connecting"
        case Link.RECONNECTING:
            tries = f" (try {status.attempt} of {status.attempts})" if status.attempts else ""
            return f"Reconnecting{tries}"
        case Link.REFUSED:
            return "The server refused this player"
        case Link.LOST:
            return "Connection lost"
        case Link.LEFT:
            return "You have left the match"
        case Link.CONNECTED:
            return "Connected"


def explanation(status: SessionStatus) -> list[str]:
    """What to say then: why, where, and what can be done."""
    lines = [status.detail] if status.detail else []
    if status.link is Link.RECONNECTING and not lines:
        lines.append("The connection was lost")
    if status.link in _TRYING and status.where:
        lines.append(status.where)
    if status.link in (Link.LOST, Link.REFUSED):
        lines.append("Press R to try again, Esc to leave")
    return lines


class Banner(Panel):
    """Shown whenever the link is anything but connected."""

    status = SessionStatus()
    _time = 0.0

    def show(self, status: SessionStatus) -> None:
        """Say how the connection stands."""
        self.status = status
        self.refresh()

    @property
    def shown(self) -> bool:
        """Whether there is anything to say."""
        return self.status.link is not Link.CONNECTED

    def paint(self) -> pygame.Surface:
        """An icon, the headline, and the lines under it."""
        theme, lettering = self.theme, self.lettering
        color = LINK_COLORS[self.status.link]
        width = min(theme.px(_WIDTH), theme.width - 2 * theme.px(12))
        inset, symbol = theme.px(20), theme.px(30)
        left = inset + symbol + theme.px(16)
        room = width - left - inset
        head = lettering.render(headline(self.status), Face.TITLE, 20, INK, max_width=room)
        lines = [lettering.render(line, Face.LABEL, 15, SOFT, max_width=room) for line in explanation(self.status)]
        height = theme.px(32) + head.get_height() + sum(line.get_height() + theme.px(2) for line in lines)
        picture = plate(theme, width, height, edge=color, opacity=0.94)
        name = "refresh-cw" if self.status.link in _TRYING else "wifi"
        picture.blit(icon(name, symbol, "#{:02x}{:02x}{:02x}".format(*color)), (inset, (height - symbol) // 2))
        y = theme.px(14)
        picture.blit(head, (left, y))
        y += head.get_height() + theme.px(2)
        for line in lines:
            picture.blit(line, (left, y))
            y += line.get_height() + theme.px(2)
        return picture

    def place(self, size: tuple[int, int]) -> tuple[int, int]:
        """The middle of the upper part."""
        return (self.theme.width - size[0]) // 2, self.theme.px(_TOP)

    def draw(self, target: pygame.Surface, dt: float, own: pygame.Rect | None) -> None:
        """Never gives way; a light runs along its lower edge while something is being tried."""
        super().draw(target, dt, None)
        if self.status.link in _TRYING:
            self._time = (self._time + dt) % _SWEEP
            part = self._time / _SWEEP
            inset, length = self.theme.px(14), self.rect.width // 4
            track = pygame.Rect(self.rect.left + inset, self.rect.bottom - self.theme.px(5), 0, self.theme.px(2))
            track.width = self.rect.width - 2 * inset
            target.fill(mix(NIGHT, LINK_COLORS[self.status.link], 0.25), track)
            light = pygame.Rect(
                track.left + round(part * (track.width + length)) - length, track.top, length, track.height
            )
            target.fill(LINK_COLORS[self.status.link], light.clip(track))
