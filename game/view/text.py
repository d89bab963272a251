"""Text in any script: split by which font has the glyphs, rendered run by run, cached.

pygame.font substitutes boxes silently and knows no fallback; pygame.freetype tells exactly which characters a font
has. So coverage is asked of the one and drawing done by the other.
"""

from __future__ import annotations

import unicodedata
from typing import Final, NamedTuple

import pygame
import pygame.freetype

from game.assets import font_path
from game.view.cache import Cache
from game.view.shapes import Rgb
from game.view.theme import NIGHT, Face

LONGEST: Final = 160
"""characters that are ever looked at"""
MARKS: Final = 2
"""combining marks kept on one character: more of them would climb over other text"""
BOX: Final = "\ufffd"
"""stands for a character that no font has"""

_FALLBACK_SIZE: Final = 0.94
"""CJK glyphs fill their square, so they look larger than Latin of the same size"""


class Run(NamedTuple):
    """A piece of text that one font can draw; no font: a row of boxes."""

    face: Face | None
    text: str


class Line(NamedTuple):
    """All that decides how a text looks."""

    text: str
    face: Face
    size: float
    """designed pixels"""
    color: Rgb
    outline: bool
    max_width: int
    """real pixels, 0 for no limit"""


def readable(text: str) -> str:
    """`text` without what cannot be drawn: controls, surrogates, format characters, heaps of marks; bounded."""
    kept: list[str] = []
    marks = 0
    for character in text[: 4 * LONGEST]:
        category = unicodedata.category(character)
        if category[0] == "Z" or character in "\t\n\r":
            kept.append(" ")
            marks = 0
            continue
        if category[0] == "C":
            continue
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks <= MARKS and (kept or not marks):
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept[:LONGEST]))


class Lettering:
    """Renders lines at one scale. Text is cached, so ask for it every frame."""

    def __init__(self, ui: float) -> None:
        pygame.font.init()
        pygame.freetype.init()
        self._ui = ui
        self._fonts: dict[tuple[Face, int], pygame.font.Font] = {}
        self._coverage = {face: pygame.freetype.Font(font_path(face), 16) for face in Face}
        self._covered: Cache[tuple[Face, str], int] = Cache(4096, self._look_up)
        self._lines: Cache[Line, pygame.Surface] = Cache(768, self._draw)

    def render(
        self, text: str, face: Face, size: float, color: Rgb, *, outline: bool = False, max_width: int = 0
    ) -> pygame.Surface:
        """One line of text; the returned surface is shared, so only blit it. Never raises for any text."""
        # cut before it becomes a key: a huge text is not kept
        return self._lines.get(Line(text[: 4 * LONGEST], face, size, color, outline, max_width))

    def height(self, face: Face, size: float) -> int:
        """Pixels from the top to the bottom of a line without outline."""
        return self._font(face, size).get_height()

    def covers(self, face: Face, character: str) -> bool:
        """Whether the font has a glyph of its own for `character`."""
        return self._covered.get((face, character)) == 1

    def runs(self, text: str, face: Face) -> list[Run]:
        """`text`, already `readable`, split by the font that can draw each part; marks stay with their letter."""
        pieces: list[tuple[Face | None, list[str]]] = []
        for character in text:
            last = pieces[-1] if pieces else None
            mark = unicodedata.category(character)[0] == "M"
            if last is not None and (mark or character == " "):
                if last[0] is not None and self.covers(last[0], character):
                    last[1].append(character)
                    continue
                if mark:
                    continue
            chosen = next((each for each in (face, Face.FALLBACK) if self.covers(each, character)), None)
            if last is None or last[0] != chosen:
                last = (chosen, [])
                pieces.append(last)
            last[1].append(character if chosen else BOX)
        return [Run(chosen, "".join(characters)) for chosen, characters in pieces]

    def _look_up(self, key: tuple[Face, str]) -> int:
        """1 if covered, 2 if not (the cache takes no value for "absent")."""
        face, character = key
        return 2 if self._coverage[face].get_metrics(character)[0] is None else 1

    def _font(self, face: Face, size: float) -> pygame.font.Font:
        real = max(6, round(size * self._ui * (_FALLBACK_SIZE if face is Face.FALLBACK else 1)))
        font = self._fonts.get((face, real))
        if font is None:
            font = self._fonts[face, real] = pygame.font.Font(font_path(face), real)
        return font

    def _width(self, text: str, face: Face, size: float) -> int:
        return sum(
            self._box(size)[0] * len(run.text) if run.face is None else self._font(run.face, size).size(run.text)[0]
            for run in self.runs(text, face)
        )

    def _box(self, size: float) -> tuple[int, int]:
        height = round(size * self._ui * 0.66)
        return round(height * 0.85) + 2, height

    def _fit(self, text: str, face: Face, size: float, max_width: int) -> str:
        """The longest beginning that fits, with an ellipsis if something had to go."""
        if not max_width or self._width(text, face, size) <= max_width:
            return text
        fits, too_long = 0, len(text)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if self._width(text[:middle].rstrip() + "…", face, size) <= max_width:
                fits = middle
            else:
                too_long = middle
        return text[:fits].rstrip() + "…"

    def _draw(self, line: Line) -> pygame.Surface:
        text = self._fit(readable(line.text), line.face, line.size, line.max_width)
        runs = self.runs(text, line.face)
        plain = self._draw_runs(runs, line, line.color)
        if not line.outline:
            return plain
        reach = max(1, round(1.5 * self._ui))
        dark = self._draw_runs(runs, line, NIGHT)
        canvas = pygame.Surface((plain.get_width() + 2 * reach, plain.get_height() + 2 * reach), pygame.SRCALPHA)
        for dx in range(2 * reach + 1):
            for dy in range(2 * reach + 1):
                if (dx - reach) ** 2 + (dy - reach) ** 2 <= reach * reach + 1:
                    canvas.blit(dark, (dx, dy))
        canvas.blit(plain, (reach, reach))
        return canvas.convert_alpha()

    def _draw_runs(self, runs: list[Run], line: Line, color: Rgb) -> pygame.Surface:
        """The runs side by side on one baseline, on a transparent surface as wide as they are."""
        main = self._font(line.face, line.size)
        fonts = [main if run.face is None else self._font(run.face, line.size) for run in runs]
        ascent = max([main.get_ascent(), *(font.get_ascent() for font in fonts)])
        below = max([main.get_height() - main.get_ascent(), *(f.get_height() - f.get_ascent() for f in fonts)])
        pieces = [
            self._boxes(len(run.text), line.size, color) if run.face is None else font.render(run.text, True, color)
            for run, font in zip(runs, fonts, strict=True)
        ]
        width = sum(piece.get_width() for piece in pieces)
        canvas = pygame.Surface((max(1, width), ascent + below), pygame.SRCALPHA)
        x = 0
        for run, font, piece in zip(runs, fonts, pieces, strict=True):
            top = ascent - (piece.get_height() if run.face is None else font.get_ascent())
            canvas.blit(piece, (x, top))
            x += piece.get_width()
        return canvas.convert_alpha()

    def _boxes(self, count: int, size: float, color: Rgb) -> pygame.Surface:
        width, height = self._box(size)
        surface = pygame.Surface((width * count, height), pygame.SRCALPHA)
        for i in range(count):
            pygame.draw.rect(surface, (*color, 170), (i * width + 1, 0, width - 2, height), 1, border_radius=2)
        return surface
