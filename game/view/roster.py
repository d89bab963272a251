"""Who is here: colour, name, round trip, away or not."""

from __future__ import annotations

from typing import Final

import pygame

from game.view import shapes
from game.view.panel import MARGIN, Panel, plate
from game.view.shapes import Rgb
from game.view.theme import AMBER, CYAN, FAINT, GREEN, HEADING, INK, RED, SOFT, Face
from game.wire import Person

WIDTH: Final = 214
_ROW: Final = 21
_HEAD: Final = 36
_MOST_ROWS: Final = 10
_ABOVE: Final = 52
"""designed pixels that the header takes"""
_BELOW: Final = 256
"""designed pixels that the legend under it needs"""


class Roster(Panel):
    """The list of people, the own one first."""

    people: dict[str, Person] = {}  # noqa: RUF012 - replaced as a whole, never changed
    me = ""

    def show(self, people: dict[str, Person], me: str) -> None:
        """Say who is here, and which of them is this window's player (by peerId)."""
        self.people, self.me = people, me
        self.refresh()

    @property
    def rows(self) -> list[tuple[str, Person]]:
        """(peerId, person) as far as there is room, the own one first."""
        order = sorted(self.people.items(), key=lambda item: item[0] != self.me)
        return order[: self._room]

    @property
    def _room(self) -> int:
        free = self.theme.height - self.theme.px(_ABOVE + _HEAD + _BELOW)
        return max(1, min(_MOST_ROWS, free // self.theme.px(_ROW)))

    def paint(self) -> pygame.Surface:
        """A heading, the rows, and how many more there are."""
        theme = self.theme
        rows = self.rows
        more = len(self.people) - len(rows)
        lines = len(rows) + (more > 0)
        width, row = theme.px(WIDTH), theme.px(_ROW)
        picture = plate(theme, width, theme.px(_HEAD) + lines * row + theme.px(8))
        head = self.lettering.render("PLAYERS", Face.TITLE, 15, HEADING)
        count = self.lettering.render(str(len(self.people)), Face.NUMBER, 13, SOFT)
        inset = theme.px(14)
        picture.blit(head, (inset, theme.px(9)))
        picture.blit(count, (width - inset - count.get_width(), theme.px(11)))
        y = theme.px(_HEAD)
        for peer, person in rows:
            self._paint_row(picture, y, person, peer == self.me)
            y += row
        if more > 0:
            rest = self.lettering.render(f"and {more} more", Face.LABEL, 13, FAINT)
            picture.blit(rest, (inset + theme.px(17), y + (row - rest.get_height()) // 2))
        return picture

    def _paint_row(self, picture: pygame.Surface, y: int, person: Person, me: bool) -> None:
        theme, lettering = self.theme, self.lettering
        width, row, inset = theme.px(WIDTH), theme.px(_ROW), theme.px(14)
        if me:
            x_, y_ = shapes.pixel_centres(width - theme.px(12), row, -(width - theme.px(12)) / 2, -row / 2)
            box = shapes.rounded_box(x_, y_, (width - theme.px(12)) / 2, row / 2, theme.px(5))
            picture.blit(shapes.translucent(CYAN, shapes.cover(box) * 0.15), (theme.px(6), y))
        size = theme.px(11)
        x_, y_ = shapes.pixel_centres(size, size, -size / 2, -size / 2)
        color = shapes.rgb(person.color)
        if person.away:
            color = shapes.mix(color, FAINT, 0.6)
        disc = shapes.translucent(color, shapes.cover(shapes.stadium(x_, y_, 0, 0, size / 2 - 0.5)))
        picture.blit(disc, (inset, y + (row - size) // 2))
        words, tone = _round_trip(person)
        right = lettering.render(words, Face.NUMBER, 12, tone)
        end = width - inset - right.get_width()
        picture.blit(right, (end, y + (row - right.get_height()) // 2))
        start = inset + theme.px(17)
        if me:
            you = lettering.render("YOU", Face.TITLE, 11, CYAN)
            end -= you.get_width() + theme.px(8)
            picture.blit(you, (end, y + (row - you.get_height()) // 2))
        room = max(theme.px(20), end - start - theme.px(6))
        name = lettering.render(person.name, Face.NAME, 14, FAINT if person.away else INK, max_width=room)
        picture.blit(name, (start, y + (row - name.get_height()) // 2))

    def place(self, size: tuple[int, int]) -> tuple[int, int]:
        """Under the header, on the left."""
        return self.theme.px(MARGIN), self.theme.px(_ABOVE)


def _round_trip(person: Person) -> tuple[str, Rgb]:
    if person.away:
        return "away", AMBER
    rtt = person.rtt_ms
    if rtt is None or not 0 <= rtt < 1e6:
        return "--", FAINT
    return f"{rtt:.0f} ms", GREEN if rtt < 90 else AMBER if rtt < 200 else RED
